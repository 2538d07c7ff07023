// Package config reads settings: the user's own file, the environment above it, and a repository's file,
// which may tighten what the user set and loosen it only after the user has trusted its present content.
package config

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/vt"
)

// RepoFile is the name of the settings that a repository carries at its root.
const RepoFile = ".cco.toml"

// Config is the result of all sources. Each command applies its flags to it.
type Config struct {
	Box    Box
	Agent  Agent
	Push   Push
	Pull   Pull
	Notify Notify

	Graveyard Graveyard

	Guard  Guard
	Limits Spending
	MCP    Shared
	Cruise Cruise
	Engine Engine
	Worker Worker

	Terminal Terminal

	View    View
	Network Network
	Keys    map[string]Key // of models, by the name of their provider
	Agents  map[string]OwnAgent
}

// OwnAgent is an agent of the user's own that speaks the Agent Client Protocol.
type OwnAgent struct {
	NPM        []string // packages with their exact versions
	ACP        []string // what is started
	Provider   string   // whose model it asks
	Env, Files map[string]string
	Mode       string
	Model      string
}

// View says how the page is served.
type View struct {
	Hosts []string // further names under which browsers reach it, by tunnels of the user's own
}

// Cruise says how phases are run.
type Cruise struct {
	Model string   // that names phases; "" is a small one of the planner's provider
	Bots  []string // accounts on forges that are programs, and give no work
}

// Engine says where phases live.
type Engine struct {
	Database string   // the address of a PostgreSQL that machines share, without a password; "" is on this machine
	Password Key      // where that of the database is
	Accept   []string // weaker connections that the user has accepted by name
	// Bundles is a directory that all machines have, for the commits of phases; "" keeps them in the database.
	Bundles   string
	BundleMax int64 // bytes of a phase's commits
}

// Worker says which phases of a shared database this machine takes.
type Worker struct {
	Slots  int      // how many it holds at most
	Labels []string // names of the user's for what it has, such as gpu
}

// Box says how boxes are made, and which one is the default.
type Box struct {
	Backend string // "" is the one that suits the machine
	Name    string
	Mounts  []Mount
	Caches  []string // slash-separated, below home
	Seed    []string // caches that start as copies of the user's own
	Env     []string // KEY=value, sorted
	Setup   []string // shell commands
	Limits  Limits
	Accept  []string // weaker modes that the user has accepted by name

	Own box.Values // of backends' own settings
}

// Mount is a host directory that a box sees at the same path. Path is absolute and clean.
type Mount struct {
	Path  string
	Write bool
}

// Limits bound one run. Zero is the box's default. The type converts to box.Limits.
type Limits struct {
	Memory int64
	Procs  int
	Time   time.Duration
}

// Agent says which agent carries out a plan, and with which model ("" is the agent's own default).
type Agent struct {
	Default string
	Model   string
}

// Push holds the settings of `cco box push`.
type Push struct {
	Timeout  time.Duration // of the agent's whole run; 0 is none
	Depth    int           // commits of history that are sent; 0 is all
	Headless bool
	// IdleTimeout ends an agent that is silent for so long; 0 is never.
	IdleTimeout time.Duration
	// MaxWait is how long one run may wait, in all, for a model that is down or a limit that resets.
	MaxWait time.Duration
}

// Terminal says what agents may do on the user's own terminal, and which key leaves them.
type Terminal struct {
	Clipboard bool // agents may write it
	DetachKey vt.Key
}

// Spending bounds what agents may use of their models: one run of a session, and all of them in a day. Zero is no
// bound.
type Spending struct {
	RunCost   float64 // dollars
	RunTokens int64
	DayCost   float64
	DayTokens int64
}

// Shared bounds what sessions may use together. Zero is no bound.
type Shared struct {
	Cost   float64 // dollars
	Tokens int64
}

// Pull holds the settings of `cco box pull`.
type Pull struct {
	Timeout   time.Duration
	Interval  time.Duration
	MaxBundle int64 // bytes
	MaxBlob   int64 // bytes, of one file
	Policy    gate.Policy
}

// Graveyard says for how long what was removed stays.
type Graveyard struct {
	Days int   // 0 keeps nothing
	Size int64 // bytes
}

// Notify says what happens when a session ends or waits for its user.
type Notify struct {
	OnDone    Command
	OnWaiting Command
	Bell      bool
}

// The ways in which git is bound to the workspace.
const (
	gitEnvWrapper = "wrapper" // the same where the kernel does not hold, with a git first on PATH that frees calls
	GitEnvPlain   = "plain"   // GIT_DIR and GIT_WORK_TREE in the agent's environment, in every box
)

// Guard holds the settings of the guard.
type Guard struct {
	GitEnv string
	// Show names variables and paths of the user's that a cage shows, such as a login that an agent is to have.
	Show []string
	// Sockets names agents of keys whose sockets a cage shows.
	Sockets []string
	Cage    string // what holds an agent in a cage
}

// cageAuto is the best cage that a machine has.
const cageAuto = "auto"

// Cages are what can hold an agent on the user's own worktree.
func Cages() []string { return []string{cageAuto, "namespaces", "landlock", "seatbelt"} }

// Sockets are the agents of keys that a cage can show.
func Sockets() []string { return []string{"ssh-agent"} }

// Command is a program that the user named: as argv, or as a line of shell.
type Command struct {
	Argv  []string
	Shell string
}

// Args is the argv to start, nil where nothing was set.
func (c Command) Args() []string {
	if c.Shell != "" {
		return []string{"sh", "-c", c.Shell}
	}
	return c.Argv
}

// defaults is what holds if no source says anything.
func defaults() Config {
	return Config{
		Box:       Box{Name: "cco-sandbox"},
		Agent:     Agent{Default: roster.Default},
		Push:      Push{IdleTimeout: 30 * time.Minute, MaxWait: 6 * time.Hour},
		Pull:      Pull{Timeout: 30 * time.Minute, Interval: 3 * time.Second, MaxBundle: 2 << 30, MaxBlob: 100 << 20},
		Notify:    Notify{Bell: true},
		Graveyard: Graveyard{Days: 30, Size: 10 << 30},
		Guard:     Guard{GitEnv: gitEnvWrapper, Cage: cageAuto},
		Terminal:  Terminal{DetachKey: ']'},
		Worker:    Worker{Slots: 100},
		Engine:    Engine{BundleMax: 256 << 20},
		Limits:    Spending{RunCost: 10, RunTokens: 20_000_000, DayCost: 50, DayTokens: 100_000_000},
		MCP:       Shared{Cost: 10, Tokens: 20_000_000},
	}
}

// Error is a setting that can't be used: where it is, and what is wrong with it.
type Error struct {
	File string // or the name of an environment variable
	Line int    // 0 where there is none
	Key  string
	Err  error
}

func (e *Error) Error() string { return place(e.File, e.Line, e.Key) + safetext.Line(e.Err.Error()) }

func (e *Error) Unwrap() error { return e.Err }

// Warning is a setting of an untrusted repository that was not followed.
type Warning struct {
	File string
	Line int
	Key  string
	Text string
	// Final says that trusting the file changes nothing about it.
	Final bool
}

func (w Warning) String() string {
	s := place(w.File, w.Line, w.Key) + safetext.Line(w.Text)
	if w.Final {
		return s + "; ignored"
	}
	return s + "; ignored until you accept the file with `cco trust`"
}

func place(file string, line int, key string) string {
	s := safetext.Line(file)
	if line > 0 {
		s += fmt.Sprintf(":%d", line)
	}
	if key != "" {
		s += ": " + safetext.Line(key)
	}
	return s + ": "
}

// Dirs are the places that belong to cco.
type Dirs struct {
	Data   string
	Config string
}

// File is the user's own settings file.
func (d Dirs) File() string { return filepath.Join(d.Config, "config.toml") }

// Paths finds cco's places. Relative XDG values are ignored, as the XDG specification demands.
func Paths(env func(string) string, home string) (Dirs, error) {
	find := func(name string, below ...string) (string, error) {
		if dir := env(name); filepath.IsAbs(dir) {
			return filepath.Join(dir, "cco"), nil
		}
		if !filepath.IsAbs(home) {
			return "", fmt.Errorf("home directory %q is not absolute: set HOME or %s", home, name)
		}
		return filepath.Join(append(append([]string{home}, below...), "cco")...), nil
	}
	data, err := find("XDG_DATA_HOME", ".local", "share")
	if err != nil {
		return Dirs{}, err
	}
	conf, err := find("XDG_CONFIG_HOME", ".config")
	if err != nil {
		return Dirs{}, err
	}
	return Dirs{Data: data, Config: conf}, nil
}
