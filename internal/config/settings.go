package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/BurntSushi/toml"

	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/whole"
)

// Setting is one setting: what it is for, its value, and where that comes from.
type Setting struct {
	Name  string `json:"name"`
	Value any    `json:"value"` // as a file has it; nil if nothing is set
	// From is "default", a file and line, or a variable.
	From  string   `json:"from"`
	Env   string   `json:"env,omitempty"` // the variable that overrides files
	About string   `json:"about"`
	Words []string `json:"values,omitempty"` // that there are, or that make sense
}

// FromDefault is where a value comes from that nobody has set.
const FromDefault = "default"

// Text is the value as a file has it, "" if nothing is set.
func (s Setting) Text() string {
	if s.Value == nil {
		return ""
	}
	return tomlText(s.Value)
}

// Settings are all settings with their values.
func Settings(s Sources) ([]Setting, []Warning, error) {
	from := map[string]string{}
	c, warnings, err := load(s, from)
	if err != nil {
		return nil, nil, err
	}
	var all []Setting
	for _, k := range keys(s.Backends) {
		v := Setting{Name: k.name, Value: k.get(&c), From: FromDefault, Env: k.env, About: k.about, Words: k.words}
		if from[k.name] != "" {
			v.From = from[k.name]
		}
		all = append(all, v)
	}
	return all, warnings, nil
}

// UnknownError names a setting that there is none of.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("no setting %q, see `cco config list`", e.Name)
}

// ValueError is a value that a setting can't have.
type ValueError struct {
	Name string
	Err  error
}

func (e *ValueError) Error() string { return e.Name + ": " + e.Err.Error() }

func (e *ValueError) Unwrap() error { return e.Err }

// Set writes a setting into the user's file: one word as text or as TOML, several as a list, none to take it back.
// What else is in the file stays as it is. Nothing is written unless all of the file can be read afterwards and only
// this setting has changed.
func Set(s Sources, name string, words []string) (err error) {
	known := keys(s.Backends)
	i := slices.IndexFunc(known, func(k key) bool { return k.name == name })
	if i < 0 {
		return &UnknownError{name}
	}
	text := ""
	if len(words) > 0 {
		v, err := known[i].choose(words, s.Home)
		if err != nil {
			return &ValueError{name, err}
		}
		text = tomlText(v)
	}
	return change(s.UserFile, func(old []byte) ([]byte, error) {
		if _, err := parse(s.UserFile, old, known); err != nil {
			return nil, err
		}
		now, err := edit(string(old), strings.Split(name, "."), text)
		if err != nil {
			return nil, &Error{File: s.UserFile, Key: name, Err: err}
		}
		return []byte(now), check(s, []byte(now))
	})
}

// WordError says that a setting can't be a word, and what it can be.
type WordError struct {
	Word  string
	There []string
}

func (e *WordError) Error() string {
	return fmt.Sprintf("no %q; there are %s", e.Word, strings.Join(e.There, ", "))
}

// choose finds the value that is meant: what is valid TOML and fits is that, anything else is text, or a list of it.
func (k key) choose(words []string, home string) (any, error) {
	for _, w := range words {
		if gate.Secret(k.name+" = "+w) || gate.Secret(w) {
			return nil, errors.New("that looks like a secret, which has no place in a settings file; " +
				"`cco keys set` puts a model's key into the keyring")
		}
	}
	var tries []any
	if len(words) == 1 {
		var doc map[string]any
		if _, err := toml.Decode("v = "+words[0], &doc); err == nil && len(doc) == 1 {
			tries = append(tries, doc["v"])
		}
		tries = append(tries, words[0])
	}
	list := make([]any, len(words))
	for i, w := range words {
		list[i] = w
	}
	var first error
	for _, v := range append(tries, list) {
		c := defaults()
		err := k.set(&c, v, home)
		word, isText := v.(string)
		if err == nil && isText && len(k.words) > 0 && !slices.Contains(k.words, word) {
			err = &WordError{Word: word, There: k.words}
		}
		if err == nil {
			return v, nil
		}
		if first == nil || isText {
			first = err
		}
	}
	return nil, first
}

// check refuses a file that can't be used.
func check(s Sources, data []byte) error {
	entries, err := parse(s.UserFile, data, keys(s.Backends))
	if err != nil {
		return err
	}
	c := defaults()
	for _, e := range entries {
		if err := e.key.set(&c, e.value, s.Home); err != nil {
			return &Error{File: s.UserFile, Line: e.line, Key: e.key.name, Err: err}
		}
	}
	return nil
}

// change replaces a file at once, or not at all. If it is a link, the file that it leads to is changed.
func change(file string, edited func(old []byte) ([]byte, error)) error {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	lock, err := os.Open(dir) // so that two commands at once don't undo each other's work
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	old, err := read(file, 0)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	now, err := edited(old)
	if err != nil || bytes.Equal(now, old) {
		return err
	}
	return whole.Replace(file, now, 0o600)
}
