package caged

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/agent/roster"
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

// toolchains are what a program sees of the user's home: what boxes see of it, and what the program itself needs.
func (c *Cage) toolchains() *host.Shown {
	if c.Alone {
		return &host.Shown{}
	}
	return host.Open(c.User.Home, filepath.SplitList(c.User.Path), []string{c.Program})
}

// gitConfig is the user's own settings of git, as far as they are for the program.
func (c *Cage) gitConfig() (config []byte, files []string, err error) {
	if c.User.Git == nil {
		return nil, nil, nil
	}
	return c.User.Git()
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
	extra = append([]string{"HOME=" + c.User.Home, "PATH=" + c.User.Path, "IS_SANDBOX=1"}, extra...)
	// Of two that have one name programs take the first, or the last.
	last := map[string]string{}
	for _, kv := range append(env, extra...) {
		name, value, _ := strings.Cut(kv, "=")
		last[name] = value
	}
	env = nil
	for _, name := range slices.Sorted(maps.Keys(last)) {
		env = append(env, name+"="+last[name])
	}
	return env
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
