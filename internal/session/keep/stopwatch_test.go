package keep

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// pass lets time pass, and what is due happen.
func pass(d time.Duration) {
	time.Sleep(d) // of the bubble: nothing really waits
	synctest.Wait()
}

func TestAStopwatchRingsWhenItsTimeHasPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rang atomic.Int32
		w := &stopwatch{limit: 30 * time.Minute, expired: func() { rang.Add(1) }}
		w.run()
		w.run() // twice is once
		pass(29 * time.Minute)
		if rang.Load() != 0 {
			t.Fatal("too early")
		}
		pass(time.Minute)
		pass(time.Hour)
		if rang.Load() != 1 {
			t.Fatalf("rang %d times", rang.Load())
		}
		w.run()
		pass(time.Hour)
		if rang.Load() != 1 {
			t.Error("it rang again")
		}
	})
}

// Guards against an agent that is ended for the time in which it waited for a person.
func TestAHeldStopwatchStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rang atomic.Int32
		w := &stopwatch{limit: 30 * time.Minute, expired: func() { rang.Add(1) }}
		w.hold() // before it ran
		w.run()
		pass(20 * time.Minute)
		w.hold()
		w.hold()
		pass(10 * time.Hour)
		if rang.Load() != 0 {
			t.Fatalf("rang %d times while it was held", rang.Load())
		}
		w.run()
		pass(9 * time.Minute)
		if rang.Load() != 0 {
			t.Fatal("it counted what passed while it was held")
		}
		pass(time.Minute)
		if rang.Load() != 1 {
			t.Error("it never rang")
		}
	})
}

// Guards against an idle timeout that ends a busy agent.
func TestEachEventStartsAnIdleStopwatchAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rang atomic.Int32
		w := &stopwatch{limit: 30 * time.Minute, expired: func() { rang.Add(1) }}
		w.run()
		for range 1000 {
			pass(time.Minute)
			w.again()
		}
		if rang.Load() != 0 {
			t.Fatal("it rang although something happened each minute")
		}
		pass(29 * time.Minute)
		if rang.Load() != 0 {
			t.Fatal("too early after the last event")
		}
		pass(2 * time.Minute)
		if rang.Load() != 1 {
			t.Error("it never rang")
		}
	})
}

func TestAStopwatchWithoutALimitNeverRings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &stopwatch{expired: func() { t.Error("it rang") }}
		w.run()
		w.again()
		w.hold()
		pass(1000 * time.Hour)
	})
}
