package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
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

func asLabel(value any) (string, error) {
	s, err := asText(value)
	return s, errors.Join(err, CheckLabel(s))
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

func asURL(value any) (string, error) {
	s, err := asText(value)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return "", errors.New("want an address like https://gateway.example/v1") // without the value: it may hold a password
	}
	return s, nil
}

// Bounds of a heartbeat: a machine whose beats are late has nothing said in its name.
const (
	shortestBeat = 3 * time.Second
	longestBeat  = 10 * time.Minute
)

func asHeartbeat(value any) (time.Duration, error) {
	s, err := asText(value)
	if err != nil {
		return 0, err
	}
	d, err := ParseDuration(s)
	if err == nil && (d < shortestBeat || d > longestBeat) {
		err = fmt.Errorf("%v is not from %v to %v", d, shortestBeat, longestBeat)
	}
	return d, err
}

// asKey reads where a model's key is. Its errors don't show it.
func asKey(value any, home string) (k Key, err error) {
	table, ok := value.(map[string]any)
	if !ok {
		return k, errors.New("want a table such as {env = \"NAME\"}") // without the value: it may be the key
	}
	if err := readTable(&k, table, home); err != nil {
		return Key{}, err
	}
	sources := len(table)
	if _, ok := table["bearer"]; ok {
		sources--
	}
	if sources != 1 || k.IsZero() {
		return Key{}, errors.New("want exactly one of env, file, keyring and command")
	}
	return k, nil
}

// asSecret reads where another secret is.
func asSecret(value any, home string) (Key, error) {
	if _, ok := value.(map[string]any); !ok {
		return Key{}, errors.New("want a table such as {keyring = \"temporal\"}")
	}
	k, err := asKey(value, home)
	if err == nil && k.Bearer {
		err = errors.New("bearer: only keys of models travel so")
	}
	return k, err
}

func asVariable(value any) (string, error) {
	s, err := asText(value)
	if err == nil && !envName().MatchString(s) {
		err = fmt.Errorf("%q can't be the name of a variable", s)
	}
	return s, err
}

func asAgents(value any, home string) (map[string]OwnAgent, error) {
	tables, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("want a table for each agent, [agents.NAME]")
	}
	agents := map[string]OwnAgent{}
	for name, v := range tables {
		table, ok := v.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s: want a table: write [agents.%s]", name, name)
		}
		var a OwnAgent
		if err := readTable(&a, table, home); err != nil {
			return nil, fmt.Errorf("%s.%w", name, err)
		}
		agents[name] = a
	}
	return agents, nil
}

func asTextTable(value any) (map[string]string, error) {
	table, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("want a table, not %s", kind(value))
	}
	texts := map[string]string{}
	for name, v := range table {
		s, ok := v.(string)
		if !ok || name == "" || strings.ContainsAny(name, "=\x00") { // of a variable or a file
			return nil, fmt.Errorf("%q: want a name and a string", name)
		}
		texts[name] = s
	}
	return texts, nil
}
