package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/door"
	"github.com/cco-dev/cco/internal/store"
)

// KeyError says that an agent has no key for its model, and where cco looked for one.
type KeyError struct {
	agent    string
	provider broker.Provider
	settings string
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("agent %s: no key for %s: none of %s is set. Set one of them, or say where the key is with "+
		"keys.%s in %s (`cco keys set %s` does), or set %s to a gateway on this machine that needs none",
		e.agent, e.provider.Name, strings.Join(e.provider.KeyVars, ", "), e.provider.Name, e.settings, e.provider.Name,
		e.provider.BaseVar)
}

// ClosedError says that an agent can't reach its model because its box has no network.
type ClosedError struct{ box, agent string }

func (e *ClosedError) Error() string {
	return fmt.Sprintf("box %s has no network (--network none), so that agent %s can't reach its model there; with "+
		"--network allowlist it reaches that and nothing else",
		e.box, e.agent)
}

// door says what a session may reach, and with which key. The key itself goes no further than the broker.
func (a *App) door(ctx context.Context, rec store.Session, b *box.Box) (c door.Config, err error) {
	cfg, err := a.ConfigIn(rec.Repo)
	if err != nil {
		return c, err
	}
	if c.Config, err = a.network(ctx, b, rec.Repo, cfg); err != nil {
		return c, err
	}
	ag, err := a.FindAgent(rec.Agent)
	if err != nil || ag.Provider() == "" {
		return c, err
	}
	if c.Mode == broker.ModeNone {
		return c, &ClosedError{b.Name, rec.Agent}
	}
	up, err := a.upstream(ag.Provider(), rec.Agent, cfg)
	if err != nil {
		return c, err
	}
	c.Models, c.Proxy = []broker.Upstream{up}, http.ProxyFromEnvironment
	if c.Prices, err = a.Prices(); err != nil {
		return c, err
	}
	if cfg.Network.RecordBodies {
		c.Bodies = filepath.Join(a.Dirs.Data, "sessions", rec.ID, "bodies.jsonl")
	}
	return c, err
}

// upstream is a model, and where its key is. The key is loaded only when the door opens.
func (a *App) upstream(provider, agentName string, cfg config.Config) (up broker.Upstream, err error) {
	if up.Provider, err = broker.FindProvider(provider); err != nil {
		return up, err
	}
	if base := a.gateway(up.Provider, cfg); base != "" {
		if up.Base, err = url.Parse(base); err != nil {
			return up, fmt.Errorf("%s: not a URL", up.Provider.BaseVar) // its error may hold a password
		}
	}
	source, found := a.keySource(up.Provider, cfg)
	if !found {
		if !loopback(up.Base) {
			return up, &KeyError{agentName, up.Provider, a.Dirs.File()}
		}
		return up, nil
	}
	up.Fetch = func(ctx context.Context) (broker.Key, error) { return broker.LoadKey(ctx, source, a.Env) }
	return up, source.Check(a.Env)
}

// gateway is the address at which a provider is reached, "" for its own: as its variable says, or else the user's
// settings.
func (a *App) gateway(p broker.Provider, cfg config.Config) string {
	return cmp.Or(a.Env(p.BaseVar), cfg.Gateways[p.Name])
}

// keySource is where a provider's key is: as the user's settings say, or else in the first of its variables that is
// set.
func (a *App) keySource(p broker.Provider, cfg config.Config) (broker.KeySource, bool) {
	if k := cfg.Keys[p.Name]; !k.IsZero() {
		return KeySource(k), true
	}
	i := slices.IndexFunc(p.KeyVars, func(name string) bool { return a.Env(name) != "" })
	if i < 0 {
		return broker.KeySource{}, false
	}
	return broker.KeySource{Env: p.KeyVars[i]}, true
}

// KeySource is where a secret is, as the settings say.
func KeySource(k config.Key) broker.KeySource {
	return broker.KeySource{Env: k.Env, File: k.File, Keyring: k.Keyring, Command: k.Command.Args(), Bearer: k.Bearer}
}

// loopback says whether an address is on this machine, where a model may need no key.
func loopback(u *url.URL) bool {
	if u == nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// Prices are those that cco knows, replaced or extended by the user's own.
func (a *App) Prices() (broker.Prices, error) {
	known, err := broker.DefaultPrices()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(a.Dirs.Config, "prices.toml")
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, err
	}
	own, err := broker.ParsePrices(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	known = slices.DeleteFunc(known, func(p broker.Price) bool {
		return slices.ContainsFunc(own, func(o broker.Price) bool { return o.Prefix == p.Prefix })
	})
	return append(known, own...), nil
}

// ConfigIn reads the settings that hold in a repository. The user was told at the push which of them were ignored.
func (a *App) ConfigIn(repo string) (config.Config, error) {
	c, _, err := config.Load(a.sources(repo))
	return c, err
}

// keyFiles are all files that hold keys, as far as the settings name them.
func keyFiles(cfg config.Config) (files []string) {
	for _, k := range cfg.Keys {
		if k.File != "" {
			files = append(files, k.File)
		}
	}
	if f := cfg.Engine.APIKey.File; f != "" {
		files = append(files, f)
	}
	return files
}
