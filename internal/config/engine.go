package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Connections to a database on another machine that are weaker than one whose end is known and that nobody can read.
const (
	Plaintext  = "plaintext"  // everybody on the way can read and change it
	Unverified = "unverified" // encrypted, but nobody knows for whom
)

// WeakConnections are the weaker connections that can be accepted by name.
func WeakConnections() []string { return []string{Plaintext, Unverified} }

// asDatabase accepts the address of a PostgreSQL without a password: settings are shown, copied and shared. Its errors
// never contain the address, because the password may be in it.
func asDatabase(value any) (string, error) {
	s, err := asText(value)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(s)
	if err != nil {
		return "", errors.New("is not an address like postgres://cco@db.example/cco")
	}
	_, within := u.User.Password()
	for name := range u.Query() {
		within = within || strings.Contains(strings.ToLower(name), "password")
	}
	switch {
	case within:
		return "", errors.New("holds a password: leave it out, and say where it is, for example " +
			"engine.password = {file = \"~/.config/cco/database\"}, with keyring or command in place of file")
	case u.Scheme != "postgres" && u.Scheme != "postgresql":
		return "", errors.New("is not an address like postgres://cco@db.example/cco")
	case u.Hostname() == "" && u.Query().Get("host") == "" || strings.Contains(u.Host, ","):
		return "", errors.New("names no host, or several: write one like postgres://cco@db.example/cco")
	case strings.Trim(u.Path, "/") == "" && u.Query().Get("dbname") == "":
		return "", errors.New("names no database: write it after the host like postgres://cco@db.example/cco")
	}
	return s, nil
}

var label = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// CheckLabel refuses what can't be the name of something that a machine has. Colons are for names of cco's own.
func CheckLabel(s string) error {
	if !label.MatchString(s) {
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

func setPassword(c *Config, value any, home string) error {
	table, ok := value.(map[string]any)
	if !ok {
		return errors.New("want a table such as {file = \"~/.config/cco/database\"}") // without the value: it may be it
	}
	k, err := asKey(table, home)
	if err == nil && k.Bearer {
		err = errors.New("bearer: only keys of models travel so")
	}
	if err == nil {
		c.Engine.Password = k
	}
	return err
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

func setBundles(c *Config, value any, home string) (err error) {
	c.Engine.Bundles, err = asFile(value, home)
	return err
}
