package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"syscall"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/gate"
)

// maxFile is far above any real settings file and keeps a hostile one from exhausting the parser.
const maxFile = 64 << 10

// Sources are the places that settings come from. The zero value has none and gives the defaults.
type Sources struct {
	UserFile string // the user's own; "" or missing is no error
	RepoFile string // the repository's; "" or missing is no error
	Home     string // what ~ stands for in mounts
	Env      func(string) string
	// Trusted says whether the user has accepted this content of the repository's file, see TrustedBy.
	// Nil trusts nothing.
	Trusted func(content []byte) bool
	// Limits hold if the user sets none, so that an untrusted repository's can be compared with them. A zero is unknown,
	// and nothing counts as tighter than an unknown limit.
	Limits Limits
	// Backends are all that boxes can have.
	Backends []box.Backend
}

// Load reads all sources: the environment overrides the repository's file, and that overrides the user's, which it can
// only tighten until it is trusted. Each setting that was not followed gives a Warning.
func Load(s Sources) (Config, []Warning, error) { return load(s, map[string]string{}) }

// load is Load, and also says where each value comes from that is not a default.
func load(s Sources, from map[string]string) (Config, []Warning, error) {
	c := defaults()
	if err := loadUser(&c, s, from); err != nil {
		return Config{}, nil, err
	}
	warnings, err := loadRepo(&c, s, from)
	if err != nil {
		return Config{}, nil, err
	}
	if err := loadEnv(&c, s, from); err != nil {
		return Config{}, nil, err
	}
	return c, warnings, nil
}

func loadUser(c *Config, s Sources, from map[string]string) error {
	if s.UserFile == "" {
		return nil
	}
	// Followed if it is a link: people keep their dotfiles elsewhere.
	data, err := read(s.UserFile, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	entries, err := parse(s.UserFile, data, keys(s.Backends))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := e.key.set(c, e.value, s.Home); err != nil {
			return &Error{File: s.UserFile, Line: e.line, Key: e.key.name, Err: err}
		}
		from[e.key.name] = fmt.Sprintf("%s:%d", s.UserFile, e.line)
	}
	return nil
}

func loadRepo(c *Config, s Sources, from map[string]string) ([]Warning, error) {
	if s.RepoFile == "" {
		return nil, nil
	}
	data, err := ReadRepo(s.RepoFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return applyRepo(c, s, data, from)
}

func applyRepo(c *Config, s Sources, data []byte, from map[string]string) ([]Warning, error) {
	entries, err := parse(s.RepoFile, data, keys(s.Backends))
	if err != nil {
		return nil, err
	}
	trusted := s.Trusted != nil && s.Trusted(data)
	var warnings []Warning
	for _, e := range entries {
		if e.key.userOnly {
			warnings = append(warnings, Warning{File: s.RepoFile, Line: e.line, Key: e.key.name,
				Text: "only your own settings can say this", Final: true})
			continue
		}
		want := *c
		if err := e.key.set(&want, e.value, s.Home); err != nil {
			return nil, &Error{File: s.RepoFile, Line: e.line, Key: e.key.name, Err: err}
		}
		if reflect.DeepEqual(want, *c) {
			continue
		}
		here := fmt.Sprintf("%s:%d", s.RepoFile, e.line)
		if trusted {
			*c, from[e.key.name] = want, here
			continue
		}
		why := "a repository can't set this"
		if e.key.tighten != nil {
			before := e.key.get(c)
			if why = e.key.tighten(e.key, c, want, s); !reflect.DeepEqual(before, e.key.get(c)) {
				from[e.key.name] = here
			}
		}
		if why != "" {
			warnings = append(warnings, Warning{File: s.RepoFile, Line: e.line, Key: e.key.name, Text: why})
		}
	}
	return warnings, nil
}

func loadEnv(c *Config, s Sources, from map[string]string) error {
	if s.Env == nil {
		return nil
	}
	for _, k := range keys(s.Backends) {
		if k.env == "" {
			continue
		}
		v := s.Env(k.env)
		if v == "" {
			continue
		}
		if err := k.set(c, v, s.Home); err != nil {
			return &Error{File: k.env, Err: err}
		}
		from[k.name] = k.env
	}
	return nil
}

// Stricter is the user's policy as far as a repository's file makes it stricter. The file's text is all that is read,
// and it is trusted with nothing else.
func Stricter(s Sources, mine gate.Policy, file string, data []byte) (gate.Policy, error) {
	if len(data) > maxFile {
		return mine, &Error{File: file, Err: fmt.Errorf("is larger than %d bytes", maxFile)}
	}
	c := defaults()
	c.Pull.Policy, s.RepoFile, s.Trusted = mine, file, nil
	_, err := applyRepo(&c, s, data, map[string]string{})
	return c.Pull.Policy, err
}

// ReadRepo reads a repository's settings file for Load, and for showing it to a user who is asked to trust it.
// It follows no link and waits for nothing: an agent may have put the file there.
func ReadRepo(file string) ([]byte, error) { return read(file, syscall.O_NOFOLLOW) }

func read(file string, flags int) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK|flags, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, &Error{File: file, Err: errors.New("is a symbolic link")}
	}
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, &Error{File: file, Err: errors.New("is not a regular file")}
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	if len(data) > maxFile {
		return nil, &Error{File: file, Err: fmt.Errorf("is larger than %d bytes", maxFile)}
	}
	return data, nil
}
