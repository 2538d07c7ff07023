package caged

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/host"
)

// ours is where a cage has what cco puts into it.
const ours = "/run/cco"

// agent is the row of the program that is started, if it is known.
func (c *Cage) agent() (roster.Row, bool) {
	name := filepath.Base(c.Program)
	for _, r := range roster.All() {
		if slices.Contains(r.Programs, name) {
			return r, true
		}
	}
	return roster.Row{}, false
}

// Look begins to find what a program sees of the user's home, so that it is known when Run needs it.
func (c *Cage) Look() {
	c.found = sync.OnceValue(c.look)
	go c.found()
}

// look finds what boxes see of the user's home, and the program itself.
func (c *Cage) look() *host.Shown {
	return host.Open(c.User.Home, filepath.SplitList(c.User.Path), []string{c.Program})
}

// toolchains are what a program sees of the user's home, with settings of git.
func (c *Cage) toolchains() *host.Shown {
	if c.Alone {
		return &host.Shown{}
	}
	found := c.found
	if found == nil {
		found = c.look
	}
	s := *found()
	if c.User.Git != nil {
		s.Files = append(slices.Clone(s.Files), box.File{Path: ".gitconfig", Data: c.User.Git, Mode: 0o444})
	}
	s.Mounts = slices.Clone(s.Mounts)
	for _, name := range c.User.Named {
		s.Mounts = append(s.Mounts, box.Mount{Path: name})
	}
	return &s
}

// environment is the user's, less what may hold a login: variables on the list that all boxes have, those of the agent
// itself, and those that the user names.
func (c *Cage) environment(extra []string) []string {
	row, _ := c.agent()
	keep := slices.Concat(host.Variables(), passed(), row.Variables, c.User.Pass)
	var env []string
	for _, kv := range c.User.Env {
		name, _, ok := strings.Cut(kv, "=")
		if ok && slices.ContainsFunc(keep, func(k string) bool { return matches(k, name) }) {
			env = append(env, kv)
		}
	}
	return box.Environment(env, []string{"HOME=" + c.User.Home, "PATH=" + c.User.Path, "IS_SANDBOX=1"}, extra)
}

// matches compares a variable's name with one of a list, which may end in a star.
func matches(pattern, name string) bool {
	prefix, star := strings.CutSuffix(pattern, "*")
	return pattern == name || star && strings.HasPrefix(name, prefix)
}

// passed are variables that a program on the user's own network and terminal needs beside those of every box.
func passed() []string {
	return []string{
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
		"NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "EDITOR", "VISUAL", "PAGER",
		"TERM_PROGRAM", "TERM_PROGRAM_VERSION", "COLUMNS", "LINES", "LC_*", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
		"XDG_STATE_HOME", "XDG_CACHE_HOME",
		"GOPATH", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY", "GONOSUMDB", "GOPRIVATE", "CARGO_HOME",
		"CI", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
	}
}
