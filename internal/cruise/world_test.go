package cruise

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/cruise/reading"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/must"
)

// memory is an engine without durability and with a clock that a test moves: what is waited for happens at once.
type memory struct {
	t     *testing.T
	w     *world
	now   time.Time
	inbox []Event // At is when it arrives
	steps int
}

func (r *memory) ID() string              { return "0123abcd" }
func (r *memory) Full() bool              { return false }
func (r *memory) Now() (time.Time, error) { return r.now, nil }

func (r *memory) Recv(timeout time.Duration) (*Event, error) {
	r.count()
	slices.SortStableFunc(r.inbox, func(a, b Event) int { return a.At.Compare(b.At) })
	until := r.now.Add(timeout)
	if len(r.inbox) > 0 && !r.inbox[0].At.After(until) {
		e := r.inbox[0]
		r.inbox = r.inbox[1:]
		if e.At.After(r.now) {
			r.now = e.At
		}
		return &e, nil
	}
	r.now = until
	return nil, nil // as the port says
}

func (r *memory) Sleep(d time.Duration) error {
	r.count()
	r.now = r.now.Add(d)
	return nil
}

func (r *memory) count() {
	if r.steps++; r.steps > 20000 {
		panic("the phase never ends")
	}
}

func (r *memory) Start(step string, in any, run StepFunc) Pending {
	r.count()
	r.w.now = r.now
	return over(Dispatch(context.Background(), r.w, step, in, run))
}

// over is a step that is done.
func over(err error) Pending { return func() error { return err } }

// world is a forge, a box and agents in memory. What an agent does is a function of the test.
type world struct {
	now      time.Time
	agents   func(Job) (Report, []Commit)
	news     []Comment // At is when it can be seen
	merged   time.Time // when a person merges
	broken   map[string]error
	head     string          // of the branch, where somebody else pushed
	shows    time.Time       // when the forge shows our own pushes, where that is late
	state    forge.State     // of the pull request, where it is not open
	still    bool            // a look finds only what is new since its mark
	asked    string          // the last question
	unread   int             // how often an end has to wait
	sorts    map[string]Sort // what a model says of comments
	work     []Commit        // in the workspace and not yet published
	n        int
	said     []string
	keys     []string // of what was said
	kept     []SayIn  // comments whose text is replaced
	holds    map[string]Hold
	tells    bool // there is something to tell of every change
	posted   []PostReviewIn
	replies  []Reply
	jobs     []Job
	saved    State
	looks    []time.Time
	asks     []int           // which of them were asked for
	base     string          // that the request goes into, where it is not main
	objects  map[string]bool // people whose requests for changes stand
	failing  []string        // checks, at a merge
	checks   func(head string, now time.Time) Checked
	attempts int // how often jobs were run again
	rerun    func(JobIn)
	log      string    // of every job
	deleted  []string  // comments
	branch   string    // that the request is about, where it was renamed
	kinds    []Kind    // of answers
	order    []string  // pushes and verdicts, as they came
	during   func(Job) // happens while an agent works
	closed   *CloseIn
	mergedBy *MergeIn
	pushes   []PushIn
	opened   int
	hands    Pushers // who pushed to the branch
	silent   int     // times that the forge does not say who pushed
	taken    []TakeIn
	clash    bool   // what others pushed conflicts with unpushed work
	badPush  bool   // and has what must not be there
	onto     string // where the target is
	target   Target // what a comparison with it says
	merges   bool   // a fixer merges it when it is told to
	blocked  bool   // the forge does not merge as long as it was not
	refuses  string // why the forge does not merge, until a time or for ever

	refusesUntil time.Time
}

func (w *world) fault(step string) error { return w.broken[step] }

func (w *world) Metadata(_ context.Context, in MetadataIn) (reading.Metadata, error) {
	return reading.FallbackMetadata(in.Spec.Task), w.fault(StepMetadata.Name)
}

func (w *world) Workspace(_ context.Context, in WorkspaceIn) (Workspace, error) {
	if in.Lend != "" {
		w.order = append(w.order, "lend "+in.Lend)
	}
	return Workspace{Session: "feedbeef", Path: "/workspace/feedbeef", Base: "base"}, w.fault(StepWorkspace.Name)
}

func (w *world) Work(_ context.Context, j Job) (Report, error) {
	w.jobs = append(w.jobs, j)
	if w.during != nil {
		w.during(j)
	}
	r, commits := w.agents(j)
	for _, c := range commits {
		w.n++
		c.ID = fmt.Sprintf("c%07d", w.n)
		w.work = append(w.work, c)
	}
	return r, w.fault(StepWork.Name)
}

func (w *world) Publish(_ context.Context, in PublishIn) (Published, error) {
	p := Published{Head: in.Since, Commits: w.work}
	for _, c := range w.work {
		p.Head = c.ID
		for _, f := range c.Files {
			p.Lines += 10
			if strings.HasPrefix(f, "docs/plans/") {
				p.Plan = f
			}
		}
	}
	for _, c := range w.work {
		if c.Subject == keySubject {
			p.Refused = append(p.Refused, "secrets: key.txt:1: looks like a key")
		} else if h, ok := w.holds[c.Subject]; ok {
			p.Holds = append(p.Holds, h)
		} else if w.tells {
			p.Told, p.Kinds = "ci in "+c.ID, "ci 1"
		}
	}
	if w.merges && len(w.work) > 0 {
		p.Onto = in.Onto
	}
	if p.Onto != "" {
		w.blocked = false
	}
	w.work = nil
	return p, w.fault(StepPublish.Name)
}

func (w *world) Push(_ context.Context, in PushIn) (time.Time, error) {
	w.pushes = append(w.pushes, in)
	w.order = append(w.order, "push "+in.New)
	if w.head != "" && w.head == in.Old && w.shows.IsZero() {
		w.head = in.New
	}
	return w.now.Add(-time.Second), w.fault(StepPush.Name) // comments from now on are about it
}

func (w *world) PullRequest(context.Context, PullRequestIn) (PullRequest, error) {
	w.opened++
	return PullRequest{Number: 7, URL: "https://forge.example/7", Base: "main"}, w.fault(StepPullRequest.Name)
}

func (w *world) PostReview(_ context.Context, in PostReviewIn) ([]Finding, error) {
	if in.As != forge.Comments {
		w.order = append(w.order, fmt.Sprintf("verdict %s %v", in.Head, in.As == forge.Approve))
		return nil, w.fault(StepPostReview.Name)
	}
	w.posted = append(w.posted, in)
	var p []Finding
	for _, f := range in.Findings {
		p = append(p, Finding{ID: f.ID, Comment: "f-" + f.ID, URL: "https://forge.example/7#" + f.ID})
	}
	return p, w.fault(StepPostReview.Name)
}

func (w *world) Look(_ context.Context, in LookIn) (News, error) {
	if in.Now {
		w.asks = append(w.asks, len(w.looks))
	}
	w.looks = append(w.looks, w.now)
	if !w.shows.IsZero() && w.now.After(w.shows) {
		w.head = ""
	}
	n := News{Mark: in.Mark, State: forge.Open, Head: w.head, Base: w.base, Branch: w.branch, Onto: w.onto, Updated: w.now}
	n.Gone = slices.DeleteFunc(slices.Clone(in.Check), func(id string) bool { return !slices.Contains(w.deleted, id) })
	if !w.merged.IsZero() && !w.now.Before(w.merged) {
		n.State = forge.Merged
	}
	if w.state != "" {
		n.State = w.state
	}
	for _, c := range w.news {
		if !c.At.After(w.now) {
			n.Comments = append(n.Comments, c)
		}
	}
	if w.still {
		n.Updated, n.Mark = begin, strconv.Itoa(len(n.Comments))
		if seen, err := strconv.Atoi(in.Mark); err == nil {
			n.Comments = n.Comments[seen:]
		}
	}
	return n, w.fault(StepLook.Name)
}

func (w *world) Answer(_ context.Context, in AnswerIn) error {
	w.replies = append(w.replies, in.Answers...)
	w.kinds = append(w.kinds, in.Kind)
	return w.fault(StepAnswer.Name)
}

func (w *world) Say(_ context.Context, in SayIn) error {
	if in.Keep {
		w.kept = append(w.kept, in)
	} else if !slices.Contains(w.keys, in.Key) { // as the journal does
		w.said, w.keys = append(w.said, in.Text), append(w.keys, in.Key)
	}
	return w.fault(StepSay.Name)
}

func (w *world) Sort(_ context.Context, in SortIn) (Sort, error) {
	return w.sorts[in.Text], w.fault(StepSort.Name)
}

func (w *world) Close(_ context.Context, in CloseIn) error {
	w.closed = &in
	return w.fault(StepClose.Name)
}

func (w *world) Pushers(_ context.Context, in HeadsIn) (Pushers, error) {
	w.order = append(w.order, "hands "+in.Ours+" "+in.Theirs)
	if w.silent--; w.silent >= 0 {
		return Pushers{}, w.fault(StepPushers.Name)
	}
	return w.hands, w.fault(StepPushers.Name)
}

func (w *world) Take(_ context.Context, in TakeIn) (Took, error) {
	w.taken = append(w.taken, in)
	got := Took{Published: Published{Head: in.Theirs, Lines: 10}, At: w.now}
	if diverged := in.Side == "" && len(w.pushes) > 0 && in.Ours != w.pushes[len(w.pushes)-1].New; diverged ||
		in.Side == Ours {
		got.Head, got.Joined = "joined", true
	}
	if w.clash && in.Side == "" {
		got.Conflicts = []string{"a.go"}
	}
	if w.badPush {
		got.Refused = []string{"secrets: a key"}
	}
	return got, w.fault(StepTake.Name)
}

func (w *world) Target(_ context.Context, in TargetIn) (Target, error) {
	w.order = append(w.order, "target "+in.Head)
	t := w.target
	t.From = cmp.Or(t.From, "forkpoint")
	t.Demanded = t.Demanded && in.Demands // the forge was asked
	return t, w.fault(StepTarget.Name)
}

func (w *world) Ready(context.Context, Where) error {
	w.order = append(w.order, "ready")
	return w.fault(StepReady.Name)
}

func (w *world) Merge(_ context.Context, in MergeIn) (Merged, error) {
	s := Stand{Head: w.pushes[len(w.pushes)-1].New, Base: "main"}
	if w.checks != nil {
		s.Checks = w.checks(s.Head, w.now)
	}
	for _, name := range w.failing {
		s.Checks.All = append(s.Checks.All, forge.Check{Name: name, State: forge.ChecksFailed})
	}
	if w.head != "" {
		s.Head = w.head
	}
	if w.base != "" {
		s.Base = w.base
	}
	s.Checks.Head, s.Gone = s.Head, w.deleted
	for who := range w.objects {
		s.Verdicts = append(s.Verdicts, Comment{Author: who, Write: true})
	}
	for _, c := range w.news {
		if c.At.After(w.now) {
			continue
		}
		if c.State == forge.ReviewApproved {
			s.Verdicts = append(s.Verdicts, Comment{Author: c.Author, Commit: c.Commit, State: c.State,
				Write: c.Write, Changed: c.At})
		}
		if c.ID == in.Approval.Comment {
			s.Word = &c
		}
	}
	if m := in.May(s); m != (Merged{}) {
		return m, w.fault(StepMerge.Name)
	}
	if in.Only {
		return Merged{Done: true}, w.fault(StepMerge.Name)
	}
	if w.refuses != "" && (w.refusesUntil.IsZero() || w.now.Before(w.refusesUntil)) {
		return Merged{Refused: w.refuses}, w.fault(StepMerge.Name)
	}
	if w.blocked {
		return Merged{Target: &w.target}, w.fault(StepMerge.Name)
	}
	w.mergedBy = &in
	w.order = append(w.order, "merge")
	return Merged{Done: true}, w.fault(StepMerge.Name)
}

func (w *world) Checks(context.Context, ChecksIn) (Checked, error) {
	head := w.pushes[len(w.pushes)-1].New
	c := Checked{}
	if w.checks != nil {
		c = w.checks(head, w.now)
	}
	c.Head = head
	return c, w.fault(StepChecks.Name)
}

func (w *world) Attempt(_ context.Context, in JobIn) (int, error) {
	return w.attempts + 1, w.fault(StepAttempt.Name)
}

func (w *world) Rerun(_ context.Context, in JobIn) error {
	if w.rerun != nil {
		w.rerun(in)
		return nil
	}
	if in.Attempt == w.attempts+1 && w.fault(StepRerun.Name) == nil {
		w.attempts++
	}
	return w.fault(StepRerun.Name)
}

func (w *world) Log(context.Context, JobIn) (string, error) { return w.log, w.fault(StepLog.Name) }

func (w *world) Save(_ context.Context, in SaveIn) (Saved, error) {
	w.saved = copied(in.State)
	if in.State.Ask.Question != "" {
		w.asked = in.State.Ask.Question
	}
	if in.State.Stage == StageEnded && w.unread > 0 && !in.Last {
		w.unread--
		return Saved{Unread: true}, nil
	}
	return Saved{}, w.fault(StepSave.Name)
}

// copied is a state that nothing else changes.
func copied(st State) (out State) {
	data, err := json.Marshal(st)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

var errDown = &Temporary{errors.New("the forge does not answer")}

func spec() Spec {
	return Spec{
		Task: "Add a flag", Kind: Planning, Repo: "/r", Box: "cco-sandbox", Planner: Worker{Agent: "claude"},
		Reviewer: Worker{Agent: "gemini"},
		Fixer:    Worker{Agent: "claude"}, Domains: []string{"Security", "GeneralPolish"}, MaxRounds: 5, MaxCost: 20,
		DiffBudget: 2000, Timeout: 24 * time.Hour,
	}
}

var begin = time.Date(2026, 11, 15, 9, 0, 0, 0, time.UTC)

func play(t *testing.T, w *world, s Spec, events ...Event) (State, *memory) {
	t.Helper()
	r := &memory{t: t, w: w, now: begin, inbox: events}
	st := must.Get(Phase(r, NewState(s)))(t)
	return st, r
}

const approval = `{"verdict":"APPROVED","findings":[]}`

func plan() []Commit {
	return []Commit{{Subject: "plan", Files: []string{"docs/plans/2026-11-15-add-a-flag.md"}}}
}

// willing agents plan, approve and fix what they are told.
func willing(j Job) (Report, []Commit) {
	switch j.Role {
	case Author:
		return Report{OK: true, Cost: 1}, plan()
	case Reviewer:
		return Report{OK: true, Cost: 0.5, Answer: "Looks good.\n" + approval}, nil
	default:
		return Report{OK: true, Cost: 1}, []Commit{{Subject: "fix it", Files: []string{"a.go"}, Findings: asked(j)}}
	}
}

// asked gives the ids of the findings in a fixer's prompt.
func asked(j Job) []string {
	var list []string
	for line := range strings.Lines(j.Prompt) {
		if id, ok := strings.CutPrefix(line, "### "); ok {
			list = append(list, strings.TrimSpace(id))
		}
	}
	return list
}

func after(d time.Duration) time.Time { return begin.Add(d) }
