// Package sets names the hosts that a package manager needs, as the user's own configuration of it says. There is no list of
// hosts here: a mirror is as good as the original, and where nothing is configured the tool itself is asked.
package sets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/proc"
)

// Set is what a name such as npm stands for on this host.
type Set struct {
	Name    string
	Rules   []broker.Rule
	From    []string // where the hosts were read
	Caution string   // what can leave the box through them; "" if nothing is known
	Notes   []string // what could not be found out
}

// System is the host whose configuration is read.
type System struct {
	Getenv func(string) string
	Home   string
	Etc    string // /etc
	// Run gives what a program prints, and proc.ErrNotFound if there is none. Nothing of a repository is to be read by it.
	Run func(ctx context.Context, argv ...string) (string, error)
	// Fetch gets a small file from a registry: some say only there where their packages are.
	Fetch func(ctx context.Context, url string) ([]byte, error)
}

// Host is the system that cco runs on.
func Host() (System, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return System{}, err
	}
	s := System{Getenv: os.Getenv, Home: home, Etc: "/etc", Fetch: fetch}
	s.Run = func(ctx context.Context, argv ...string) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		out, err := proc.Output(ctx, proc.Cmd{Argv: argv, Dir: home, Env: append(os.Environ(), "GOTOOLCHAIN=local", "GOWORK=off", "NO_COLOR=1", "NO_UPDATE_NOTIFIER=1"), Stderr: io.Discard})
		return string(out[:min(len(out), maxText)]), err
	}
	return s, nil
}

const maxText = 1 << 20

func fetch(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/vnd.pypi.simple.v1+json, application/json, text/html;q=0.1")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, res.Status)
	}
	return io.ReadAll(io.LimitReader(res.Body, 16<<20))
}

// Names lists the sets.
func Names() []string { return []string{"go", "npm", "debian", "pip", "cargo"} }

// Load reads one set.
func (s System) Load(ctx context.Context, name string) (Set, error) {
	load := map[string]func(context.Context, *Set) error{"go": s.golang, "npm": s.npm, "debian": s.debian, "pip": s.pip, "cargo": s.cargo}[name]
	if load == nil {
		return Set{}, fmt.Errorf("no set %q: there are %s", name, strings.Join(Names(), ", "))
	}
	set := Set{Name: name}
	if err := load(ctx, &set); err != nil {
		return Set{}, fmt.Errorf("set %s: %w", name, err)
	}
	if len(set.Rules) == 0 {
		return Set{}, fmt.Errorf("set %s: no host is configured for it (looked at %s)", name, strings.Join(set.From, ", "))
	}
	return set, nil
}

// add makes a rule of a URL's host. URLs that leave no box (file:, cdrom:) add nothing.
func (s *Set) add(text string) error {
	text = strings.TrimSpace(text)
	for _, p := range []string{"sparse+", "registry+", "git+", "mirror+", "tor+"} {
		text = strings.TrimPrefix(text, p)
	}
	u, err := url.Parse(text)
	if err != nil {
		return errors.New("a URL in its configuration can't be read") // it may have a password in it
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil
	}
	rule := u.Hostname()
	if p := u.Port(); p != "" {
		rule = net.JoinHostPort(u.Hostname(), p)
	}
	r, err := broker.ParseRule(rule)
	if err != nil {
		return err
	}
	if !slices.Contains(s.Rules, r) {
		s.Rules = append(s.Rules, r)
	}
	return nil
}

func (s *Set) from(where string) {
	if !slices.Contains(s.From, where) {
		s.From = append(s.From, where)
	}
}

// first is the first of some variables that is set.
func (s System) first(names ...string) (value, name string) {
	for _, n := range names {
		if v := s.Getenv(n); v != "" {
			return v, n
		}
	}
	return "", ""
}

// read reads a small file; one that isn't there is empty.
func read(path string) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxText))
	return string(data), err
}

// golang asks go itself; without it the user's own settings for it are read.
func (s System) golang(ctx context.Context, set *Set) error {
	set.Caution = "a module proxy fetches whatever module path it is asked for, so that a path can carry a few words to its owner"
	env := map[string]string{}
	out, err := s.Run(ctx, "go", "env", "-json", "GOPROXY", "GOSUMDB")
	switch {
	case err == nil:
		set.from("go env")
		if err := json.Unmarshal([]byte(out), &env); err != nil {
			return fmt.Errorf("go env: %w", err)
		}
	case errors.Is(err, proc.ErrNotFound):
		if err := s.goEnvFile(env, set); err != nil {
			return err
		}
		if env["GOPROXY"] == "" {
			return errors.New("go is not installed, and neither GOPROXY nor its env file says where modules come from")
		}
	default:
		return fmt.Errorf("go env: %w", err)
	}
	for p := range strings.FieldsFuncSeq(env["GOPROXY"], func(r rune) bool { return r == ',' || r == '|' }) {
		if p == "direct" {
			set.Notes = append(set.Notes, "GOPROXY ends in direct: the hosts of such modules are not in this set")
		}
		if err := set.add(p); err != nil {
			return err
		}
	}
	return set.sumdb(env["GOSUMDB"])
}

// sumdb adds the checksum database: NAME, NAME+KEY or NAME+KEY URL.
func (s *Set) sumdb(v string) error {
	f := strings.Fields(v)
	switch {
	case len(f) == 0 || f[0] == "off":
		return nil
	case len(f) > 1:
		return s.add(f[1])
	}
	name, _, _ := strings.Cut(f[0], "+")
	return s.add("https://" + name)
}

func (s System) goEnvFile(env map[string]string, set *Set) error {
	config := s.Getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = filepath.Join(s.Home, ".config")
	}
	path := filepath.Join(config, "go", "env")
	if p := s.Getenv("GOENV"); p != "" {
		path = p
	}
	text, err := read(path)
	if err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			env[k] = v
		}
	}
	set.from(path)
	for _, k := range []string{"GOPROXY", "GOSUMDB"} {
		if v := s.Getenv(k); v != "" {
			env[k] = v
			set.from(k)
		}
	}
	return nil
}
