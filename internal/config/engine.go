package config

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
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

func setBundles(c *Config, value any, home string) (err error) {
	c.Engine.Bundles, err = asFile(value, home)
	return err
}
