// Package sets names the hosts that a package manager needs, as the user's own configuration of it says. There is no
// list of hosts here: a mirror is as good as the original, and where nothing is configured the tool itself is asked.
// Nothing else is asked: it connects to no host, and reads nothing that an agent may have written.
package sets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/paths"
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
	// Written are directories into which agents write: caches of tools. No setting is read from there.
	Written []string
	// Run gives what a program prints, and proc.ErrNotFound if there is none. The program must not read a repository or
	// make a request.
	Run func(ctx context.Context, argv ...string) (string, error)
}

// Host is the system that cco runs on.
func Host() (System, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return System{}, err
	}
	s := System{Getenv: os.Getenv, Home: home, Etc: "/etc"}
	if cache, err := os.UserCacheDir(); err == nil {
		s.Written = append(s.Written, cache)
	}
	for _, name := range []string{".cache", ".npm", "go/pkg", ".cargo/registry", ".cargo/git"} {
		s.Written = append(s.Written, filepath.Join(home, filepath.FromSlash(name)))
	}
	// Variables that make the tools look for a newer version of themselves, or fetch one.
	quiet := []string{"GOTOOLCHAIN=local", "GOWORK=off", "GOFLAGS=", "NO_COLOR=1", "NO_UPDATE_NOTIFIER=1",
		"npm_config_update_notifier=false",
		"PIP_DISABLE_PIP_VERSION_CHECK=1", "COREPACK_ENABLE_NETWORK=0"}
	s.Run = func(ctx context.Context, argv ...string) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		out, err := proc.Output(ctx, proc.Cmd{Argv: argv, Dir: "/", Env: append(os.Environ(), quiet...), Stderr: io.Discard})
		return string(out[:min(len(out), maxText)]), err
	}
	return s, nil
}

const maxText = 1 << 20

// Names lists the sets.
func Names() []string { return []string{"go", "npm", "debian", "pip", "cargo"} }

// Load reads one set.
func (s System) Load(ctx context.Context, name string) (Set, error) {
	load := map[string]func(context.Context, *Set) error{"go": s.golang, "npm": s.npm, "debian": s.debian, "pip": s.pip,
		"cargo": s.cargo}[name]
	if load == nil {
		return Set{}, fmt.Errorf("no set %q: there are %s", name, strings.Join(Names(), ", "))
	}
	set := Set{Name: name}
	for _, v := range []string{"GOENV", "XDG_CONFIG_HOME", "NPM_CONFIG_USERCONFIG", "npm_config_userconfig",
		"NPM_CONFIG_GLOBALCONFIG",
		"npm_config_globalconfig", "PIP_CONFIG_FILE", "CARGO_HOME"} {
		if at := s.Getenv(v); at != "" && s.written(at) {
			return Set{}, fmt.Errorf("set %s: %s names a place that agents can write to, so it is not read",
				name, v)
		}
	}
	if err := load(ctx, &set); err != nil {
		return Set{}, fmt.Errorf("set %s: %w", name, err)
	}
	if len(set.Rules) == 0 {
		return Set{}, fmt.Errorf("set %s: no host is configured for it by name (looked at %s)%s", name,
			strings.Join(set.From, ", "), strings.Join(append([]string{""}, set.Notes...), "; "))
	}
	return set, nil
}

// add makes a rule from a URL's host, if that is a name: the user has to allow addresses and other ports separately.
// URLs that leave no box (file:, cdrom:) add nothing.
func (s *Set) add(text string) error {
	text = strings.TrimSpace(text)
	for _, p := range []string{"sparse+", "registry+", "git+", "mirror+", "tor+"} {
		text = strings.TrimPrefix(text, p)
	}
	u, err := url.Parse(text)
	if err != nil {
		return errors.New("a URL in its configuration can't be read") // it may have a password in it
	}
	usual := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	if usual == "" {
		return nil
	}
	r, err := broker.ParseRule(u.Hostname())
	if err != nil {
		return err
	}
	if port := u.Port(); !r.Named() || port != "" && port != usual {
		s.note("%s is not in it, because a set has names only: `cco box net allow %s` allows it", u.Host, u.Host)
		return nil
	}
	if !slices.Contains(s.Rules, r) {
		s.Rules = append(s.Rules, r)
	}
	return nil
}

func (s *Set) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(s.Notes, text) {
		s.Notes = append(s.Notes, text)
	}
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

// written says whether agents may write a file.
func (s System) written(path string) bool {
	for _, at := range []string{filepath.Clean(path), real(path)} {
		for _, dir := range s.Written {
			for _, d := range []string{filepath.Clean(dir), real(dir)} {
				if paths.Within(at, d) {
					return true
				}
			}
		}
	}
	return false
}

// real resolves the existing part of a path.
func real(path string) string {
	for dir, rest := filepath.Clean(path), ""; ; dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest) {
		if at, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(at, rest)
		}
		if dir == filepath.Dir(dir) {
			return path
		}
	}
}

// read reads a small file; one that isn't there is empty. One that an agent may have written is an error.
func (s System) read(path string) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	if s.written(path) {
		return "", fmt.Errorf("%s is in a place that agents can write to, so it is not read", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxText))
	return string(data), err
}

// golang asks go itself; without go it reads the user's settings for it.
func (s System) golang(ctx context.Context, set *Set) error {
	set.Caution = "a module proxy fetches whatever module path it is asked for, so that a path can carry a few words to " +
		"its owner"
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
			set.note("GOPROXY ends in direct: the hosts of such modules are not in this set")
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
	text, err := s.read(path)
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
