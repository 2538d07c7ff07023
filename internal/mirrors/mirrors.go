// Package mirrors finds the hosts from which package tools fetch, as the user's own settings of each tool name them. It has
// no list of its own, so that whoever uses a mirror gets that mirror and nothing else.
package mirrors

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/proc"
)

// Set is the hosts that one tool needs.
type Set struct {
	Name string
	What string // what is fetched from there
	// Caution says how data could leave through these hosts, "" if nobody knows a way.
	Caution string

	hosts func(context.Context, Machine) ([]string, error)
}

// Machine is where the settings are.
type Machine struct {
	Home   string
	Root   string // above /etc; "" is /
	Getenv func(string) string
	// Run runs a program and gives what it prints; Fetch gets a page. Nil is the real thing.
	Run   func(ctx context.Context, argv ...string) (string, error)
	Fetch func(ctx context.Context, page string) (string, error)
}

// toolTime is how long a tool has to tell its settings.
const toolTime = 30 * time.Second

// All are the sets, by name.
func All() []Set {
	const publish = "whoever has an account there can publish to it: an agent that was led astray could put your code into a stranger's package"
	return []Set{
		{"cargo", "Rust crates", "where crates are also published to the host that they come from, as with many mirrors, " + publish, cargo},
		{"debian", "Debian packages", "", debian},
		{"go", "Go modules", "a module proxy asks whatever host a module's name begins with: an agent that was led astray could send a little in such names", golang},
		{"npm", "packages for Node", publish, npm},
		{"pip", "Python packages", "where packages are also published to the host that they come from, as with many mirrors, " + publish, pip},
	}
}

// Find gives the set of that name.
func Find(name string) (Set, bool) {
	all := All()
	i := slices.IndexFunc(all, func(s Set) bool { return s.Name == name })
	if i < 0 {
		return Set{}, false
	}
	return all[i], true
}

// Hosts reads the user's settings now. Each is HOST, or HOST:PORT where the port is not the usual one.
func (s Set) Hosts(ctx context.Context, m Machine) ([]string, error) {
	if m.Run == nil {
		m.Run = run
	}
	if m.Fetch == nil {
		m.Fetch = fetch
	}
	ctx, cancel := context.WithTimeout(ctx, toolTime)
	defer cancel()
	hosts, err := s.hosts(ctx, m)
	if err != nil {
		return nil, fmt.Errorf("find the hosts of %s: %w", s.Name, err)
	}
	slices.Sort(hosts)
	if hosts = slices.Compact(hosts); len(hosts) == 0 {
		return nil, fmt.Errorf("find the hosts of %s: its settings on this machine name none; allow them by name", s.Name)
	}
	return hosts, nil
}

func run(ctx context.Context, argv ...string) (string, error) {
	out, err := proc.Output(ctx, proc.Cmd{Argv: argv, Dir: "/"})
	return string(out), err
}

// installed says whether what was run is there at all.
func installed(err error) bool { return !errors.Is(err, proc.ErrNotFound) }

// hostsOf are the hosts of those of the words that are URLs of the web.
func hostsOf(words ...string) (hosts []string) {
	for _, w := range words {
		w = strings.TrimPrefix(strings.Trim(w, `"' `), "sparse+")
		u, err := url.Parse(w)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" {
			continue
		}
		host := u.Hostname()
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		if p := u.Port(); p != "" && p != "443" && p != "80" {
			host += ":" + p
		}
		hosts = append(hosts, strings.ToLower(host))
	}
	return hosts
}

// golang asks go for its proxies and the database of sums. "direct" is no host, and what it would need is not known.
func golang(ctx context.Context, m Machine) ([]string, error) {
	out, err := m.Run(ctx, "go", "env", "GOPROXY", "GOSUMDB")
	if err != nil && installed(err) {
		return nil, err
	}
	if err != nil {
		out = m.Getenv("GOPROXY") + "\n" + m.Getenv("GOSUMDB")
	}
	proxies, sums, _ := strings.Cut(strings.TrimSpace(out), "\n")
	hosts := hostsOf(strings.FieldsFunc(proxies, func(r rune) bool { return r == ',' || r == '|' })...)
	switch words := strings.Fields(sums); {
	case len(words) == 0 || words[0] == "off":
	case len(words) > 1:
		hosts = append(hosts, hostsOf(words[1])...)
	default: // NAME or NAME+HASH+KEY
		name, _, _ := strings.Cut(words[0], "+")
		hosts = append(hosts, hostsOf("https://"+name)...)
	}
	return hosts, nil
}

// npm asks npm, and looks for the registries of scopes.
func npm(ctx context.Context, m Machine) ([]string, error) {
	out, err := m.Run(ctx, "npm", "config", "get", "registry")
	if err != nil && installed(err) {
		return nil, err
	}
	words := strings.Fields(out)
	if err != nil {
		words = []string{m.Getenv("npm_config_registry")}
	}
	rc, err := m.read(m.Home, ".npmrc")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(rc) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if name = strings.TrimSpace(name); name == "registry" || strings.HasPrefix(name, "@") && strings.HasSuffix(name, ":registry") {
			words = append(words, strings.TrimSpace(value))
		}
	}
	return hostsOf(words...), nil
}
