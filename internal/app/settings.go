package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/config"
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

// SetKey puts a provider's key into the keyring, and says so in the user's settings.
func (a *App) SetKey(ctx context.Context, provider string, bearer bool, read func() (string, error)) (string, error) {
	p, err := broker.FindProvider(provider)
	if err != nil {
		return "", &UsageError{err}
	}
	secret, err := read()
	if err != nil {
		return "", err
	}
	k, err := broker.NewKey(secret, bearer)
	if err != nil {
		return "", err
	}
	name := keyringName(p.Name)
	err = broker.StoreKey(ctx, name, k)
	if missing, ok := errors.AsType[*broker.NoKeyringError](err); ok {
		return "", fmt.Errorf("%w: install it (Debian has it in libsecret-tools), or keep the key in a file that only you "+
			"can read and name that: `cco config set keys.%s '{ file = \"~/FILE\" }'`", missing, p.Name)
	}
	if err != nil {
		return "", err
	}
	if _, err := broker.LoadKey(ctx, broker.KeySource{Keyring: name}, a.Env); err != nil {
		return "", fmt.Errorf("the key was stored, but can't be read again: %w", err)
	}
	value := `{ keyring = "` + name + `" }`
	if bearer {
		value = `{ keyring = "` + name + `", bearer = true }`
	}
	return name, config.Set(a.sources(""), "keys."+p.Name, []string{value})
}

// Providers are the model services that keys can be for.
func Providers() (names []string) {
	for _, p := range broker.Providers() {
		names = append(names, p.Name)
	}
	return names
}
