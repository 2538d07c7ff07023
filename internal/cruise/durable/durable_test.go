package durable

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/must"
)

// calm is a world in which a phase does nothing but wait for a person.
type calm struct {
	cruise.Steps
	named   atomic.Int32
	refuses atomic.Bool
	looks   [3]atomic.Int32 // at each request
	saved   chan cruise.State
}

// Look finds the second request merged when it looks again.
func (c *calm) Look(_ context.Context, in cruise.LookIn) (cruise.News, error) {
	if c.looks[in.PR].Add(1) > 1 && in.PR == 2 {
		return cruise.News{State: cruise.PullMerged}, nil
	}
	return cruise.News{State: cruise.PullOpen}, nil
}

func (c *calm) Say(context.Context, cruise.SayIn) error { return nil }

func (c *calm) Metadata(context.Context, cruise.MetadataIn) (cruise.Metadata, error) {
	c.named.Add(1)
	if c.refuses.Load() {
		return cruise.Metadata{}, errors.New("not now")
	}
	return cruise.Metadata{Title: "x", Branch: "x"}, nil
}

func (c *calm) Workspace(context.Context, cruise.WorkspaceIn) (cruise.Workspace, error) {
	return cruise.Workspace{}, errors.New("no box") // which is asked about
}

func (c *calm) Close(context.Context, cruise.CloseIn) error { return nil }

func (c *calm) Save(_ context.Context, in cruise.SaveIn) (cruise.Saved, error) {
	select {
	case c.saved <- in.State:
	default:
	}
	return cruise.Saved{}, nil
}

// place is where an engine keeps its record.
type place struct {
	open func(c *calm) (*Engine, error)
	exec func(stmt string) error // with the record's own statements, while no engine is open
}

func (p place) start(t *testing.T, c *calm) *Engine {
	t.Helper()
	return must.Get(p.open(c))(t)
}

func TestOnSQLite(t *testing.T) {
	carries(t, func(t *testing.T) place {
		path := filepath.Join(t.TempDir(), "cruise.db")
		return place{
			open: func(c *calm) (*Engine, error) { return Open(t.Context(), path, c, 0, slog.New(slog.DiscardHandler)) },
			exec: func(stmt string) error {
				db, err := sql.Open("sqlite", path)
				if err == nil {
					_, err = db.ExecContext(t.Context(), stmt)
					err = errors.Join(err, db.Close())
				}
				return err
			},
		}
	})
}

// carries is what phases rely on, of an engine on each database.
func carries(t *testing.T, at func(*testing.T) place) {
	for name, test := range map[string]func(*testing.T, place){
		"a phase goes on after the engine was closed": goesOn,
		"a phase of another version is given up":      givesUp,
		"a long life goes on in a new one":            rollsOver,
		"a state that makes no sense ends its life":   survives,
		"looks that find nothing are not recorded":    looksMeanwhile,
	} {
		t.Run(name, func(t *testing.T) { test(t, at(t)) })
	}
}

func (c *calm) await(t *testing.T, what string, ok func(cruise.State) bool) {
	t.Helper()
	timeout := time.After(time.Minute)
	for {
		select {
		case st := <-c.saved:
			if ok(st) {
				return
			}
		case <-timeout:
			t.Fatalf("the phase is never %s", what)
		}
	}
}

// Guards against an engine that takes its own end for the end of its phases.
func goesOn(t *testing.T, at place) {
	c := &calm{saved: make(chan cruise.State, 1000)}
	e := at.start(t, c)
	st := cruise.NewState(cruise.Spec{Task: "x", Kind: cruise.Planning, Timeout: time.Hour})
	must.Do(t, errors.Join(e.Start("aaaaaaaa", st), e.Start("aaaaaaaa", st)))
	c.await(t, "asking", func(s cruise.State) bool { return s.Question != "" })
	must.Do(t, e.Close())
	e = at.start(t, c)
	defer func() { _ = e.Close() }()
	if dead, err := e.Dead(); err != nil || len(dead) > 0 {
		t.Errorf("dead: %v, %v", dead, err)
	}
	ev := cruise.Event{ID: "e1", Kind: cruise.EventCleanup}
	must.Do(t, errors.Join(e.Send("aaaaaaaa", ev), e.Send("aaaaaaaa", ev)))
	end, err := e.Wait("aaaaaaaa")
	if err != nil || end.End != cruise.EndCleanup || c.named.Load() != 1 || !slices.Equal(end.Seen, []string{"e1"}) {
		data, _ := json.Marshal(end)
		t.Errorf("named %d times, %v: %s", c.named.Load(), err, data)
	}
}

// Guards against a wait whose looks end with the engine, fill the record, or find something and tell nobody.
func looksMeanwhile(t *testing.T, at place) {
	c := &calm{saved: make(chan cruise.State, 1000)}
	e := at.start(t, c)
	st := cruise.NewState(cruise.Spec{Task: "x", Kind: cruise.Planning, Timeout: time.Hour})
	st.Stage, st.Started, st.LastActivity = cruise.StageWatch, time.Now(), time.Now()
	for n, phase := range []string{"", "aaaaaaaa", "bbbbbbbb"} {
		if st.PR = (&cruise.PullRequest{Number: n}); n > 0 {
			must.Do(t, e.Start(phase, st))
			c.await(t, "waiting", func(s cruise.State) bool { return s.PR.Number == n && !s.NextLook.IsZero() })
		}
	}
	must.Do(t, e.Close())
	e = at.start(t, c)
	defer func() { _ = e.Close() }()
	if end, err := e.Wait("bbbbbbbb"); err != nil || end.End != cruise.EndMerged {
		t.Errorf("end %q, %v", end.End, err)
	}
	for c.looks[1].Load() < 2 && t.Context().Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	steps := must.Get(dbos.GetWorkflowSteps(e.dbos, "aaaaaaaa"))(t)
	looks := slices.DeleteFunc(steps, func(s dbos.StepInfo) bool { return s.StepName != cruise.StepLook })
	if len(looks) != 1 {
		t.Errorf("%d looks are recorded", len(looks))
	}
	must.Do(t, e.Send("aaaaaaaa", cruise.Event{ID: "e1", Kind: cruise.EventCleanup}))
	if end, err := e.Wait("aaaaaaaa"); err != nil || end.End != cruise.EndCleanup {
		t.Errorf("end %q, %v", end.End, err)
	}
}

// Guards against phases that an older cco recorded, whose steps come in another order: replayed they would fail, or
// wait for ever.
func givesUp(t *testing.T, at place) {
	c := &calm{saved: make(chan cruise.State, 1000)}
	e := at.start(t, c)
	must.Do(t, e.Start("aaaaaaaa", cruise.NewState(cruise.Spec{Task: "x", Kind: cruise.Planning,
		Timeout: time.Hour})))
	c.await(t, "asking", func(s cruise.State) bool { return s.Question != "" })
	must.Do(t, e.Close())
	must.Do(t, at.exec("UPDATE workflow_status SET application_version = '1'"))
	e = at.start(t, c)
	defer func() { _ = e.Close() }()
	for range 2 { // the process that takes it up may be killed too
		if dead, err := e.Dead(); err != nil || !slices.Equal(dead, []string{"aaaaaaaa"}) {
			t.Errorf("dead: %v, %v", dead, err)
		}
	}
}

// Guards against a record that grows with every look, and is gone through as a whole after every crash.
func rollsOver(t *testing.T, at place) {
	c := &calm{saved: make(chan cruise.State, 1000)}
	e := at.start(t, c)
	defer func() { _ = e.Close() }()
	e.most = 25
	must.Do(t, e.Start("aaaaaaaa", cruise.NewState(cruise.Spec{Task: "x", Kind: cruise.Planning,
		Timeout: time.Hour})))
	c.await(t, "asking", func(s cruise.State) bool { return s.Question != "" })
	for n := range 30 {
		must.Do(t, e.Send("aaaaaaaa", cruise.Event{ID: fmt.Sprintf("e%d", n), Kind: cruise.EventWake}))
	}
	st, err := e.Wait("aaaaaaaa")
	if err != nil || st.Stage == cruise.StageEnded || st.Question == "" {
		t.Fatalf("%+v, %v", st, err)
	}
	if over, err := e.Dead(); err != nil || !slices.Equal(over, []string{"aaaaaaaa"}) {
		t.Errorf("over: %v, %v", over, err)
	}
	e.most = most
	st.Flow++
	must.Do(t, errors.Join(e.Start("aaaaaaaa.1", st), e.Forget([]string{"aaaaaaaa"}),
		e.Send("aaaaaaaa.1", cruise.Event{ID: "end", Kind: cruise.EventCleanup})))
	if end, err := e.Wait("aaaaaaaa.1"); err != nil || end.End != cruise.EndCleanup || c.named.Load() != 1 {
		t.Errorf("named %d times, end %q, %v", c.named.Load(), end.End, err)
	}
	if over, err := e.Dead(); err != nil || !slices.Equal(over, []string{"aaaaaaaa.1"}) {
		t.Errorf("left: %v, %v", over, err)
	}
}

// Guards against a record that somebody wrote by hand, and that ends the process of every machine that takes it.
func survives(t *testing.T, at place) {
	c := &calm{saved: make(chan cruise.State, 1000)}
	e := at.start(t, c)
	defer func() { _ = e.Close() }()
	st := cruise.NewState(cruise.Spec{Task: "x", Kind: cruise.Planning, Timeout: time.Hour})
	st.Stage = cruise.StageWatch // without a pull request
	must.Do(t, e.Start("aaaaaaaa", st))
	if _, err := e.Wait("aaaaaaaa"); err == nil || !strings.Contains(err.Error(), "cco went wrong") {
		t.Errorf("%v", err)
	}
	if dead, err := e.Dead(); err != nil || !slices.Equal(dead, []string{"aaaaaaaa"}) {
		t.Errorf("dead: %v, %v", dead, err)
	}
}

func TestADamagedRecordSaysWhatToDo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cruise.db")
	must.Do(t, os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600))
	if _, err := Open(t.Context(), path, &calm{}, 0, slog.New(slog.DiscardHandler)); err == nil ||
		!strings.Contains(err.Error(), "move "+path) {
		t.Errorf("%v", err)
	}
}
