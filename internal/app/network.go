package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/broker/sets"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/door"
)

// sources are the files of the settings that hold in a repository; "" is none.
func (a *App) sources(repo string) config.Sources {
	s := config.Sources{UserFile: a.Dirs.File(), Env: a.Env, Home: a.Home, Backends: rows()}
	if repo != "" {
		s.RepoFile = filepath.Join(repo, config.RepoFile)
		s.Trusted = config.TrustedBy(a.Dirs.Data, s.RepoFile)
	}
	return s
}

// Permit is something that may leave a box, and who allowed it.
type Permit struct {
	Rule string `json:"rule"`
	From string `json:"from"`
}

// network says what may leave a box. The rules are read again for each decision.
func (a *App) network(ctx context.Context, b *box.Box, repo string, cfg config.Config) (c broker.Config, err error) {
	if c.Mode, err = a.mode(b, repo, cfg); err != nil || c.Mode == broker.ModeNone {
		return c, err
	}
	c.Page = a.pagePort
	if _, err := permits(b.Spec, cfg); err != nil {
		return c, err
	}
	boxes := a.records()
	c.Allowed = func() ([]broker.Rule, error) {
		spec := b.Spec
		if now, err := boxes.Record(b.Name); err == nil {
			spec = now.Spec
		} else if !errors.As(err, new(*box.NotFoundError)) { // it is being made
			return nil, err
		}
		cfg, err := a.ConfigIn(repo)
		if err != nil {
			return nil, err // closed, until somebody corrects the settings
		}
		list, err := permits(spec, cfg)
		if err != nil {
			return nil, err
		}
		rules := make([]broker.Rule, 0, len(list))
		for _, p := range list {
			rules = append(rules, p.rule)
		}
		return rules, nil
	}
	return c, nil
}

// PageFile says, in the data directory, where `cco view` serves its page.
const PageFile = "view/address.json"

// PageAddress is where a person reaches the page: by the first name of a tunnel, if there is one, since what they read
// this on may be elsewhere.
func PageAddress(address string, hosts []string) string {
	if len(hosts) == 0 {
		return address
	}
	name, _, err := net.SplitHostPort(hosts[0])
	if err != nil {
		name = hosts[0]
	}
	if name == "localhost" {
		return "http://" + hosts[0]
	}
	return "https://" + hosts[0]
}

// pageAt is where the page is served, or was last; "" if it never was.
func (a *App) pageAt() string {
	data, err := os.ReadFile(filepath.Join(a.Dirs.Data, filepath.FromSlash(PageFile)))
	if err != nil {
		return ""
	}
	var at struct {
		Address string `json:"address"`
	}
	_ = json.Unmarshal(data, &at) // no address is no page
	return at.Address
}

// pageURL is where a person finds a session on the page, "" if it was never served.
func (a *App) pageURL(cfg config.Config, id string) string {
	if at := a.pageAt(); at != "" {
		return PageAddress(at, cfg.View.Hosts) + "/session/" + id
	}
	return ""
}

// pagePort is where the page is served, or was last: 0 if it never was.
func (a *App) pagePort() int {
	u, err := url.Parse(a.pageAt())
	if err != nil {
		return 0
	}
	port, _ := strconv.Atoi(u.Port()) // 0 if there is none
	return port
}

// mode is the box's own, or a tighter one that the repository asks for.
func (a *App) mode(b *box.Box, repo string, cfg config.Config) (broker.Mode, error) {
	mode := b.Spec.Mode()
	user, err := a.ConfigIn("")
	if err != nil {
		return broker.ModeNone, err
	}
	order := box.Networks()
	if repo != "" && cfg.Network.Mode != user.Network.Mode &&
		slices.Index(order, cfg.Network.Mode) < slices.Index(order, mode) {
		mode = cfg.Network.Mode
	}
	return broker.ParseMode(mode)
}

// permit is a rule, and who made it.
type permit struct {
	rule broker.Rule
	from string
}

// permits gives everything that is allowed. An entry that is no rule is an error, and so is an unknown set.
func permits(spec box.Spec, cfg config.Config) ([]permit, error) {
	own, err := broker.ParseRules(spec.Allow)
	if err != nil {
		return nil, fmt.Errorf("this box: %w", err)
	}
	var list []permit
	for _, s := range []struct {
		from  string
		rules []broker.Rule
		sets  []string
	}{
		{"your settings", cfg.Network.Allow, cfg.Network.Sets}, {"this box", own, spec.Sets},
	} {
		for _, r := range s.rules {
			list = append(list, permit{r, s.from})
		}
		for _, name := range s.sets {
			set, err := sets.Find(name)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.from, err)
			}
			rules, err := set.Rules()
			if err != nil {
				return nil, err
			}
			for _, r := range rules {
				list = append(list, permit{r, "set " + name + " of " + s.from})
			}
		}
	}
	return list, nil
}

// openDoor opens a door for programs outside sessions: a shell, or the commands that set a box up. It leads to no
// model, and is nil if the box has no network.
func (a *App) openDoor(ctx context.Context, b *box.Box, who string) (*door.Door, error) {
	top := RepoTop(a.Dir)
	cfg, err := a.ConfigIn(top)
	if err != nil {
		return nil, err
	}
	c, err := a.network(ctx, b, top, cfg)
	if err != nil {
		return nil, err
	}
	c.Session = who
	return door.Open(ctx, door.Config{Config: c, Dir: filepath.Join(a.Dirs.Data, "doors"),
		Log: filepath.Join(b.Dir, door.LogFile)})
}

// NoNetworkError says that a box was made to have none.
type NoNetworkError struct{ Box string }

func (e *NoNetworkError) Error() string {
	return fmt.Sprintf("box %s has no network (--network none); give it one with `cco box create %s --network allowlist`",
		e.Box, e.Box)
}

// networkMode refuses an unknown mode.
func networkMode(s string) (string, error) {
	if s != "" && !slices.Contains(box.Networks(), s) {
		return "", Usagef("no network %q; there are %s", s, strings.Join(box.Networks(), ", "))
	}
	return s, nil
}
