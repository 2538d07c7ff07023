package config

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// oneOf accepts one of several words.
func oneOf(at func(*Config) *string, words ...string) setter {
	return func(c *Config, value any, _ string) error {
		s, err := asText(value)
		if err != nil {
			return err
		}
		if !slices.Contains(words, s) {
			return fmt.Errorf("no %q; there are %s", s, strings.Join(words, " and "))
		}
		*at(c) = s
		return nil
	}
}

// file accepts an absolute path, or one below home.
func file(at func(*Config) *string) setter {
	return func(c *Config, value any, home string) error {
		s, err := asText(value)
		if err != nil {
			return err
		}
		*at(c), err = hostFile(s, home)
		return err
	}
}

func hostFile(s, home string) (string, error) {
	if rest, ok := strings.CutPrefix(s, "~/"); ok && filepath.IsAbs(home) {
		s = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(s) {
		return "", fmt.Errorf("%q is not absolute; begin it with / or ~/", s)
	}
	return filepath.Clean(s), nil
}

// Compiled when it is first needed: every start of cco would pay for it.
var packageName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9+.:=~_-]*$`) })

func setPackages(c *Config, value any, _ string) error {
	list, err := asTexts(value)
	if err != nil {
		return err
	}
	for i, s := range list {
		if !packageName().MatchString(s) {
			return fmt.Errorf("entry %d: %q can't name a package", i+1, s)
		}
	}
	c.Box.Provision.Packages = list
	return nil
}

// setProvisionFiles reads a table from destinations to sources of files.
func setProvisionFiles(c *Config, value any, home string) error {
	table, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("want a table of \"/path/in/the/machine\" = \"~/file\", not %s", kind(value))
	}
	files := make([]ProvisionFile, 0, len(table))
	for to, v := range table {
		from, err := asText(v)
		if err == nil {
			from, err = hostFile(from, home)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", to, err)
		}
		if !path.IsAbs(to) || path.Clean(to) != to || to == "/" || strings.ContainsAny(to, "\x00\n") {
			return fmt.Errorf("%q is not a clean absolute path", to)
		}
		files = append(files, ProvisionFile{From: from, To: to})
	}
	slices.SortFunc(files, func(a, b ProvisionFile) int { return strings.Compare(a.To, b.To) })
	c.Box.Provision.Files = files
	return nil
}

func setProvisionScripts(c *Config, value any, home string) error {
	list, err := asTexts(value)
	if err != nil {
		return err
	}
	scripts := make([]string, 0, len(list))
	for i, s := range list {
		f, err := hostFile(s, home)
		if err != nil {
			return fmt.Errorf("entry %d: %w", i+1, err)
		}
		scripts = append(scripts, f)
	}
	c.Box.Provision.Scripts = scripts
	return nil
}
