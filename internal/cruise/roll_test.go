package cruise

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
)

// brief is an engine whose lives have few steps.
type brief struct {
	*memory
	done, most int
}

func (s *brief) Full() bool { return s.done >= s.most }

func (s *brief) Start(step string, in any, run StepFunc) Pending {
	s.done++
	return s.memory.Start(step, in, run)
}

// Guards against a phase that does something twice, or not at all, because it goes on in a new life.
func TestAPhaseIsTheSameInManyShortLives(t *testing.T) {
	news := []Comment{comment("1", "ann", "OWNER", "rename the flag", time.Hour),
		comment("9", "ann", "OWNER", "[REVIEW COMPLETE]", 5*time.Hour)}
	whole := &world{agents: picky, news: slices.Clone(news)}
	want, _ := play(t, whole, thatMerges())
	for _, most := range []int{2, 3, 5, 8, 50} {
		w := &world{agents: picky, news: slices.Clone(news)}
		m := &memory{t: t, w: w, now: begin}
		st := NewState(thatMerges())
		lives := 0
		for ; st.Stage != StageEnded; lives++ {
			data := must.Get(json.Marshal(st))(t)
			st = State{}
			must.Do(t, json.Unmarshal(data, &st))
			st = must.Get(Phase(&brief{memory: m, most: most}, st))(t)
			if shown, _ := json.Marshal(w.saved); st.Stage != StageEnded {
				if now, _ := json.Marshal(st); string(now) != string(shown) {
					t.Fatalf("%d steps: what is shown is not what goes on", most)
				}
			}
		}
		if st.End != want.End || st.Round != want.Round || len(w.posted) != len(whole.posted) ||
			len(w.replies) != len(whole.replies) ||
			len(w.jobs) != len(whole.jobs) || len(w.said) != len(whole.said) || len(w.pushes) != len(whole.pushes) {
			t.Errorf("%d steps, %d lives: end %q after %d rounds; %d jobs, %d posts, %d said", most, lives, st.End, st.Round,
				len(w.jobs), len(w.posted), len(w.said))
		}
		if most < 50 && lives < 3 {
			t.Errorf("%d steps: only %d lives", most, lives)
		}
	}
}
