package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// agentFields are what a table of an agent can say.
var agentFields = map[string]func(a *OwnAgent, v any) error{
	"npm":      func(a *OwnAgent, v any) (err error) { a.NPM, err = asTexts(v); return err },
	"acp":      func(a *OwnAgent, v any) (err error) { a.ACP, err = asTexts(v); return err },
	"provider": func(a *OwnAgent, v any) (err error) { a.Provider, err = asText(v); return err },
	"mode":     func(a *OwnAgent, v any) (err error) { a.Mode, err = asText(v); return err },
	"model":    func(a *OwnAgent, v any) (err error) { a.Model, err = asText(v); return err },
	"env": func(a *OwnAgent, v any) (err error) {
		a.Env, err = asTextTable(v, func(name string) bool { return envName().MatchString(name) })
		return err
	},
	"files": func(a *OwnAgent, v any) (err error) {
		a.Files, err = asTextTable(v, func(name string) bool { return name != "" })
		return err
	},
}

func setAgents(c *Config, v any, _ string) error {
	tables, ok := v.(map[string]any)
	if !ok {
		return errors.New("want a table for each agent, [agents.NAME]")
	}
	c.Agents = map[string]OwnAgent{}
	for name, v := range tables {
		table, ok := v.(map[string]any)
		if !ok {
			return fmt.Errorf("%s: want a table: write [agents.%s]", name, name)
		}
		var a OwnAgent
		for field, v := range table {
			set := agentFields[field]
			if set == nil {
				return fmt.Errorf("%s.%s: unknown key; there are %s", name, field,
					strings.Join(slices.Sorted(maps.Keys(agentFields)), ", "))
			}
			if err := set(&a, v); err != nil {
				return fmt.Errorf("%s.%s: %w", name, field, err)
			}
		}
		c.Agents[name] = a
	}
	return nil
}

func asTextTable(v any, named func(string) bool) (map[string]string, error) {
	table, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("want a table, not %s", kind(v))
	}
	texts := map[string]string{}
	for name, v := range table {
		s, ok := v.(string)
		if !ok || !named(name) {
			return nil, fmt.Errorf("%q: want a name and a string", name)
		}
		texts[name] = s
	}
	return texts, nil
}

func getAgents(c *Config) any {
	if len(c.Agents) == 0 {
		return nil
	}
	all := map[string]any{}
	for name, a := range c.Agents {
		table := map[string]any{}
		for field, v := range map[string]any{"npm": listOf(a.NPM), "acp": listOf(a.ACP), "env": textTable(a.Env),
			"files": textTable(a.Files)} {
			if v != nil {
				table[field] = v
			}
		}
		for field, v := range map[string]string{"provider": a.Provider, "mode": a.Mode, "model": a.Model} {
			if v != "" {
				table[field] = v
			}
		}
		all[name] = table
	}
	return all
}

func textTable(texts map[string]string) any {
	if len(texts) == 0 {
		return nil
	}
	table := map[string]any{}
	for name, s := range texts {
		table[name] = s
	}
	return table
}
