package config

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// Network says what may leave a box.
type Network struct {
	Mode         string   // "" is the default, allowlist
	Allow        []string // rules, in the broker's words
	Sets         []string // of hosts that a tool needs, from the user's own settings of the tool
	RecordBodies bool     // record the text of model requests too, not only that they happened
}

// Key says where a model's key is. Exactly one of its sources is set; the zero value has none.
type Key struct {
	Env     string
	File    string // absolute
	Keyring string
	Command Command
	Bearer  bool // it travels as Authorization: Bearer
}

// IsZero says whether nothing was set.
func (k Key) IsZero() bool {
	return k.Env == "" && k.File == "" && k.Keyring == "" && len(k.Command.Args()) == 0
}

// The tightest mode comes first.
func networkModes() []string { return []string{"none", "allowlist", "open"} }

// networkSets are the tools whose hosts can be allowed by one word.
func networkSets() []string { return []string{"cargo", "debian", "go", "npm", "pip"} }

func tightenNetworkMode(c *Config, want Config, _ Sources) string {
	has := c.Network.Mode
	if has == "" {
		has = "allowlist"
	}
	if slices.Index(networkModes(), want.Network.Mode) > slices.Index(networkModes(), has) {
		return fmt.Sprintf("%s lets out more than %s", want.Network.Mode, has)
	}
	c.Network.Mode = want.Network.Mode
	return ""
}

// sets reads names of sets of hosts.
func sets(at func(*Config) *[]string) value {
	return value{set: func(c *Config, v any, _ string) error {
		list, err := asTexts(v)
		if err != nil {
			return err
		}
		for _, s := range list {
			if !slices.Contains(networkSets(), s) {
				return fmt.Errorf("no set %q; there are %s", s, strings.Join(networkSets(), ", "))
			}
		}
		*at(c) = list
		return nil
	}, get: func(c *Config) any { return listOf(*at(c)) }, words: networkSets()}
}

// tightenRecord lets a repository ask for less recording.
func tightenRecord(c *Config, want Config, _ Sources) string {
	if want.Network.RecordBodies {
		return "keeps more than you do"
	}
	c.Network.RecordBodies = false
	return ""
}

// userOnly are the settings that no repository may make, trusted or not: the place of a key decides what is run for it,
// and what is sent to a model as if it were a key; a gateway gets the key; an agent is a program that is installed and
// started; who holds the database decides what phases do, and who names what a machine
// has decides where; and the terminal is the user's own.
func (k key) userOnly() bool {
	return slices.ContainsFunc([]string{"keys.", "gateways.", "agents", "engine.", "worker.", "terminal.", "graveyard."},
		func(part string) bool { return strings.HasPrefix(k.name, part) })
}

// models are the keys of models and the gateways to them, by the names that the broker has for its providers.
func models() (list []key) {
	names := []string{"anthropic", "gemini", "openai"}
	for _, name := range names {
		list = append(list, key{"keys." + name, "", "where the key for " + name + " is: env, file, keyring or command",
			value{set: setKey(name), get: getKey(name)}, nil})
	}
	for _, name := range names {
		list = append(list, key{"gateways." + name, "",
			"the address of a gateway to " + name + ", or of a model that speaks as it does",
			value{set: setGateway(name), get: getGateway(name)}, nil})
	}
	return list
}

func getGateway(name string) func(*Config) any {
	return func(c *Config) any {
		if c.Gateways[name] == "" {
			return nil
		}
		return c.Gateways[name]
	}
}

func setGateway(name string) setter {
	return func(c *Config, value any, _ string) error {
		s, err := asText(value)
		if err != nil {
			return err
		}
		u, err := url.Parse(s)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			return errors.New("want an address like https://gateway.example/v1") // without the value: it may hold a password
		}
		others := maps.Clone(c.Gateways) // the map may be another Config's too
		if others == nil {
			others = map[string]string{}
		}
		others[name] = s
		c.Gateways = others
		return nil
	}
}

func setKey(name string) setter {
	return func(c *Config, value any, home string) error {
		table, ok := value.(map[string]any)
		if !ok {
			return errors.New("want a table such as {env = \"NAME\"}") // without the value: it may be the key
		}
		k, err := asKey(table, home)
		if err != nil {
			return err
		}
		others := map[string]Key{name: k}
		for n, v := range c.Keys { // the map may be another Config's too
			if n != name {
				others[n] = v
			}
		}
		c.Keys = others
		return nil
	}
}

func asKey(table map[string]any, home string) (k Key, err error) {
	sources := 0
	for field, v := range table {
		switch field {
		case "env":
			k.Env, err = asText(v)
			if err == nil && !envName().MatchString(k.Env) {
				err = fmt.Errorf("%q can't be the name of a variable", k.Env)
			}
		case "file":
			k.File, err = keyFile(v, home)
		case "keyring":
			k.Keyring, err = asText(v)
		case "command":
			var c Config
			err = command(func(c *Config) *Command { return &c.Notify.OnDone }).set(&c, v, home)
			k.Command = c.Notify.OnDone
		case "bearer":
			var is bool
			if k.Bearer, is = v.(bool); !is {
				err = fmt.Errorf("want true or false, not %s", kind(v))
			}
			sources--
		default:
			err = errors.New("unknown key; there are env, file, keyring, command and bearer")
		}
		if err != nil {
			return Key{}, fmt.Errorf("%s: %w", field, err)
		}
		sources++
	}
	if sources != 1 || k.IsZero() {
		return Key{}, errors.New("want exactly one of env, file, keyring and command")
	}
	return k, nil
}

func keyFile(value any, home string) (string, error) {
	p, err := asText(value)
	if err != nil {
		return "", err
	}
	if rest, ok := strings.CutPrefix(p, "~/"); ok && filepath.IsAbs(home) {
		p = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(p) {
		return "", fmt.Errorf("%q is not absolute; begin it with / or ~/", p)
	}
	return filepath.Clean(p), nil
}
