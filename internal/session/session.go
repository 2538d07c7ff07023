// Package session is the hand-off: a plan and commits go into a box, an agent works, commits come back.
package session

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/door"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/whole"
)

// Service knows sessions: their records, directories, locks and keepers, and what was published or buried of them. What
// is done with them is in types over it: HandOff and Looking, keeping.Keeping and turns.Turns.
type Service struct {
	Store *store.Store
	Boxes *box.Boxes
	Data  string
	Now   func() time.Time
	NewID func() string
	// Spawn starts the keeper of a session, detached, with the files as its descriptors 3 and 4.
	Spawn func(id string, files ...*os.File) error

	// Door says what a session may reach and with which keys; nil is no way out of boxes at all.
	Door func(ctx context.Context, rec store.Session, b *box.Box) (door.Config, error)
	// Program finds an agent's program for a box, and the directories of the host that it needs to see. Without a path, or
	// if Program is nil, it is looked for on the box's own PATH.
	Program func(ctx context.Context, a agent.Adapter, b *box.Box, d box.Driver) (path string, dirs []string, err error)
	// Agents are those that the user's settings name, beside cco's own.
	Agents agent.Own
	// Page is where a person finds a session on the page; "" if none was ever served. It may be nil.
	Page func(id string) string
	// Waiting gives the phases that no machine takes, and why. It is nil if phases are on this one alone.
	Waiting func() map[string]string
	// MaxFile is the size of the largest uncommitted file that is kept.
	MaxFile int64
	// Graves says how long what was removed stays. If it is nil, it stays.
	Graves *Graves
	// Fault is for tests: it is called at every step of a removal and of a return from the graveyard, and may panic.
	Fault func(step string)

	Report box.Report // progress
	Warn   box.Report
}

// Graves says how long graves stay, and how much room they may take.
type Graves struct {
	Days int
	Size int64
}

// HandOff gives work to agents and brings it back: push, pull and land.
type HandOff struct{ *Service }

// Looking says how sessions are and what they have made, and changes nothing of theirs.
type Looking struct{ *Service }

// HandOff hands work off.
func (s *Service) HandOff() HandOff { return HandOff{s} }

// Looking looks.
func (s *Service) Looking() Looking { return Looking{s} }

// NewID makes a session id.
func NewID() string {
	b := make([]byte, 4)
	_, _ = rand.Read(b) // crypto/rand never fails; it ends the program instead
	return hex.EncodeToString(b)
}

// ValidID says whether something can be a session's id.
func ValidID(id string) bool { return len(id) == 8 && strings.Trim(id, "0123456789abcdef") == "" }

// Resolve gives the id of the session that a user means: all of an id, or a beginning that only one has.
func (s *Service) Resolve(ctx context.Context, word string) (string, error) {
	if ValidID(word) {
		return word, nil
	}
	if word == "" || len(word) > 8 || strings.Trim(word, "0123456789abcdef") != "" {
		return "", noID(word)
	}
	return s.Store.SessionID(ctx, word)
}

// noID says that something can't be a session's id. Ids name directories, so nothing else is looked up.
func noID(word string) error {
	return &UsageError{fmt.Sprintf("%q is not a session id: 8 lower-case hex digits or the first of them, see `cco box "+
		"sessions`", word)}
}

// StateError says that the state of a session, or of what it needs, does not allow what was asked.
type StateError struct {
	ID    string // "" if it is not the session's own
	State store.State
	Why   string
}

func (e *StateError) Error() string {
	if e.ID == "" {
		return e.Why
	}
	is := "is " + string(e.State)
	if e.State == store.Waiting {
		is = "waits for an answer"
	}
	return fmt.Sprintf("session %s %s: %s", e.ID, is, e.Why)
}

// FailedError says that an agent did not finish its work.
type FailedError struct {
	ID     string
	State  store.State
	Reason string
	Words  string // what it wrote into error.txt
	Next   string // what the user can do
}

func (e *FailedError) Error() string {
	s := fmt.Sprintf("session %s %s", e.ID, e.State)
	if e.Reason != "" {
		s += " (" + e.Reason + ")"
	}
	if e.Words != "" {
		s += ": " + e.Words
	}
	if e.Next != "" {
		s += "\n" + e.Next
	}
	return s
}

// Dir is a session's own directory, which no box sees.
func (s *Service) Dir(id string) string { return filepath.Join(s.Data, "sessions", id) }

// Exchange is a session's directory through which bundles pass.
func (s *Service) Exchange(id string) string { return filepath.Join(s.Boxes.Exchange(), id) }

// Socket is where a session's keeper listens.
func (s *Service) Socket(id string) string { return filepath.Join(s.Dir(id), "keeper.sock") }

// OrderFile is there as long as the session's workspace.
func (s *Service) OrderFile(id string) string { return filepath.Join(s.Dir(id), "order.json") }

// TranscriptFile is where a session's events are kept.
func (s *Service) TranscriptFile(id string) string {
	return filepath.Join(s.Dir(id), "transcript.jsonl")
}

// NetFile is where the record of a session's way out is kept.
func (s *Service) NetFile(id string) string { return filepath.Join(s.Dir(id), door.LogFile) }

// FindProgram finds an agent's program.
func (s *Service) FindProgram(ctx context.Context, a agent.Adapter, b *box.Box, d box.Driver) (string, []box.Bind,
	error) {
	if s.Program == nil || a.Binary() == "" {
		return "", nil, nil
	}
	path, dirs, err := s.Program(ctx, a, b, d)
	var binds []box.Bind
	for _, d := range dirs {
		binds = append(binds, box.Bind{Path: d})
	}
	return path, binds, err
}

// Get reads a session and makes sure that its state is true.
func (s *Service) Get(ctx context.Context, id string) (store.Session, error) {
	if !ValidID(id) {
		return store.Session{}, noID(id)
	}
	v, err := s.Store.Session(ctx, id)
	if err != nil {
		return v, err
	}
	return s.correctState(ctx, v)
}

// List reads the sessions of a box, or all, with their true states.
func (s *Service) List(ctx context.Context, boxName string) ([]store.Session, error) {
	list, err := s.Store.Sessions(ctx, boxName)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i], err = s.correctState(ctx, list[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// correctState corrects the record of a session whose keeper died before it could: killed, or ended by a reboot.
func (s *Service) correctState(ctx context.Context, v store.Session) (store.Session, error) {
	if !v.Live() {
		return v, nil
	}
	lock, err := s.KeeperLock(v.ID)
	if busy(err) {
		return v, nil
	}
	if err != nil {
		return v, err
	}
	defer func() { _ = lock.Close() }()
	end := func(v *store.Session) error {
		if v.Live() {
			v.State, v.Cause, v.Reason = store.Failed, store.Interrupted, string(store.Interrupted)
			v.Finished = s.Now()
		}
		return nil
	}
	now, err := s.Store.UpdateSession(ctx, v.ID, end)
	if err == nil || ctx.Err() != nil {
		return now, err
	}
	// A full disk must not keep the user from seeing and removing what fills it.
	s.Warn("the record of session %s can't be written: %v", v.ID, err)
	return v, end(&v)
}

// Run is how an agent should run: the keeper gets it as settings and flags say.
type Run struct {
	Interactive bool          `json:"interactive,omitempty"`
	Cols        int           `json:"cols,omitempty"`
	Rows        int           `json:"rows,omitempty"`
	Timeout     time.Duration `json:"timeout,omitempty"`
	IdleTimeout time.Duration `json:"idle_timeout,omitempty"`
	MaxWait     time.Duration `json:"max_wait,omitempty"`  // for a model that fails for the time being
	NoResume    bool          `json:"no_resume,omitempty"` // don't wait for it at all
	Limits      Limits        `json:"limits"`
	Budget      string        `json:"budget,omitempty"`    // what it shares with other sessions
	PlainGit    bool          `json:"plain_git,omitempty"` // GIT_DIR and GIT_WORK_TREE for every git of the agent
	OnDone      []string      `json:"on_done,omitempty"`
	OnWaiting   []string      `json:"on_waiting,omitempty"`
	Servers     event.Servers `json:"servers,omitempty"` // of the user's editor, for the agent
}

// Order is what a keeper has to do. It stays on the host.
type Order struct {
	Run
	Session string `json:"session"`
	Plan    string `json:"plan"`
	Title   string `json:"title,omitempty"` // of a plan that was given later
	Format  string `json:"format,omitempty"`
	Shallow bool   `json:"shallow,omitempty"`
	Again   bool   `json:"again,omitempty"` // the workspace is there from an earlier run
	Name    string `json:"name,omitempty"`
	Email   string `json:"email,omitempty"`
	Prompt  string `json:"prompt,omitempty"` // said instead of carrying out the plan
	Asked   string `json:"asked,omitempty"`  // the question that Prompt answers
	Fresh   bool   `json:"fresh,omitempty"`  // begin a new conversation even if there was one before

	// Of a turn in a phase.
	Key     string      `json:"key,omitempty"` // its name, which lasts
	Phase   string      `json:"phase,omitempty"`
	View    string      `json:"view,omitempty"`    // the session whose workspace it only looks at
	Message string      `json:"message,omitempty"` // for a commit of what it leaves uncommitted
	Env     []string    `json:"env,omitempty"`
	Before  store.Spend `json:"before,omitzero"` // what the session had spent before it
}

// WriteOrder replaces what a session's keeper has to do.
func (s *Service) WriteOrder(o Order) error {
	data, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return err
	}
	return whole.Write(s.OrderFile(o.Session), data, 0o600)
}

// ReadOrder reads what a session's keeper has to do.
func (s *Service) ReadOrder(id string) (o Order, err error) {
	data, err := os.ReadFile(s.OrderFile(id))
	if err != nil {
		return o, fmt.Errorf("read order: %w", err)
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return o, fmt.Errorf("read order: %w", err)
	}
	return o, nil
}
