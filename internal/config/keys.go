package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/vt"
)

// key is one setting: its name in the file, what it is for, how its value is read and shown, and how far an untrusted
// repository may change it.
type key struct {
	name  string
	env   string // the variable that overrides the files, if there is one
	about string // in a few words, for help
	value
	// tighten applies the parts of want that are tighter than c, and says what it left out, "" for nothing. It is nil if
	// the key can't be compared, or only the user may set it.
	tighten func(c *Config, want Config, s Sources) string
}

// keys is every setting that there is. A list in a repository's file is the complete list that it wants; an untrusted
// repository gets only the entries that the user has too.
func keys(backends []box.Backend) []key {
	return slices.Concat([]key{
		{"box.backend", "CCO_BACKEND", "what isolates boxes; by default what suits the machine",
			among(func(c *Config) *string { return &c.Box.Backend }, "backend", names(backends)),
			tightenBackend},
		// Not even a box that looks tighter: boxes of other names may have been created with anything.
		{"box.name", "CCO_BOX", "the box that commands mean if none is named",
			text(func(c *Config) *string { return &c.Box.Name }), nil},
		{"box.mounts", "", "directories that boxes see at the same path, read-only without :rw",
			value{set: setMounts, get: getMounts}, tightenMounts},
		{"box.caches", "", "directories below home that last as long as the box",
			caches(func(c *Config) *[]string { return &c.Box.Caches }),
			fewer(func(c *Config) *[]string { return &c.Box.Caches })},
		{"box.seed", "", "caches that start as copies of yours",
			caches(func(c *Config) *[]string { return &c.Box.Seed }),
			fewer(func(c *Config) *[]string { return &c.Box.Seed })},
		{"box.env", "", "variables in boxes",
			value{set: setEnv, get: func(c *Config) any { return pairs(c.Box.Env) }}, nil},
		{"box.setup", "", "shell commands that provision a box",
			texts(func(c *Config) *[]string { return &c.Box.Setup }), nil},
		{"box.accept", "", "weaker modes of isolation that you accept by name",
			texts(func(c *Config) *[]string { return &c.Box.Accept }),
			fewer(func(c *Config) *[]string { return &c.Box.Accept })},
		{"box.limits.memory", "", "memory of one run",
			size(func(c *Config) *int64 { return &c.Box.Limits.Memory }),
			within(func(c *Config) *int64 { return &c.Box.Limits.Memory }, func(l Limits) int64 { return l.Memory })},
		{"box.limits.procs", "", "processes of one run",
			count(func(c *Config) *int { return &c.Box.Limits.Procs }),
			within(func(c *Config) *int { return &c.Box.Limits.Procs }, func(l Limits) int { return l.Procs })},
		{"box.limits.time", "", "time of one run",
			duration(func(c *Config) *time.Duration { return &c.Box.Limits.Time }),
			within(func(c *Config) *time.Duration { return &c.Box.Limits.Time },
				func(l Limits) time.Duration { return l.Time })},

		{"agent.default", "CCO_AGENT", "the agent that carries out plans",
			text(func(c *Config) *string { return &c.Agent.Default }).meaning(agents()), nil},
		{"agent.model", "CCO_MODEL", "its model; by default the agent's own choice",
			text(func(c *Config) *string { return &c.Agent.Model }), nil},

		{"agents", "", "agents of your own that speak the Agent Client Protocol, a table for each",
			value{set: setAgents, get: getAgents}, nil},

		{"push.timeout", "CCO_PUSH_TIMEOUT", "end an agent after this time",
			duration(func(c *Config) *time.Duration { return &c.Push.Timeout }),
			smaller(func(c *Config) *time.Duration { return &c.Push.Timeout })},
		{"push.depth", "", "how many commits of history are sent; by default all",
			count(func(c *Config) *int { return &c.Push.Depth }),
			smaller(func(c *Config) *int { return &c.Push.Depth })},
		{"push.headless", "", "run agents without a terminal",
			flag(func(c *Config) *bool { return &c.Push.Headless }), nil},
		{"push.idle_timeout", "", "end an agent of which nothing is heard for this time",
			endless(func(c *Config) *time.Duration { return &c.Push.IdleTimeout }),
			bounded(func(c *Config) *time.Duration { return &c.Push.IdleTimeout })},
		{"push.max_wait", "", "how long a run waits in all for a model that fails",
			duration(func(c *Config) *time.Duration { return &c.Push.MaxWait }),
			smaller(func(c *Config) *time.Duration { return &c.Push.MaxWait })},

		{"pull.timeout", "CCO_PULL_TIMEOUT", "how long a pull waits for a session",
			duration(func(c *Config) *time.Duration { return &c.Pull.Timeout }),
			smaller(func(c *Config) *time.Duration { return &c.Pull.Timeout })},
		{"pull.interval", "CCO_PULL_INTERVAL", "how often a pull looks",
			duration(func(c *Config) *time.Duration { return &c.Pull.Interval }), nil},
		{"pull.max_bundle", "", "the most that a session may bring",
			size(func(c *Config) *int64 { return &c.Pull.MaxBundle }),
			smaller(func(c *Config) *int64 { return &c.Pull.MaxBundle })},
		{"pull.max_blob", "", "the largest file that a session may bring",
			size(func(c *Config) *int64 { return &c.Pull.MaxBlob }),
			smaller(func(c *Config) *int64 { return &c.Pull.MaxBlob })},
		{"pull.refuse", "", "kinds of change that are refused",
			kindsOf(func(p *gate.Policy) *[]gate.Kind { return &p.Refuse }),
			stricter(func(p gate.Policy) gate.Policy { return gate.Policy{Refuse: p.Refuse} })},
		{"pull.ask", "", "kinds of change that need your consent",
			kindsOf(func(p *gate.Policy) *[]gate.Kind { return &p.Ask }),
			stricter(func(p gate.Policy) gate.Policy { return gate.Policy{Ask: p.Ask} })},
		{"pull.tell", "", "kinds of change that are only told of",
			kindsOf(func(p *gate.Policy) *[]gate.Kind { return &p.Tell }),
			stricter(func(p gate.Policy) gate.Policy { return gate.Policy{Tell: p.Tell} })},

		{"graveyard.days", "", "how many days what was removed stays; 0 keeps nothing",
			value{set: reader(func(c *Config) *int { return &c.Graveyard.Days }, asDays),
				get: func(c *Config) any { return c.Graveyard.Days }}, nil},
		{"graveyard.size", "", "how much room that may take; what exists nowhere else is never removed for it",
			size(func(c *Config) *int64 { return &c.Graveyard.Size }), nil},

		{"notify.on_done", "", "a command to run when a session ends",
			command(func(c *Config) *Command { return &c.Notify.OnDone }), nil},
		{"notify.on_waiting", "", "a command to run when a session asks",
			command(func(c *Config) *Command { return &c.Notify.OnWaiting }), nil},
		{"notify.bell", "", "ring the terminal's bell",
			flag(func(c *Config) *bool { return &c.Notify.Bell }), nil},

		{"terminal.clipboard", "", "let agents write your clipboard",
			flag(func(c *Config) *bool { return &c.Terminal.Clipboard }), nil},
		{"terminal.detach_key", "", "the key that leaves an agent's terminal",
			value{set: parsed(func(c *Config) *vt.Key { return &c.Terminal.DetachKey }, asText, vt.ParseKey),
				get: getDetachKey}, nil},

		// Neither is tighter than the other: one holds in more cases, the other breaks what agents need.
		{"guard.git_env", "", "how git is bound to the workspace: plain sets GIT_DIR and GIT_WORK_TREE in every box",
			among(func(c *Config) *string { return &c.Guard.GitEnv }, "way",
				[]string{gitEnvWrapper, GitEnvPlain}), nil},
		{"guard.show", "", "variables and paths of yours that an agent in a cage sees, such as GH_TOKEN or ~/.config/gh",
			texts(func(c *Config) *[]string { return &c.Guard.Show }), nil},

		{"guard.sockets", "", "agents of keys whose sockets an agent in a cage reaches",
			several(func(c *Config) *[]string { return &c.Guard.Sockets }, Sockets()), nil},
		{"guard.cage", "", "what holds an agent in a cage; by default the best that there is",
			among(func(c *Config) *string { return &c.Guard.Cage }, "cage", Cages()), nil},

		{"cruise.model", "CCO_CRUISE_MODEL", "the model that names phases; by default a small one",
			text(func(c *Config) *string { return &c.Cruise.Model }), nil},
		{"cruise.bots", "", "accounts on forges that are programs, and give no work",
			texts(func(c *Config) *[]string { return &c.Cruise.Bots }), nil},

		{"engine.database", "", "the PostgreSQL that machines share, like postgres://cco@db.example/cco; by default none",
			value{set: reader(func(c *Config) *string { return &c.Engine.Database }, asDatabase),
				get: unlessZero(func(c *Config) *string { return &c.Engine.Database }, same)}, nil},
		{"engine.password", "", "where its password is: env, file, keyring or command",
			value{set: setPassword, get: func(c *Config) any { return keyTable(c.Engine.Password) }}, nil},
		{"engine.accept", "", "weaker connections to it that you accept by name",
			several(func(c *Config) *[]string { return &c.Engine.Accept }, WeakConnections()), nil},
		{"engine.bundle_max", "", "how large the commits of a phase may be that are kept for other machines",
			size(func(c *Config) *int64 { return &c.Engine.BundleMax }), nil},
		{"engine.bundles", "", "a directory that all machines have, for such commits; by default the database",
			value{set: setBundles, get: unlessZero(func(c *Config) *string { return &c.Engine.Bundles }, same)}, nil},

		{"worker.slots", "", "how many phases of a shared database this machine holds at most",
			count(func(c *Config) *int { return &c.Worker.Slots }), nil},
		{"worker.labels", "", "names for what this machine has, which `cco cruise start --on` asks for",
			value{set: reader(func(c *Config) *[]string { return &c.Worker.Labels }, asLabels),
				get: func(c *Config) any { return listOf(c.Worker.Labels) }}, nil},

		{"view.hosts", "", "names of tunnels under which browsers reach the page of `cco view`",
			texts(func(c *Config) *[]string { return &c.View.Hosts }), nil},

		{"mcp.cost", "", "dollars that all sessions together may cost which one `cco mcp` starts",
			dollars(func(c *Config) *float64 { return &c.MCP.Cost }),
			bounded(func(c *Config) *float64 { return &c.MCP.Cost })},
		{"mcp.tokens", "", "tokens that they may use",
			tokens(func(c *Config) *int64 { return &c.MCP.Tokens }),
			bounded(func(c *Config) *int64 { return &c.MCP.Tokens })},

		{"limits.run_cost", "", "dollars that one run may cost",
			dollars(func(c *Config) *float64 { return &c.Limits.RunCost }),
			bounded(func(c *Config) *float64 { return &c.Limits.RunCost })},
		{"limits.run_tokens", "", "tokens that one run may use",
			tokens(func(c *Config) *int64 { return &c.Limits.RunTokens }),
			bounded(func(c *Config) *int64 { return &c.Limits.RunTokens })},
		{"limits.day_cost", "", "dollars that all runs of a day may cost",
			dollars(func(c *Config) *float64 { return &c.Limits.DayCost }),
			bounded(func(c *Config) *float64 { return &c.Limits.DayCost })},
		{"limits.day_tokens", "", "tokens that all runs of a day may use",
			tokens(func(c *Config) *int64 { return &c.Limits.DayTokens }),
			bounded(func(c *Config) *int64 { return &c.Limits.DayTokens })},

		{"network.mode", "CCO_NETWORK", "what may leave boxes",
			among(func(c *Config) *string { return &c.Network.Mode }, "mode", networkModes()),
			tightenNetworkMode},
		{"network.allow", "", "hosts that every box may reach",
			texts(func(c *Config) *[]string { return &c.Network.Allow }),
			fewer(func(c *Config) *[]string { return &c.Network.Allow })},
		{"network.sets", "", "tools whose hosts every box may reach",
			sets(func(c *Config) *[]string { return &c.Network.Sets }),
			fewer(func(c *Config) *[]string { return &c.Network.Sets })},
		{"network.record_bodies", "", "record the text of model requests too",
			flag(func(c *Config) *bool { return &c.Network.RecordBodies }), tightenRecord},
	}, ownKeys(backends), modelKeys())
}

// agents are those that cco can start: it installs them, or they are part of it.
func agents() (names []string) {
	for _, r := range roster.All() {
		if r.Package.Name != "" || len(r.Programs) == 0 {
			names = append(names, r.Name)
		}
	}
	return names
}

// tightenMounts keeps only directories that the user named exactly like this. One below them doesn't count: if an agent
// can write there, it could be a link to anything.
func tightenMounts(c *Config, want Config, _ Sources) string {
	var kept []Mount
	var refused []string
	for _, m := range want.Box.Mounts {
		i := slices.IndexFunc(c.Box.Mounts, func(u Mount) bool { return u.Path == m.Path })
		if i < 0 {
			refused = append(refused, m.Path+" isn't among your mounts")
			continue
		}
		if m.Write && !c.Box.Mounts[i].Write {
			refused = append(refused, m.Path+" is read-only among your mounts")
			m.Write = false
		}
		kept = append(kept, m)
	}
	c.Box.Mounts = kept
	return strings.Join(refused, ", ")
}

// fewer keeps those entries of a list that the user has too.
func fewer(at func(*Config) *[]string) func(*Config, Config, Sources) string {
	return func(c *Config, want Config, _ Sources) string {
		var kept, refused []string
		for _, s := range *at(&want) {
			switch {
			case !slices.Contains(*at(c), s):
				refused = append(refused, fmt.Sprintf("%q isn't among yours", s))
			case !slices.Contains(kept, s):
				kept = append(kept, s)
			}
		}
		*at(c) = kept
		return strings.Join(refused, ", ")
	}
}

// kindsOf reads kinds of changes.
func kindsOf(at func(*gate.Policy) *[]gate.Kind) value {
	return value{set: func(c *Config, v any, _ string) error {
		names, err := asTexts(v)
		if err != nil {
			return err
		}
		*at(&c.Pull.Policy), err = gate.ParseKinds(names)
		return err
	}, get: func(c *Config) any { return listOf(*at(&c.Pull.Policy)) }, words: listed(gate.Kinds())}
}

// stricter takes what is stricter than the user's for each kind that is named.
func stricter(part func(gate.Policy) gate.Policy) func(*Config, Config, Sources) string {
	return func(c *Config, want Config, _ Sources) string {
		tight, milder := c.Pull.Policy.Tighten(part(want.Pull.Policy))
		var refused []string
		for _, k := range milder {
			refused = append(refused, fmt.Sprintf("yours is to %s %s", c.Pull.Policy.Response(k), k))
		}
		c.Pull.Policy = tight
		return strings.Join(refused, ", ")
	}
}

// smaller takes a number that is below the user's; zero means no bound.
func smaller[T cmp.Ordered](at func(*Config) *T) func(*Config, Config, Sources) string {
	return func(c *Config, want Config, _ Sources) string {
		var none T
		if has := *at(c); has != none && *at(&want) > has {
			return fmt.Sprintf("is more than your %v", has)
		}
		*at(c) = *at(&want)
		return ""
	}
}

// within takes a limit that is below the user's, or below the default if the user sets none.
func within[T cmp.Ordered](at func(*Config) *T, fallback func(Limits) T) func(*Config, Config, Sources) string {
	return func(c *Config, want Config, s Sources) string {
		var unknown T
		has := cmp.Or(*at(c), fallback(s.Limits))
		if has == unknown {
			return "you have set none to compare it with"
		}
		if *at(&want) > has {
			return fmt.Sprintf("is more than your %v", has)
		}
		*at(c) = *at(&want)
		return ""
	}
}
