package config

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/box"
)

// tightener applies the parts of want that are tighter than c, and says what it left out, "" for nothing.
type tightener func(k key, c *Config, want Config, s Sources) string

// tighteners are how far an untrusted repository may change a setting.
var tighteners = map[string]tightener{
	"backend":  tightenBackend,
	"fewer":    fewer,
	"mode":     tightenMode,
	"mounts":   tightenMounts,
	"record":   tightenRecord,
	"smaller":  smaller,
	"stricter": stricter,
	"within":   within,
}

// smaller takes a bound that is below the user's. Zero is no bound, and so above every other.
func smaller(k key, c *Config, want Config, _ Sources) string {
	return below(k.of(c), k.of(c), k.of(&want))
}

// within takes a limit that is below the user's, or below the default if the user sets none.
func within(k key, c *Config, want Config, s Sources) string {
	has := k.of(c)
	if has.IsZero() {
		has = reflect.ValueOf(s.Limits).Field(k.field[len(k.field)-1])
	}
	if has.IsZero() {
		return "you have set none to compare it with"
	}
	return below(k.of(c), has, k.of(&want))
}

func below(at, has, asks reflect.Value) string {
	more := has.CanInt() && asks.Int() > has.Int() || has.CanFloat() && asks.Float() > has.Float()
	if !has.IsZero() && (more || asks.IsZero()) {
		return fmt.Sprintf("is more than your %v", has)
	}
	at.Set(asks)
	return ""
}

// fewer keeps those entries of a list that the user has too.
func fewer(k key, c *Config, want Config, _ Sources) string {
	mine, asks := k.of(c), k.of(&want)
	kept := reflect.Zero(asks.Type())
	var refused []string
	for _, v := range asks.Seq2() {
		switch {
		case !contains(mine, v):
			refused = append(refused, fmt.Sprintf("%q isn't among yours", v))
		case !contains(kept, v):
			kept = reflect.Append(kept, v)
		}
	}
	mine.Set(kept)
	return strings.Join(refused, ", ")
}

func contains(list, v reflect.Value) bool {
	for _, has := range list.Seq2() {
		if has.Equal(v) {
			return true
		}
	}
	return false
}

// stricter takes what is stricter than the user's for each kind that is named.
func stricter(k key, c *Config, want Config, _ Sources) string {
	var asks Config
	k.put(&asks, k.of(&want).Interface())
	tight, milder := c.Pull.Policy.Tighten(asks.Pull.Policy)
	var refused []string
	for _, kind := range milder {
		refused = append(refused, fmt.Sprintf("yours is to %s %s", c.Pull.Policy.Response(kind), kind))
	}
	c.Pull.Policy = tight
	return strings.Join(refused, ", ")
}

// tightenBackend takes a backend that isolates as well as the user's, or better.
func tightenBackend(_ key, c *Config, want Config, s Sources) string {
	has := slices.IndexFunc(s.Backends, func(b box.Backend) bool {
		return b.Name == c.Box.Backend || c.Box.Backend == "" && b.System == runtime.GOOS
	})
	wants := slices.IndexFunc(s.Backends, func(b box.Backend) bool { return b.Name == want.Box.Backend })
	if has < 0 || wants < 0 {
		return "the backends can't be compared"
	}
	if s.Backends[wants].Strength < s.Backends[has].Strength {
		return fmt.Sprintf("%s isolates less than %s", want.Box.Backend, s.Backends[has].Name)
	}
	c.Box.Backend = want.Box.Backend
	return ""
}

// tightenMounts keeps only directories that the user named exactly like this. One below them doesn't count: if an agent
// can write there, it could be a link to anything.
func tightenMounts(_ key, c *Config, want Config, _ Sources) string {
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

// networkModes are what may leave boxes, the tightest first.
func networkModes() []string { return []string{"none", "allowlist", "open"} }

func tightenMode(_ key, c *Config, want Config, _ Sources) string {
	has := c.Network.Mode
	if has == "" {
		has = "allowlist"
	}
	if slices.Index(networkModes(), want.Network.Mode) > slices.Index(networkModes(), has) {
		return fmt.Sprintf("%s lets out more than %s", want.Network.Mode, has)
	}
	c.Network.Mode = want.Network.Mode
	return ""
}

// tightenRecord lets a repository ask for less recording.
func tightenRecord(_ key, c *Config, want Config, _ Sources) string {
	if want.Network.RecordBodies {
		return "keeps more than you do"
	}
	c.Network.RecordBodies = false
	return ""
}
