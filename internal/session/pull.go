package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/quarantine"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/tree"
	"github.com/cco-dev/cco/internal/unit"
)

// PullOptions say how a session's work is brought back.
type PullOptions struct {
	Dir      string // of the command: the repository may be there if it has moved
	Into     string // a checkout of the repository, in place of the one that was pushed from
	Timeout  time.Duration
	Interval time.Duration
	DryRun   bool
	Branch   string // a branch to make instead of moving the recorded one
	Partial  bool   // also what a failed agent did
	WithWip  bool   // also what was left uncommitted
	NoWip    bool   // not even beside the branch
	Keep     bool   // leave the exchange directory
	Bundle   int64  // the largest bundle taken
	Limits   quarantine.Limits
	Gate     Gate
	Side     string // also a branch that was left beside the session's own
	// Box is where what comes from the graveyard is looked at, if its own box is gone, or in any case with Elsewhere.
	Box       string
	Elsewhere bool
	Only      []string // paths: one commit of them, and the rest at the session's ref alone
	Stay      bool     // write the session's ref, and move no branch
	// Leave says of what has passed the gate whether it stays; can says why no branch can move to it.
	Leave func(r PullResult, can func() error) (bool, error)
	Join  Join // what to do if the branch has diverged
	// Idle says whether to end an agent that sits at its prompt; waited says that it came there while the pull waited.
	// Nil ends none.
	Idle func(rec store.Session, waited bool) bool
	Seen string // what a person has looked at, as PullResult.Seen gives it: nothing else is taken
}

// PullResult is what came back.
type PullResult struct {
	Session store.Session `json:"session"`
	DryRun  bool          `json:"dry_run,omitempty"`
	Again   bool          `json:"again,omitempty"` // it was pulled before, so nothing was done
	Base    string        `json:"base"`
	Tip     string        `json:"tip"`
	Branch  string        `json:"branch"`
	Arrived
	Summary       git.Summary `json:"summary"`
	Gate          gate.Report `json:"gate"`
	inside.Others             // what stays in the workspace
	Left          bool        `json:"left,omitempty"` // what was left uncommitted was not looked for
	Choice
	Took    unit.Seconds `json:"took_seconds"`
	Trouble []string     `json:"trouble,omitempty"` // what could not be cleared up after the work had arrived
	Stopped string       `json:"stopped,omitempty"` // why nothing was moved

	offer
	whole string   // what the chosen paths were taken from, or what was joined with the branch
	known []string // commits of the branch, which a join is made on
}

// Arrived says where work is now.
type Arrived struct {
	Ref    string   `json:"ref,omitempty"`
	WipRef string   `json:"wip_ref,omitempty"`
	Kept   []string `json:"kept,omitempty"`
	Side   string   `json:"side,omitempty"` // the ref of what was asked for beside the branch
	Moved  bool     `json:"moved"`
	Raw    []string `json:"raw,omitempty"`
}

// Choice is what was taken of all that came.
type Choice struct {
	Only   []string `json:"only,omitempty"`   // the paths
	Files  int      `json:"files,omitempty"`  // how many files they are
	Of     int      `json:"of,omitempty"`     // of how many
	Halves []string `json:"halves,omitempty"` // renames of which only one side was taken
}

// offer is what was published, and what of it the branch gets.
type offer struct{ head, wip, target string }

// Seen names what was shown, so that nothing else is taken in its place.
func (o offer) Seen() string { return o.head + " " + o.wip }

// maxResult bounds result.json and error.txt.
const maxResult = 64 << 10

// Pull waits for a session and brings its commits into the user's repository. If anything fails a check, nothing
// changes and everything stays where it is.
func (s HandOff) Pull(ctx context.Context, id string, o PullOptions) (PullResult, error) {
	r, err := s.pullBranch(ctx, id, o)
	if err != nil || o.Side == "" {
		return r, err
	}
	return s.side(ctx, r, o)
}

func (s HandOff) pullBranch(ctx context.Context, id string, o PullOptions) (PullResult, error) {
	rec, err := s.Get(ctx, id)
	if err != nil {
		return PullResult{}, err
	}
	lock, err := s.LockPull(ctx, id)
	if err != nil {
		return PullResult{}, err
	}
	defer func() { _ = lock.Close() }()
	if rec, err = s.Await(ctx, id, o); err != nil {
		return PullResult{}, err
	}
	if rec.State == store.Pulled && len(o.Only) > 0 {
		return PullResult{}, &StateError{ID: id, State: rec.State, Why: fmt.Sprintf("all of it is at refs/cco/%s; take more "+
			"of it with `git restore --source=refs/cco/%s PATH` and commit that", id, id)}
	}
	if rec.State == store.Pulled {
		r := PullResult{Session: rec, Again: true, Base: rec.Base, Tip: rec.Tip, Branch: rec.Branch,
			Arrived: Arrived{Ref: "refs/cco/" + id}}
		l, now, more, err := s.since(ctx, rec, o)
		if err != nil || !more {
			r.Lost, r.Left = l.Lost, o.NoWip && l.Uncommitted.OID != "" && l.Uncommitted.OID != rec.Wip
			if o.WithWip && rec.Wip != "" {
				r.WipRef = r.Ref + "-wip"
			}
			return r, err
		}
		rec = now
	} else if err := s.removed(ctx, rec); err != nil {
		return PullResult{}, err
	}
	s.tellFindings(ctx, rec)
	r, err := s.pull(ctx, rec, o)
	if o.NoWip {
		l, ok := s.Left(rec)
		r.Left = !ok || l.Failed != "" || l.Uncommitted.OID != "" && l.Uncommitted.OID != rec.Wip
	}
	if err != nil {
		return r, fmt.Errorf("pull %s: %w", id, err)
	}
	return r, nil
}

// arrival is a session's work on its way into the user's repository.
type arrival struct {
	HandOff
	o    PullOptions
	repo *git.Repo
	pub  inside.Result
	q    *quarantine.Repo // nil if there is nothing new
	r    PullResult
}

func (s HandOff) pull(ctx context.Context, rec store.Session, o PullOptions) (PullResult, error) {
	start := s.Now()
	repo, err := s.Repository(ctx, rec, Where{o.Dir, o.Into})
	if err != nil {
		return PullResult{}, err
	}
	rec.Repo = repo.Top
	only, err := o.only(repo)
	if err == nil && o.Branch != "" {
		err = repo.CheckBranch(ctx, o.Branch)
	}
	if err != nil {
		return PullResult{}, err
	}
	pub, err := s.Published(ctx, rec, o.NoWip)
	if rec.State != store.Done && rec.State != store.Pulled && !o.Partial {
		return PullResult{}, s.Looking().failure(rec, pub, err)
	}
	if err != nil {
		return PullResult{}, err
	}
	q, err := s.Quarantine(ctx, repo, rec, pub, o, s.QuarantineDir(rec.ID))
	if err != nil {
		return PullResult{}, s.unchanged(rec.ID, advised(err, rec.ID, pub))
	}
	if q != nil {
		defer func() { _ = q.Close() }()
	}
	a := &arrival{HandOff: s, o: o, repo: repo, pub: pub, q: q, r: PullResult{
		Session: rec, DryRun: o.DryRun, Base: rec.Base, Tip: rec.Base, Branch: cmp.Or(o.Branch, rec.Branch),
		Others: pub.Others, Choice: Choice{Only: only}, offer: offer{target: rec.Base},
	}}
	for _, step := range []func(context.Context) error{a.examine, a.pick, a.join, a.pass, a.land} {
		if err = step(ctx); err != nil {
			break
		}
	}
	a.r.Took = unit.Seconds(s.Now().Sub(start))
	return a.r, err
}

// Published reads what the session offers, and publishes it first if need be: with uncommitted work, or without.
func (s HandOff) Published(ctx context.Context, rec store.Session, noWip bool) (inside.Result, error) {
	if r, err := s.readResult(rec); err == nil && (r.NoWip == noWip || noWip && r.Wip == "") {
		return r, nil
	}
	if rec.Started.IsZero() {
		// no agent was ever there to leave anything
		return inside.Result{Session: rec.ID, Base: rec.Base, Head: rec.Base}, nil
	}
	lock, err := s.LockSoon(ctx, rec.ID) // a keeper may be about its last things
	if busy(err) {
		return inside.Result{}, &BusyError{ID: rec.ID, What: "push"}
	}
	if err != nil {
		return inside.Result{}, err
	}
	defer func() { _ = lock.Close() }()
	b, d, err := s.Boxes.Ready(ctx, rec.Box)
	if err != nil {
		return inside.Result{}, err
	}
	s.Report("publishing what session %s left", rec.ID)
	if noWip {
		err = s.PublishAs(ctx, b, d, rec, inside.What{NoWip: true}) // uncommitted work stays in the workspace
	} else {
		err = s.Publish(ctx, b, d, rec)
	}
	if err != nil {
		return inside.Result{}, err
	}
	return s.readResult(rec)
}

// advised adds to a refusal which setting it is about, and how to leave out uncommitted work.
func advised(err error, id string, pub inside.Result) error {
	no, ok := errors.AsType[*quarantine.RefusedError](err)
	if ok && no.Rule == quarantine.RuleTooLarge {
		err = fmt.Errorf("%w\nyour settings pull.max_blob and pull.max_bundle say how large a file and all of it may be", err)
	}
	if ok && pub.Wip != "" {
		err = fmt.Errorf("%w\n`cco box pull %s --no-wip` leaves out what was not committed", err, id)
	}
	return err
}

func (s *Service) readResult(rec store.Session) (r inside.Result, err error) {
	data, err := s.ReadOut(rec.ID, inside.ResultFile, maxResult)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("read %s: %w", inside.ResultFile, err)
	}
	if r.Session != rec.ID || r.Base != rec.Base {
		return r, fmt.Errorf("%s is not about this session and its base", inside.ResultFile)
	}
	return r, nil
}

// ReadOut reads a small file of the exchange directory from a copy that nobody else can change.
func (s *Service) ReadOut(id, name string, limit int64) ([]byte, error) {
	dir, err := os.MkdirTemp(s.Dir(id), "out-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = tree.Remove(dir) }()
	dst := filepath.Join(dir, name)
	if _, err := quarantine.CopyOut(context.Background(), s.Exchange(id), name, dst,
		limit); err != nil { // at most 64 KiB
		return nil, err
	}
	return os.ReadFile(dst)
}

// ErrorText is what an agent wrote into error.txt, safe to show; "" if there is none.
func (s *Service) ErrorText(id string) string {
	if _, err := os.Lstat(filepath.Join(s.Exchange(id), inside.ErrorFile)); err != nil {
		return ""
	}
	data, err := s.ReadOut(id, inside.ErrorFile, maxResult)
	if err != nil {
		return "error.txt could not be read: " + err.Error()
	}
	if words := CleanLines(string(data)); words != "" {
		return words
	}
	return "error.txt is empty"
}

// QuarantineDir is where what came of a session is unpacked, by one who has its lock.
func (s *Service) QuarantineDir(id string) string { return filepath.Join(s.Dir(id), "quarantine") }

// Quarantine copies the bundle out of the agent's reach, unpacks and examines it in dir. It is nil if there is nothing
// new.
func (s HandOff) Quarantine(ctx context.Context, repo *git.Repo, rec store.Session, pub inside.Result, o PullOptions,
	dir string) (*quarantine.Repo, error) {
	if pub.Bundle == nil || pub.Head == rec.Base && pub.Wip == "" {
		return nil, nil
	}
	if err := tree.Remove(dir); err != nil {
		return nil, err
	}
	s.Report("checking what came")
	q, err := quarantine.New(ctx, repo, dir, quarantine.Options{Limits: o.Limits, Progress: s.gitProgress()})
	if err != nil {
		return nil, err
	}
	if err := s.fill(ctx, q, rec, pub, o.Bundle); err != nil {
		return nil, errors.Join(err, q.Close())
	}
	return q, nil
}

func otherSum(name string) error {
	return fmt.Errorf("%s is not the file that was published: its sum differs", name)
}

func (s HandOff) fill(ctx context.Context, q *quarantine.Repo, rec store.Session, pub inside.Result,
	limit int64) error {
	bundle := filepath.Join(q.Dir, "cco-copy.bundle")
	got, err := quarantine.CopyOut(ctx, s.Exchange(rec.ID), inside.OutputBundle, bundle, limit)
	if err != nil {
		return err
	}
	if got != pub.Bundle.SHA256 {
		return otherSum(inside.OutputBundle)
	}
	found, err := q.Unpack(ctx, bundle, rec.Base)
	if err != nil {
		return err
	}
	if found.Tip != pub.Head || found.Wip != pub.Wip {
		return fmt.Errorf("%s holds other commits than %s says", inside.OutputBundle, inside.ResultFile)
	}
	return os.Remove(bundle)
}
