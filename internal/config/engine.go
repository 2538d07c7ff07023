package config

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"sync"
	"time"
)

// Plaintext is a connection to a service on another machine that everybody on the way can read and change.
const Plaintext = "plaintext"

var label = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`) })

// CheckLabel refuses what can't be the name of something that a machine has. Colons are for names of cco's own.
func CheckLabel(s string) error {
	if !label().MatchString(s) {
		return fmt.Errorf("%q is not a label: small letters, digits, dots, dashes and underscores, at most 63", s)
	}
	return nil
}

func asLabels(value any) ([]string, error) {
	list, err := asTexts(value)
	for _, s := range list {
		err = errors.Join(err, CheckLabel(s))
	}
	return list, err
}

// asHostPort accepts the address of a service.
func asHostPort(value any) (string, error) {
	s, err := asText(value)
	if err != nil {
		return "", err
	}
	if host, port, err := net.SplitHostPort(s); err != nil || host == "" || port == "" {
		return "", errors.New("is not an address like temporal.example:7233")
	}
	return s, nil
}

func asLabel(value any) (string, error) {
	s, err := asText(value)
	return s, errors.Join(err, CheckLabel(s))
}

// secretTable reads where a secret is. Its errors don't show it.
func secretTable(value any, home string) (Key, error) {
	table, ok := value.(map[string]any)
	if !ok {
		return Key{}, errors.New("want a table such as {keyring = \"temporal\"}")
	}
	k, err := asKey(table, home)
	if err == nil && k.Bearer {
		err = errors.New("bearer: only keys of models travel so")
	}
	return k, err
}

func setAPIKey(c *Config, value any, home string) error {
	k, err := secretTable(value, home)
	if err == nil {
		c.Engine.APIKey = k
	}
	return err
}

// Bounds of a heartbeat: a machine whose beats are late has nothing said in its name.
const (
	shortestBeat = 3 * time.Second
	longestBeat  = 10 * time.Minute
)

func setHeartbeat(c *Config, value any, _ string) error {
	s, err := asText(value)
	if err != nil {
		return err
	}
	d, err := ParseDuration(s)
	if err == nil && (d < shortestBeat || d > longestBeat) {
		err = fmt.Errorf("%v is not from %v to %v", d, shortestBeat, longestBeat)
	}
	if err == nil {
		c.Engine.Heartbeat = d
	}
	return err
}

// file is a setting that names a file.
func file(at func(*Config) *string) value {
	return value{
		set: func(c *Config, v any, home string) (err error) {
			*at(c), err = asFile(v, home)
			return err
		},
		get: unlessZero(at, same),
	}
}
