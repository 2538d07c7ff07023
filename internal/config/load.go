package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"syscall"
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
}

// Load reads all sources: the environment overrides the repository's file, and that overrides the user's, which it can
// only tighten until it is trusted. Each setting that was not followed gives a Warning.
func Load(s Sources) (Config, []Warning, error) {
	c := Defaults()
	if err := loadUser(&c, s); err != nil {
		return Config{}, nil, err
	}
	warnings, err := loadRepo(&c, s)
	if err != nil {
		return Config{}, nil, err
	}
	if err := loadEnv(&c, s); err != nil {
		return Config{}, nil, err
	}
	return c, warnings, nil
}

func loadUser(c *Config, s Sources) error {
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
	entries, err := parse(s.UserFile, data)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := e.key.set(c, e.value, s.Home); err != nil {
			return &Error{File: s.UserFile, Line: e.line, Key: e.key.name, Err: err}
		}
	}
	return nil
}

func loadRepo(c *Config, s Sources) ([]Warning, error) {
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
	return applyRepo(c, s, data)
}

func applyRepo(c *Config, s Sources, data []byte) ([]Warning, error) {
	entries, err := parse(s.RepoFile, data)
	if err != nil {
		return nil, err
	}
	trusted := s.Trusted != nil && s.Trusted(data)
	var warnings []Warning
	for _, e := range entries {
		if e.key.userOnly() {
			warnings = append(warnings, Warning{File: s.RepoFile, Line: e.line, Key: e.key.name,
				Text: "only your own settings can say this", Final: true})
			continue
		}
		want := *c
		if err := e.key.set(&want, e.value, s.Home); err != nil {
			return nil, &Error{File: s.RepoFile, Line: e.line, Key: e.key.name, Err: err}
		}
		if trusted || reflect.DeepEqual(want, *c) {
			*c = want
			continue
		}
		why := "a repository can't set this"
		if e.key.tighten != nil {
			why = e.key.tighten(c, want, s)
		}
		if why != "" {
			warnings = append(warnings, Warning{File: s.RepoFile, Line: e.line, Key: e.key.name, Text: why})
		}
	}
	return warnings, nil
}

func loadEnv(c *Config, s Sources) error {
	if s.Env == nil {
		return nil
	}
	for _, k := range keys() {
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
	}
	return nil
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
