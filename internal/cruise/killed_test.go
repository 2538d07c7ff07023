package cruise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/cruise/reading"
	"github.com/cco-dev/cco/internal/must"
)

// lasting is a world that knows what was done, as sessions and forges do: what is asked for again is found.
type lasting struct {
	*world
	t      *testing.T
	turns  map[string]Report
	paid   float64
	writer string   // the turn that the workspace belongs to
	all    []Commit // in the workspace
	done   map[string]any
	failed map[string]bool
	// trouble has a step fail that was not tried before.
	trouble func(step, in string) bool
	row     []byte // the only record of the phase
}

func newLasting(t *testing.T, w *world) *lasting {
	return &lasting{world: w, t: t, turns: map[string]Report{}, done: map[string]any{}, failed: map[string]bool{}}
}

// onceOnly does something that the world knows by its name.
func onceOnly[O any](l *lasting, name string, do func() (O, error)) (O, error) {
	if had, ok := l.done[name]; ok {
		return had.(O), nil
	}
	out, err := do()
	if err == nil {
		l.done[name] = out
	}
	return out, err
}

func named[I, O any](l *lasting, key string, in I, do func(context.Context, I) (O, error)) (O, error) {
	return onceOnly(l, key, func() (O, error) { return do(context.Background(), in) })
}

func (l *lasting) Work(ctx context.Context, j Job) (Report, error) {
	if r, ok := l.turns[j.Key]; ok {
		if j.Role != Reviewer && j.Key != l.writer {
			l.t.Errorf("%s is asked for, and %s has the workspace", j.Key, l.writer)
		}
		return r, nil
	}
	r, err := l.world.Work(ctx, j)
	l.all = append(l.all, l.work...)
	if l.work = nil; j.Role != Reviewer {
		l.writer = j.Key
	}
	l.turns[j.Key] = r
	l.paid += r.Cost
	return r, err
}

func (l *lasting) Publish(ctx context.Context, in PublishIn) (Published, error) {
	since := slices.IndexFunc(l.all, func(c Commit) bool { return c.ID == in.Since })
	l.work = slices.Clone(l.all[since+1:])
	return l.world.Publish(ctx, in)
}

func (l *lasting) Metadata(_ context.Context, in MetadataIn) (reading.Metadata, error) {
	return named(l, "metadata", in, l.world.Metadata)
}

func (l *lasting) Push(_ context.Context, in PushIn) (time.Time, error) {
	return named(l, "push "+in.New, in, l.world.Push)
}

func (l *lasting) PullRequest(_ context.Context, in PullRequestIn) (PullRequest, error) {
	return named(l, "pull request", in, l.world.PullRequest)
}

func (l *lasting) PostReview(_ context.Context, in PostReviewIn) ([]Finding, error) {
	return named(l, in.Key, in, l.world.PostReview)
}

func (l *lasting) Ready(_ context.Context, in Where) error {
	_, err := named(l, "ready", in, nothing(l.world.Ready))
	return err
}

func (l *lasting) Take(_ context.Context, in TakeIn) (Took, error) {
	key := fmt.Sprint("take ", in.Ours, in.Theirs, in.Side)
	return named(l, key, in, func(ctx context.Context, in TakeIn) (Took, error) {
		got, err := l.world.Take(ctx, in)
		l.all = append(l.all, Commit{ID: got.Head})
		return got, err
	})
}

func (l *lasting) Merge(ctx context.Context, in MergeIn) (Merged, error) {
	if l.mergedBy != nil && !in.Only {
		return Merged{Done: true}, nil
	}
	return l.world.Merge(ctx, in)
}

func (l *lasting) Answer(ctx context.Context, in AnswerIn) error {
	for _, a := range in.Answers {
		one := in
		one.Answers = []Reply{a}
		if _, err := named(l, fmt.Sprint("answer ", in.Kind, in.Round, a.Finding), one, nothing(l.world.Answer)); err != nil {
			return err
		}
	}
	return nil
}

func (l *lasting) Save(ctx context.Context, in SaveIn) (saved Saved, err error) {
	if saved, err = l.world.Save(ctx, in); err == nil && !saved.Unread {
		l.row = must.Get(json.Marshal(in.State))(l.t)
	}
	return saved, err
}

var errKilled = errors.New("killed")

// doomed is an engine that is killed at one boundary of a step or a wait.
type doomed struct {
	*memory
	l        *lasting
	kill     func(where string) bool
	dead     bool
	straight int // saves that failed in a row
}

func (r *doomed) at(where string) bool {
	r.dead = r.dead || r.kill(where)
	return r.dead
}

func (r *doomed) Now() (time.Time, error) {
	if r.dead {
		return time.Time{}, errKilled
	}
	return r.now, nil
}

func (r *doomed) Recv(d time.Duration) (*Event, error) {
	if r.at("wait") {
		return nil, errKilled
	}
	return r.memory.Recv(d)
}

func (r *doomed) Sleep(d time.Duration) error {
	if r.at("sleep") {
		return errKilled
	}
	r.now = r.now.Add(d)
	return nil
}

func (r *doomed) Start(step string, in any, run StepFunc) Pending {
	data := must.Get(json.Marshal(in))(r.t)
	if r.at("before " + step + " " + string(data)) {
		return over(errKilled)
	}
	r.count()
	r.l.now = r.now
	name := step + string(data)
	if j, ok := in.(Job); ok {
		name = fmt.Sprint(step, j.Role, j.Domain, j.Kind, j.Round)
	}
	if t := r.l.trouble; t != nil && !r.l.failed[name] && t(step, string(data)) {
		r.l.failed[name] = true
		if step == StepSave.Name {
			r.straight++
		}
		return over(&StepError{Msg: "no space left on device", Temporary: true})
	}
	if r.straight > 0 && step != StepSave.Name {
		r.t.Errorf("%s while the state can't be saved", step)
	}
	err := Dispatch(context.Background(), r.l, step, in, run)
	if step == StepSave.Name {
		r.straight = 0
	}
	if r.at("after " + step + " " + string(data)) {
		return over(errKilled)
	}
	return over(err)
}

// carry lives until the phase has ended, from what was saved, and says in words what came of it.
func (l *lasting) carry(s Spec, events []Event, kill func(string) bool) (words string, lives int) {
	l.t.Helper()
	now := begin
	l.row = must.Get(json.Marshal(NewState(s)))(l.t)
	for lives = 1; ; lives++ {
		var st State
		must.Do(l.t, json.Unmarshal(l.row, &st))
		if st.Stage == StageEnded {
			return l.words(st), lives
		}
		unread := slices.DeleteFunc(slices.Clone(events), func(e Event) bool {
			return slices.Contains(st.Inbox.Events,
				e.ID)
		})
		r := &doomed{memory: &memory{t: l.t, w: l.world, now: now, inbox: unread}, l: l, kill: kill}
		end, err := Phase(r, st)
		now = r.now
		if err == nil && end.Stage == StageEnded {
			return l.words(end), lives
		}
		if !errors.Is(err, errKilled) {
			l.t.Fatalf("it returns in stage %q: %v", end.Stage, err)
		}
	}
}

func (l *lasting) words(st State) string {
	if st.Spent.Cost != l.paid {
		l.t.Errorf("%v was paid, and %v is counted", l.paid, st.Spent.Cost)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s after %d rounds, %v, trouble %q, question %q\n", st.End, st.Round, st.Spent.Cost,
		st.Waiting.Trouble,
		st.Ask.Question)
	list := func(what string, n int, of func(int) string) {
		var all []string
		for i := range n {
			all = append(all, of(i))
		}
		slices.Sort(all)
		fmt.Fprintf(&b, "%s: %s\n", what, strings.Join(all, " | "))
	}
	list("turns", len(l.jobs), func(i int) string { return l.jobs[i].Key })
	list("pushed", len(l.pushes), func(i int) string { return l.pushes[i].Old + ".." + l.pushes[i].New })
	list("reviews", len(l.posted), func(i int) string { return l.posted[i].Key })
	list("replies", len(l.replies), func(i int) string { return l.replies[i].Finding + " " + l.replies[i].Text })
	list("said", len(l.said), func(i int) string { return l.said[i] })
	list("taken", len(l.taken), func(i int) string { return l.taken[i].Theirs })
	list("order", len(l.order), func(i int) string { return l.order[i] })
	fmt.Fprintf(&b, "%d requests, %d verdicts, merged %v\n", l.opened, len(st.Review.Judgements), l.mergedBy != nil)
	return b.String()
}

// failing has an agent's first turns of each kind fail.
func failing(times int, fails Report, agent func(Job) (Report, []Commit)) func(Job) (Report, []Commit) {
	n := map[string]int{}
	return func(j Job) (Report, []Commit) {
		name := string(j.Role) + j.Domain
		if n[name]++; n[name] <= times {
			return fails, nil
		}
		return agent(j)
	}
}

// dear agents cost something whatever comes of them.
func dear(agent func(Job) (Report, []Commit)) func(Job) (Report, []Commit) {
	return func(j Job) (Report, []Commit) {
		r, c := agent(j)
		r.Cost += 0.25
		return r, c
	}
}

// Guards against everything that a kill can do to a phase that goes on from what was saved: a turn that is paid or
// counted twice, words that are said twice, and a phase that takes another way. It is killed at every boundary of every
// step and wait, also while it waits out trouble.
func TestAPhaseThatIsKilledAnywhereEndsAsOneThatIsNot(t *testing.T) {
	said := []Comment{comment("1", "ann", "OWNER", "rename the flag", 2*time.Hour),
		comment("2", "ann", "OWNER", "[REVIEW COMPLETE]", 9*time.Hour)}
	effects := func(step, _ string) bool { return step != StepSave.Name && step != StepLook.Name }
	overloaded := Report{Error: "overloaded", Transient: true, Cost: 0.125}
	for name, c := range map[string]struct {
		agents  func() func(Job) (Report, []Commit)
		world   world
		trouble func(step, in string) bool
		events  []Event
		spec    func(*Spec)
	}{
		"all goes well": {agents: func() func(Job) (Report, []Commit) { return dear(picky) }},
		"every step fails at first": {agents: func() func(Job) (Report, []Commit) { return dear(picky) },
			trouble: effects},
		"what is saved fails at first": {agents: func() func(Job) (Report, []Commit) { return dear(picky) },
			trouble: func(step, _ string) bool { return step == StepSave.Name }},
		"the model is overloaded": {agents: func() func(Job) (Report, []Commit) {
			return failing(3, overloaded, dear(picky))
		}},
		"the model is overloaded and the forge down": {trouble: effects,
			agents: func() func(Job) (Report, []Commit) { return failing(2, overloaded, dear(picky)) }},
		"agents fail at first": {agents: func() func(Job) (Report, []Commit) {
			return failing(1, Report{Error: "exit status 1", Cost: 0.5}, dear(picky))
		}},
		"it is paused in the middle": {agents: func() func(Job) (Report, []Commit) { return dear(picky) }, trouble: effects,
			events: []Event{{ID: "p", Kind: EventPause, At: after(7 * time.Second)},
				{ID: "r", Kind: EventResume, At: after(time.Hour)},
				{ID: "c", Kind: EventComment, Text: "and document it", At: after(90 * time.Minute)}}},
		"a small budget": {agents: func() func(Job) (Report, []Commit) { return dear(picky) }, trouble: effects,
			spec: func(s *Spec) { s.MaxCost = 3 }},
		"all kinds": {agents: func() func(Job) (Report, []Commit) { return dear(picky) }, trouble: effects,
			spec: func(s *Spec) { s.Through = Validating }},
	} {
		t.Run(name, func(t *testing.T) {
			s := thatMerges()
			if s.Ready = true; c.spec != nil {
				c.spec(&s)
			}
			play := func(t *testing.T, kill func(string) bool) (string, int) {
				w := c.world
				w.agents, w.news = c.agents(), slices.Clone(said)
				l := newLasting(t, &w)
				l.trouble = c.trouble
				return l.carry(s, c.events, kill)
			}
			n := 0
			calm, _ := play(t, func(string) bool { n++; return false })
			t.Logf("%d boundaries\n%s", n, calm)
			for at := 1; at <= n && !t.Failed(); at += 1 + n/250 { // the longest ones at every other
				i, where := 0, ""
				got, lives := play(t, func(w string) bool {
					if i++; i == at {
						where = w
					}
					return i == at
				})
				if got != calm || lives != 2 {
					t.Errorf("killed at %d: %.300s\n%s\nwant\n%s", at, where, got, calm)
				}
			}
			met := map[string]bool{}
			if got, lives := play(t, func(w string) bool {
				once := w != "wait" && w != "sleep" && !strings.Contains(w, " "+StepSave.Name+" ") && !met[w]
				met[w] = true
				return once
			}); got != calm {
				t.Errorf("killed at every boundary, %d lives:\n%s\nwant\n%s", lives, got, calm)
			}
		})
	}
}

func nothing[I any](f func(context.Context, I) error) func(context.Context, I) (struct{}, error) {
	return func(ctx context.Context, in I) (struct{}, error) { return struct{}{}, f(ctx, in) }
}
