package config

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/vt"
)

// key is one setting: its name in the file, how its value is read, and how far an untrusted repository may change it.
type key struct {
	name string
	env  string // the variable that overrides the files, if there is one
	set  func(c *Config, value any, home string) error
	// tighten applies the parts of want that are tighter than c, and says what it left out, "" for nothing. It is nil if
	// the key can't be compared, or only the user may set it.
	tighten func(c *Config, want Config, s Sources) string
}

// keys is every setting that there is. A list in a repository's file is the complete list that it wants; an untrusted
// repository gets only the entries that the user has too.
func keys() []key {
	return append([]key{
		{"box.backend", "CCO_BACKEND", among(func(c *Config) *string { return &c.Box.Backend }, "backend", backends()),
			tightenBackend},
		// Not even a box that looks tighter: boxes of other names may have been created with anything.
		{"box.name", "CCO_BOX", text(func(c *Config) *string { return &c.Box.Name }), nil},
		{"box.mounts", "", setMounts, tightenMounts},
		{"box.caches", "", setCaches, fewer(func(c *Config) *[]string { return &c.Box.Caches })},
		{"box.env", "", setEnv, nil},
		{"box.setup", "", texts(func(c *Config) *[]string { return &c.Box.Setup }), nil},
		{"box.accept", "", texts(func(c *Config) *[]string { return &c.Box.Accept }),
			fewer(func(c *Config) *[]string { return &c.Box.Accept })},
		{"box.limits.memory", "", size(func(c *Config) *int64 { return &c.Box.Limits.Memory }),
			within(func(c *Config) *int64 { return &c.Box.Limits.Memory }, func(l Limits) int64 { return l.Memory })},
		{"box.limits.procs", "", count(func(c *Config) *int { return &c.Box.Limits.Procs }),
			within(func(c *Config) *int { return &c.Box.Limits.Procs }, func(l Limits) int { return l.Procs })},
		{"box.limits.time", "", duration(func(c *Config) *time.Duration { return &c.Box.Limits.Time }),
			within(func(c *Config) *time.Duration { return &c.Box.Limits.Time },
				func(l Limits) time.Duration { return l.Time })},

		{"box.engine", "CCO_ENGINE", oneOf(func(c *Config) *string { return &c.Box.Engine }, "podman", "docker"), nil},
		{"box.runtime", "", text(func(c *Config) *string { return &c.Box.Runtime }), nil},
		{"box.image", "", text(func(c *Config) *string { return &c.Box.Image }), nil},
		{"box.image_tar", "", file(func(c *Config) *string { return &c.Box.ImageTar }), nil},
		{"box.cpus", "", count(func(c *Config) *int { return &c.Box.CPUs }), nil},
		{"box.memory", "", size(func(c *Config) *int64 { return &c.Box.Memory }), nil},
		{"box.disk", "", size(func(c *Config) *int64 { return &c.Box.Disk }), nil},
		{"box.template", "", file(func(c *Config) *string { return &c.Box.Template }), nil},
		{"box.provision.packages", "", setPackages, nil},
		{"box.provision.files", "", setProvisionFiles, nil},
		{"box.provision.scripts", "", setProvisionScripts, nil},
		{"box.provision.containers", "", flag(func(c *Config) *bool { return &c.Box.Provision.Containers }), nil},

		{"agent.default", "CCO_AGENT", text(func(c *Config) *string { return &c.Agent.Default }), nil},
		{"agent.model", "CCO_MODEL", text(func(c *Config) *string { return &c.Agent.Model }), nil},

		{"push.timeout", "CCO_PUSH_TIMEOUT", duration(func(c *Config) *time.Duration { return &c.Push.Timeout }),
			smaller(func(c *Config) *time.Duration { return &c.Push.Timeout })},
		{"push.depth", "", count(func(c *Config) *int { return &c.Push.Depth }),
			smaller(func(c *Config) *int { return &c.Push.Depth })},
		{"push.headless", "", flag(func(c *Config) *bool { return &c.Push.Headless }), nil},
		{"push.idle_timeout", "", endless(func(c *Config) *time.Duration { return &c.Push.IdleTimeout }),
			bounded(func(c *Config) *time.Duration { return &c.Push.IdleTimeout })},
		{"push.max_wait", "", duration(func(c *Config) *time.Duration { return &c.Push.MaxWait }),
			smaller(func(c *Config) *time.Duration { return &c.Push.MaxWait })},

		{"pull.timeout", "CCO_PULL_TIMEOUT", duration(func(c *Config) *time.Duration { return &c.Pull.Timeout }),
			smaller(func(c *Config) *time.Duration { return &c.Pull.Timeout })},
		{"pull.interval", "CCO_PULL_INTERVAL", duration(func(c *Config) *time.Duration { return &c.Pull.Interval }), nil},
		{"pull.max_bundle", "", size(func(c *Config) *int64 { return &c.Pull.MaxBundle }),
			smaller(func(c *Config) *int64 { return &c.Pull.MaxBundle })},
		{"pull.max_blob", "", size(func(c *Config) *int64 { return &c.Pull.MaxBlob }),
			smaller(func(c *Config) *int64 { return &c.Pull.MaxBlob })},

		{"notify.on_done", "", command(func(c *Config) *Command { return &c.Notify.OnDone }), nil},
		{"notify.on_waiting", "", command(func(c *Config) *Command { return &c.Notify.OnWaiting }), nil},
		{"notify.bell", "", flag(func(c *Config) *bool { return &c.Notify.Bell }), nil},

		{"terminal.clipboard", "", flag(func(c *Config) *bool { return &c.Terminal.Clipboard }), nil},
		{"terminal.detach_key", "",
			parsed(func(c *Config) *vt.Key { return &c.Terminal.DetachKey }, asText, vt.ParseKey), nil},

		// Neither is tighter than the other: one holds in more cases, the other breaks what agents need.
		{"guard.git_env", "", setGitEnv, nil},

		{"cruise.model", "CCO_CRUISE_MODEL", text(func(c *Config) *string { return &c.Cruise.Model }), nil},
		{"cruise.bots", "", texts(func(c *Config) *[]string { return &c.Cruise.Bots }), nil},

		{"limits.run_cost", "", dollars(func(c *Config) *float64 { return &c.Limits.RunCost }),
			bounded(func(c *Config) *float64 { return &c.Limits.RunCost })},
		{"limits.run_tokens", "", tokens(func(c *Config) *int64 { return &c.Limits.RunTokens }),
			bounded(func(c *Config) *int64 { return &c.Limits.RunTokens })},
		{"limits.day_cost", "", dollars(func(c *Config) *float64 { return &c.Limits.DayCost }),
			bounded(func(c *Config) *float64 { return &c.Limits.DayCost })},
		{"limits.day_tokens", "", tokens(func(c *Config) *int64 { return &c.Limits.DayTokens }),
			bounded(func(c *Config) *int64 { return &c.Limits.DayTokens })},

		{"network.mode", "CCO_NETWORK", among(func(c *Config) *string { return &c.Network.Mode }, "mode", networkModes()),
			tightenNetworkMode},
		{"network.allow", "", texts(func(c *Config) *[]string { return &c.Network.Allow }),
			fewer(func(c *Config) *[]string { return &c.Network.Allow })},
		{"network.sets", "", setNetworkSets, fewer(func(c *Config) *[]string { return &c.Network.Sets })},
		{"network.record_bodies", "", flag(func(c *Config) *bool { return &c.Network.RecordBodies }), tightenRecord},
	}, modelKeys()...)
}

// backends is every backend, from the weakest to the strongest isolation.
func backends() []string { return []string{"worktree", "container", "native", "lima"} }

func setGitEnv(c *Config, value any, _ string) error {
	s, err := asText(value)
	if err != nil {
		return err
	}
	if s != GitEnvWrapper && s != GitEnvPlain {
		return fmt.Errorf("no way %q; there are %s and %s", s, GitEnvWrapper, GitEnvPlain)
	}
	c.Guard.GitEnv = s
	return nil
}

func tightenBackend(c *Config, want Config, _ Sources) string {
	has := c.Box.Backend
	if has == "" {
		has = map[string]string{"darwin": "lima"}[runtime.GOOS]
		has = cmp.Or(has, "native")
	}
	if slices.Index(backends(), want.Box.Backend) < slices.Index(backends(), has) {
		return fmt.Sprintf("%s isolates less than %s", want.Box.Backend, has)
	}
	c.Box.Backend = want.Box.Backend
	return ""
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
