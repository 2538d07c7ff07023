package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/whole"
)

// Settings are all settings that hold in the current directory, and where each comes from.
func (a *App) Settings() ([]config.Setting, error) {
	all, warnings, err := config.Settings(a.sources(RepoTop(a.Dir)))
	for _, w := range warnings {
		a.IO.Warn("%s", w)
	}
	return all, err
}

// DefaultSettings are all settings as they are if nobody sets one.
func DefaultSettings() ([]config.Setting, error) {
	all, _, err := config.Settings(config.Sources{Backends: rows()})
	return all, err
}

// Setting is one of them.
func (a *App) Setting(name string) (config.Setting, error) {
	all, err := a.Settings()
	if err != nil {
		return config.Setting{}, err
	}
	i := slices.IndexFunc(all, func(s config.Setting) bool { return s.Name == name })
	if i < 0 {
		return config.Setting{}, &config.UnknownError{Name: name}
	}
	return all[i], nil
}

// Set writes a setting into the user's file, or without words takes it back, and gives what holds now.
func (a *App) Set(name string, words []string) (config.Setting, error) {
	if err := config.Set(a.sources(""), name, words); err != nil {
		return config.Setting{}, err
	}
	return a.Setting(name)
}

// keyringName is where cco keeps a provider's key in the keyring.
func keyringName(provider string) string { return "cco/" + provider }

// MaxKey bounds what is read as a key.
const MaxKey = 16 << 10

// KeyPlace is where a key is kept: the keyring, or a file that only the user can read.
type KeyPlace struct {
	Provider string `json:"provider"`
	Keyring  string `json:"keyring,omitempty"`
	File     string `json:"file,omitempty"`
}

// SetKey keeps a provider's key in the keyring, or in a file, and says in the user's settings where it is. The place is
// found before the key is read. Where there is no keyring, offer may allow a file.
func (a *App) SetKey(ctx context.Context, provider string, bearer, inFile bool,
	offer func(KeyPlace, error) (bool, error), read func() (string, error)) (at KeyPlace, err error) {
	p, err := broker.FindProvider(provider)
	if err != nil {
		return at, err
	}
	at = KeyPlace{Provider: p.Name, File: filepath.Join(a.Dirs.Config, "keys", p.Name)}
	if !inFile {
		if err := broker.FindKeyring(ctx); err == nil {
			at.Keyring, at.File = keyringName(p.Name), ""
		} else if yes, asked := offer(at, err); asked != nil || !yes {
			return at, cmp.Or(asked, err)
		}
	}
	secret, err := read()
	if err != nil {
		return at, err
	}
	k, err := broker.NewKey(secret, bearer)
	if err != nil {
		return at, err
	}
	if err := keep(ctx, at, strings.TrimSpace(secret), k); err != nil {
		return at, err
	}
	source := broker.KeySource{Keyring: at.Keyring, File: at.File}
	if _, err := broker.LoadKey(ctx, source, a.Env); err != nil {
		return at, fmt.Errorf("the key was stored, but can't be read again: %w", err)
	}
	value := "{ keyring = " + strconv.Quote(at.Keyring)
	if at.File != "" {
		value = "{ file = " + strconv.Quote(at.File)
	}
	if bearer {
		value += ", bearer = true"
	}
	return at, config.Set(a.sources(""), "keys."+p.Name, []string{value + " }"})
}

// keep puts a key into its place.
func keep(ctx context.Context, at KeyPlace, secret string, k broker.Key) error {
	if at.File != "" {
		return errors.Join(os.MkdirAll(filepath.Dir(at.File), 0o700), whole.Write(at.File, []byte(secret+"\n"), 0o600))
	}
	if err := broker.StoreKey(ctx, at.Keyring, k); err != nil {
		return fmt.Errorf("%w; `cco keys set %s --file` keeps it in a file", err, at.Provider)
	}
	return nil
}

// Providers are the model services that keys can be for.
func Providers() (names []string) {
	for _, p := range broker.Providers() {
		names = append(names, p.Name)
	}
	return names
}
