// Package config reads settings: the user's own file, the environment above it, and a repository's file,
// which may tighten what the user set and loosen it only after the user has trusted its present content.
package config

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/vt"
)

// RepoFile is the name of the settings that a repository carries at its root.
const RepoFile = ".cco.toml"

// Config is the result of all sources. Each command applies its flags to it. The tags of a field are its setting:
//
//	toml    its name in files, below that of the struct that it is in
//	env     the variable that overrides files
//	about   what it is for, in a few words
//	as      how it is written, where its type doesn't say that (forms)
//	of      the list that it is a word of (lists)
//	each    the list of the names that a map has entries for (lists)
//	tighten how far an untrusted repository may change it (tighteners); not at all without one
//	only    "user" where no repository makes it, trusted or not: it says what is run or where keys go
//
// The order is that of help.
type Config struct {
	Box    Box                 `toml:"box"`
	Agent  Agent               `toml:"agent"`
	Agents map[string]OwnAgent `toml:"agents" about:"agents of your own that speak the Agent Client Protocol, a table for each" only:"user"`
	Push   Push                `toml:"push"`
	Pull   Pull                `toml:"pull"`

	Graveyard Graveyard `toml:"graveyard" only:"user"`
	Notify    Notify    `toml:"notify"`
	Terminal  Terminal  `toml:"terminal" only:"user"`

	Guard  Guard    `toml:"guard"`
	Cruise Cruise   `toml:"cruise"`
	Engine Engine   `toml:"engine" only:"user"`
	Worker Worker   `toml:"worker" only:"user"`
	View   View     `toml:"view"`
	Editor Editor   `toml:"editor" only:"user"`
	MCP    Shared   `toml:"mcp"`
	Limits Spending `toml:"limits"`

	Network Network `toml:"network"`
	// Keys of models, and Gateways to them, by the names of their providers.
	Keys map[string]Key `toml:"keys" as:"model key" each:"provider" about:"where the key for %s is: env, file, keyring or command" only:"user"`

	Gateways map[string]string `toml:"gateways" each:"provider" as:"url" about:"the address of a gateway to %s, or of a model that speaks as it does" only:"user"`
}

// OwnAgent is an agent of the user's own that speaks the Agent Client Protocol.
type OwnAgent struct {
	ACP      []string          `toml:"acp"` // what is started
	Env      map[string]string `toml:"env"`
	Files    map[string]string `toml:"files"`
	Mode     string            `toml:"mode"`
	Model    string            `toml:"model"`
	NPM      []string          `toml:"npm"`      // packages with their exact versions
	Provider string            `toml:"provider"` // whose model it asks
}

// Editor says what `cco acp` lets an editor do.
type Editor struct {
	Servers   []string `toml:"servers" about:"MCP servers of your editor that run in boxes"`
	Variables []string `toml:"variables" about:"those of their variables that they get there"`
}

// View says how the page is served.
type View struct {
	Hosts []string "toml:\"hosts\" about:\"names of tunnels under which browsers reach the page of `cco view`\""
}

// Cruise says how phases are run.
type Cruise struct {
	Model string `toml:"model" env:"CCO_CRUISE_MODEL" about:"the model that names phases; by default a small one"`
	// How often a phase looks at its request: 5 seconds to 300 where they are 0.
	PollMin time.Duration `toml:"poll_min" about:"how soon a phase looks at its request again after news; by default 5s"`
	PollMax time.Duration `toml:"poll_max" about:"how long it waits at most without news; by default 5m"`
	Bots    []string      `toml:"bots" about:"accounts on forges that are programs, and give no work"`
}

// Engine says where phases live.
type Engine struct {
	// Temporal is host:port of the service that gives phases to machines; "" runs them here.
	Temporal string `toml:"temporal" as:"address" about:"the Temporal service that gives phases to machines, as host:port; by default none"`

	Namespace string   `toml:"namespace" about:"the namespace of phases there"`
	APIKey    Key      `toml:"api_key" about:"where the key of an account there is: env, file, keyring or command"`
	CA        string   `toml:"ca" as:"file" about:"a file with the authority that vouches for the service; by default those of the system"`
	Cert      string   `toml:"cert" as:"file" about:"a file with the certificate that this machine shows it"`
	Own       string   `toml:"cert_key" as:"file" about:"a file with the key of that certificate"`
	Accept    []string `toml:"accept" of:"connection" about:"weaker connections to it that you accept by name"`

	Heartbeat time.Duration `toml:"heartbeat" as:"heartbeat" about:"how long a machine may be silent before others go on with its phases"`
}

// Worker says which of the phases that machines share this one takes.
type Worker struct {
	Name   string   `toml:"name" as:"label" about:"the name of this machine among those that share phases; by default its host's"`
	Slots  int      `toml:"slots" about:"how many phases that machines share this one holds at most"`
	Labels []string "toml:\"labels\" as:\"labels\" about:\"names for what this machine has, which `cco cruise start --on` asks for\""
}

// Box says how boxes are made, and which one is the default.
type Box struct {
	Backend string `toml:"backend" env:"CCO_BACKEND" of:"backend" tighten:"backend" about:"what isolates boxes; by default what suits the machine"`
	// Name can't even be one of a box that looks tighter: boxes of other names may have been created with anything.
	Name   string   `toml:"name" env:"CCO_BOX" about:"the box that commands mean if none is named"`
	Mounts []Mount  `toml:"mounts" tighten:"mounts" about:"directories that boxes see at the same path, read-only without :rw"`
	Caches []string `toml:"caches" as:"caches" tighten:"fewer" about:"directories below home that last as long as the box"` // slash-separated, below home
	Seed   []string `toml:"seed" as:"caches" tighten:"fewer" about:"caches that start as copies of yours"`
	Env    []string `toml:"env" as:"variables" about:"variables in boxes"` // KEY=value, sorted
	Setup  []string `toml:"setup" about:"shell commands that provision a box"`
	Accept []string `toml:"accept" tighten:"fewer" about:"weaker modes of isolation that you accept by name"`
	Limits Limits   `toml:"limits"`

	Own box.Values // of backends' own settings
}

// Mount is a host directory that a box sees at the same path. Path is absolute and clean.
type Mount struct {
	Path  string
	Write bool
}

// Limits bound one run. Zero is the box's default. The type converts to box.Limits.
type Limits struct {
	Memory int64         `toml:"memory" tighten:"within" about:"memory of one run"`
	Procs  int           `toml:"procs" tighten:"within" about:"processes of one run"`
	Time   time.Duration `toml:"time" tighten:"within" about:"time of one run"`
}

// Agent says which agent carries out a plan, and with which model ("" is the agent's own default).
type Agent struct {
	Default string `toml:"default" env:"CCO_AGENT" as:"string" of:"agent" about:"the agent that carries out plans"`
	Model   string `toml:"model" env:"CCO_MODEL" about:"its model; by default the agent's own choice"`
}

// Push holds the settings of `cco box push`. Zero bounds nothing.
type Push struct {
	Timeout  time.Duration `toml:"timeout" env:"CCO_PUSH_TIMEOUT" tighten:"smaller" about:"end an agent after this time"`
	Depth    int           `toml:"depth" tighten:"smaller" about:"how many commits of history are sent; by default all"`
	Headless bool          `toml:"headless" about:"run agents without a terminal"`

	IdleTimeout time.Duration `toml:"idle_timeout" as:"endless" tighten:"smaller" about:"end an agent of which nothing is heard for this time"`
	MaxWait     time.Duration `toml:"max_wait" tighten:"smaller" about:"how long a run waits in all for a model that fails"`
}

// Terminal says what agents may do on the user's own terminal, and which key leaves them.
type Terminal struct {
	Clipboard bool   `toml:"clipboard" about:"let agents write your clipboard"`
	DetachKey vt.Key `toml:"detach_key" about:"the key that leaves an agent's terminal"`
}

// Spending bounds what agents may use of their models: one run of a session, and all of them in a day. Zero is no
// bound.
type Spending struct {
	RunCost   float64 `toml:"run_cost" tighten:"smaller" about:"dollars that one run may cost"`
	RunTokens int64   `toml:"run_tokens" as:"tokens" tighten:"smaller" about:"tokens that one run may use"`
	DayCost   float64 `toml:"day_cost" tighten:"smaller" about:"dollars that all runs of a day may cost"`
	DayTokens int64   `toml:"day_tokens" as:"tokens" tighten:"smaller" about:"tokens that all runs of a day may use"`
}

// Shared bounds what sessions may use together. Zero is no bound.
type Shared struct {
	Cost   float64 "toml:\"cost\" tighten:\"smaller\" about:\"dollars that all sessions together may cost which one `cco mcp` starts\""
	Tokens int64   `toml:"tokens" as:"tokens" tighten:"smaller" about:"tokens that they may use"`
}

// Pull holds the settings of `cco box pull`.
type Pull struct {
	Timeout   time.Duration `toml:"timeout" env:"CCO_PULL_TIMEOUT" tighten:"smaller" about:"how long a pull waits for a session"`
	Interval  time.Duration `toml:"interval" env:"CCO_PULL_INTERVAL" about:"how often a pull looks"`
	MaxBundle int64         `toml:"max_bundle" tighten:"smaller" about:"the most that a session may bring"`
	MaxBlob   int64         `toml:"max_blob" tighten:"smaller" about:"the largest file that a session may bring"`

	Policy gate.Policy // its fields are settings of a pull too
}

// Graveyard says for how long what was removed stays.
type Graveyard struct {
	Days int   `toml:"days" as:"days" about:"how many days what was removed stays; 0 keeps nothing"`
	Size int64 `toml:"size" about:"how much room that may take; what exists nowhere else is never removed for it"`
}

// Notify says what happens when a session ends or waits for its user.
type Notify struct {
	OnDone    Command `toml:"on_done" about:"a command to run when a session ends"`
	OnWaiting Command `toml:"on_waiting" about:"a command to run when a session asks"`
	Bell      bool    `toml:"bell" about:"ring the terminal's bell"`
}

// The ways in which git is bound to the workspace.
const (
	gitEnvWrapper = "wrapper" // the same where the kernel does not hold, with a git first on PATH that frees calls
	GitEnvPlain   = "plain"   // GIT_DIR and GIT_WORK_TREE in the agent's environment, in every box
)

// cageAuto is the best cage that a machine has.
const cageAuto = "auto"

// Cages are what can hold an agent on the user's own worktree.
func Cages() []string { return []string{cageAuto, "namespaces", "landlock", "seatbelt"} }

// Sockets are the agents of keys that a cage can show.
func Sockets() []string { return []string{"ssh-agent"} }

// Guard holds the settings of the guard.
type Guard struct {
	// Neither way is tighter than the other: one holds in more cases, the other breaks what agents need.
	GitEnv  string   `toml:"git_env" of:"way" about:"how git is bound to the workspace: plain sets GIT_DIR and GIT_WORK_TREE in every box"`
	Show    []string `toml:"show" about:"variables and paths of yours that an agent in a cage sees, such as GH_TOKEN or ~/.config/gh"`
	Sockets []string `toml:"sockets" of:"socket" about:"agents of keys whose sockets an agent in a cage reaches"`
	Cage    string   `toml:"cage" of:"cage" about:"what holds an agent in a cage; by default the best that there is"`
}

// Network says what may leave a box.
type Network struct {
	Mode  string        `toml:"mode" env:"CCO_NETWORK" of:"mode" tighten:"mode" about:"what may leave boxes"` // "" is allowlist
	Allow []broker.Rule `toml:"allow" tighten:"fewer" about:"hosts that every box may reach"`
	Sets  []string      `toml:"sets" of:"set" tighten:"fewer" about:"tools whose hosts every box may reach"`

	RecordBodies bool `toml:"record_bodies" tighten:"record" about:"record the text of model requests too"`
}

// Key says where a model's key is. Exactly one of its sources is set; the zero value has none.
type Key struct {
	Env     string  `toml:"env" as:"variable"`
	File    string  `toml:"file" as:"file"` // absolute
	Keyring string  `toml:"keyring"`
	Command Command `toml:"command"`
	Bearer  bool    `toml:"bearer"` // it travels as Authorization: Bearer
}

// IsZero says whether nothing was set.
func (k Key) IsZero() bool {
	return k.Env == "" && k.File == "" && k.Keyring == "" && len(k.Command.Args()) == 0
}

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
		Engine:    Engine{Namespace: "default", Heartbeat: 30 * time.Second},
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
