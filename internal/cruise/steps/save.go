package steps

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/reading"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/unit"
)

// StateFile is the readable copy of a phase's state in its workspace.
const StateFile = ".cruise/phase-state.json"

// Save saves the state, which the phase goes on from, and shows it to people: in the phase's log, and in its workspace.
// What is saved already is not saved again.
func (d *Doer) Save(ctx context.Context, in cruise.SaveIn) (cruise.Saved, error) {
	before, _ := d.Store.Phase(ctx, in.Phase) // the first time there is none
	rec, err := Record(in.Phase, in.State, d.Now())
	if err != nil {
		return cruise.Saved{}, err
	}
	var was cruise.State
	_ = json.Unmarshal(before.State, &was)
	rec.News = News(was, in.State)
	same := bytes.Equal(before.State, rec.State) && !before.Ended
	if rec.Ended {
		unread, err := d.Inbox.end(ctx, rec, in.State.Inbox.Events, in.Last)
		if err != nil || unread {
			return cruise.Saved{Unread: unread}, temporary(err)
		}
	} else if same {
		return cruise.Saved{}, nil
	} else if err := d.Store.SavePhase(ctx, rec); err != nil {
		return cruise.Saved{}, temporary(err)
	}
	if rec.Ended && in.State.PR != nil {
		// An end waits for no running look, which waits for a forge.
		go d.Watch.Forget(context.WithoutCancel(ctx), in.State.Spec.Repo, in.State.PR.Number)
	}
	if err := d.show(ctx, in.Phase, was, in.State); err != nil {
		d.log(ctx, in.Phase, "the copy of the state in its workspace is an older one: "+err.Error()) // nothing depends on it
	}
	return cruise.Saved{}, nil
}

// Record is a phase's row in the store.
func Record(id string, st cruise.State, now time.Time) (store.Phase, error) {
	data, err := json.Marshal(st)
	if err != nil {
		return store.Phase{}, err
	}
	p := store.Phase{
		ID: id, Repo: cmp.Or(st.Spec.Remote, st.Spec.Repo), Branch: st.Meta.Branch, Kind: string(st.Kind),
		Stage: string(st.Stage),
		Ended: st.Stage == cruise.StageEnded,
		Title: cmp.Or(st.Meta.Title, reading.FallbackMetadata(st.Spec.Task).Title),
		Cost:  st.Spent.Cost, Estimate: st.Spent.Estimate, Created: st.Started, Updated: now,
		State: data,
	}
	if p.Created.IsZero() {
		p.Created = now
	}
	if st.Paused && !p.Ended {
		p.Stage = "paused"
	}
	if st.PR != nil {
		p.PRNumber, p.PRURL = st.PR.Number, st.PR.URL
	}
	return p, nil
}

// BrokenError says that the record of a phase can't be read.
type BrokenError struct {
	Phase string
	Err   error
}

func (e *BrokenError) Error() string { return fmt.Sprintf("read phase %s: %v", e.Phase, e.Err) }
func (e *BrokenError) Unwrap() error { return e.Err }

// StateOf is what a recorded phase goes on from.
func StateOf(p store.Phase) (st cruise.State, err error) {
	if err := json.Unmarshal(p.State, &st); err != nil {
		return st, &BrokenError{Phase: p.ID, Err: err}
	}
	return st, nil
}

// News says in lines what has changed between two states.
func News(was, is cruise.State) []string {
	var lines []string
	if is.Stage != was.Stage || is.Kind != was.Kind {
		lines = append(lines, fmt.Sprintf("%s: %s", is.Kind, is.Stage))
	}
	if is.Round != was.Round && is.Round > 0 {
		lines = append(lines, fmt.Sprintf("round %d", is.Round))
	}
	if was.PR != nil && is.Meta.Branch != was.Meta.Branch {
		lines = append(lines, fmt.Sprintf("branch %s is called %s now", was.Meta.Branch, is.Meta.Branch))
	}
	if is.Base.Commit != was.Base.Commit && is.Behind() {
		lines = append(lines, fmt.Sprintf("branch %s has moved to %s", is.Base.Branch, git.Short(is.Base.Commit)))
	}
	if is.PR != nil && was.PR == nil {
		lines = append(lines, "pull request "+is.PR.URL)
	}
	lines = append(lines, saidNews(was, is)...)
	before := marked(was)
	for i, words := range marked(is) {
		if words != before[i] && words != "" {
			lines = append(lines, marks[i]+words)
		}
	}
	if is.Paused != was.Paused {
		lines = append(lines, map[bool]string{true: "paused", false: "goes on"}[is.Paused])
	}
	if len(is.Inbox.Held) > len(was.Inbox.Held) {
		lines = append(lines, "waiting for you: "+unit.Count(len(is.Inbox.Held), "comment")+" of strangers; accept one with "+
			"`cco cruise fix --accept ID`")
	}
	return lines
}

// marks begin lines that tell of a phase's course, and marked is what they tell of a state.
var marks = []string{"asks: ", "trouble: ", "waits for ", "ended: "}

func marked(st cruise.State) []string {
	return []string{st.Ask.Question, st.Waiting.Trouble, st.Waiting.For, string(st.End)}
}

// saidNews says in lines what reviewers, people and fixers have said between two states.
func saidNews(was, is cruise.State) (lines []string) {
	for _, j := range is.Review.Judgements {
		if !slices.ContainsFunc(was.Review.Judgements, func(o cruise.Judgement) bool {
			return o.Domain == j.Domain && o.Head == j.Head && o.Verdict == j.Verdict
		}) {
			lines = append(lines, fmt.Sprintf("%s of %s by %s", cmp.Or(string(j.Verdict), "a failed review"),
				git.Short(j.Head), j.Domain))
		}
	}
	for _, f := range is.Ledger.Findings {
		old := was.Ledger.Find(f.ID)
		if old != nil && old.State == f.State {
			continue
		}
		line := fmt.Sprintf("finding %s is %s", f.ID, f.State)
		switch f.State {
		case cruise.Open, cruise.Noted:
			line += fmt.Sprintf(" (%s): %s", cmp.Or(f.Domain, f.Author), cruise.Short(f.Text))
		case cruise.Declined:
			line += ": " + cruise.Short(f.Reason)
		case cruise.Fixed:
			line += " in " + git.Short(f.Commit)
		case cruise.Answered, cruise.Dropped:
		}
		lines = append(lines, line)
	}
	return lines
}

// The lines in a phase's log that tell of engines: how the last one ended, and where one that has just started goes on.
const (
	Died    = "the engine was killed"
	Stopped = "the engine was stopped"
	TakenUp = "an engine has started and goes on with it"
)

// Mark says what of a phase's course a line of its log tells, and by which name; "" for one that tells nothing of it.
func Mark(l store.Line) (what, name string) {
	switch l.Text {
	case Died, Stopped:
		return "no engine", l.Text
	case TakenUp:
		return "engine", ""
	}
	if l.Text == "paused" || l.Text == "goes on" {
		return l.Text, ""
	}
	for _, begin := range append([]string{"round "}, marks...) {
		if rest, ok := strings.CutPrefix(l.Text, begin); ok {
			what, _, _ = strings.Cut(begin, " ")
			return strings.TrimSuffix(what, ":"), rest
		}
	}
	if kind, stage, ok := strings.Cut(l.Text, ": "); ok && slices.Contains(cruise.Kinds(), cruise.Kind(kind)) {
		return "stage", stage
	}
	return "", ""
}

// log adds a line to a phase's log. A failure must not stop a phase.
func (d *Doer) log(ctx context.Context, phase, text string) {
	_ = d.Store.Log(ctx, phase, d.Now(), text)
}

// Shown is the readable copy of a state. Its fields are a contract with its readers.
type Shown struct {
	Phase         string    `json:"phase"`
	ID            string    `json:"id"`
	Stage         string    `json:"stage"`
	Task          string    `json:"task"`
	SandboxPath   string    `json:"sandbox_path"`
	Branch        string    `json:"branch_name"`
	PRURL         *string   `json:"pr_url"`
	PRNumber      *int      `json:"pr_number"`
	Domain        *string   `json:"current_review_domain"`
	LastActivity  time.Time `json:"last_activity"`
	Backoff       int       `json:"backoff_interval_secs"`
	Pending       []string  `json:"pending_comment_ids"`
	Rounds        int       `json:"completed_rounds"`
	CostSoFar     float64   `json:"cost"`
	Estimate      bool      `json:"estimate,omitempty"` // of CostSoFar
	BaseCommit    string    `json:"base_commit"`
	HeadCommit    string    `json:"head_commit"`
	PlanInTheRepo string    `json:"plan,omitempty"`
	// Sealed is the state for cco itself, which takes it up again with `resume --from`. Agents can read it and can't
	// change it without breaking the seal.
	Sealed string `json:"sealed,omitempty"`
	Seal   string `json:"seal,omitempty"`
}

// sealUse keeps the seals of states apart from other seals.
const sealUse = "phase state"

// seal adds a state to its readable copy. What strangers wrote stays out: it must not reach agents.
func (s *Shown) seal(key forge.Key, st cruise.State) error {
	held := make([]cruise.Comment, 0, len(st.Inbox.Held))
	for _, c := range st.Inbox.Held {
		held = append(held, cruise.Comment{ID: c.ID})
	}
	st.Inbox.Held, st.Workspace = held, cruise.Workspace{}
	data, err := json.Marshal(st)
	if err != nil {
		return err
	}
	s.Sealed = base64.StdEncoding.EncodeToString(data)
	s.Seal = key.Sum(sealUse, s.Sealed)
	return nil
}

// Unseal gives the state of a readable copy, if the seal is ours.
func Unseal(key forge.Key, sealed, seal string) (st cruise.State, ok bool) {
	data, err := base64.StdEncoding.DecodeString(sealed)
	if sealed == "" || err != nil || !key.Check(seal, sealUse, sealed) {
		return st, false
	}
	return st, json.Unmarshal(data, &st) == nil
}

// Show makes the readable copy.
func Show(id string, st cruise.State) Shown {
	s := Shown{
		Phase: string(st.Kind), ID: id, Stage: string(st.Stage), Task: st.Spec.Task, SandboxPath: st.Workspace.Path,
		Branch:       st.Meta.Branch,
		LastActivity: st.LastActivity, Backoff: int(st.Looks.Backoff.Interval() / time.Second),
		Pending: []string{},
		Rounds:  st.Round, CostSoFar: st.Spent.Cost, Estimate: st.Spent.Estimate, BaseCommit: st.Workspace.Base,
		HeadCommit:    st.Head.Commit,
		PlanInTheRepo: st.Plan,
	}
	if st.PR != nil {
		s.PRURL, s.PRNumber = &st.PR.URL, &st.PR.Number
	}
	if domain := st.Domain(); domain != "" {
		s.Domain = &domain
	}
	for _, f := range st.Ledger.OpenOnes() {
		if f.Comment != "" {
			s.Pending = append(s.Pending, f.Comment)
		}
	}
	return s
}

// show puts the readable copy into the workspace if it changed.
func (d *Doer) show(ctx context.Context, phase string, was, is cruise.State) error {
	if is.Workspace.Session == "" || is.Stage == cruise.StageEnded || is.Stage == cruise.StageCleaning {
		return nil
	}
	after := Show(phase, is)
	if reflect.DeepEqual(Show(phase, was), after) && was.Inbox.Mark == is.Inbox.Mark &&
		len(was.Inbox.Held) == len(is.Inbox.Held) {
		return nil
	}
	key, err := forge.OpenKey(d.Data)
	if err != nil {
		return err
	}
	if err := after.seal(key, is); err != nil {
		return err
	}
	data, err := json.MarshalIndent(after, "", "  ")
	if err != nil {
		return err
	}
	return d.Sessions.Show(ctx, is.Workspace.Session, StateFile, append(data, '\n'))
}
