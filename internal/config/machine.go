package config

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cco-dev/cco/internal/box"
)

func names(backends []box.Backend) (list []string) {
	for _, b := range backends {
		list = append(list, b.Name)
	}
	return list
}

// tightenBackend takes a backend that isolates as well as the user's, or better.
func tightenBackend(c *Config, want Config, s Sources) string {
	has := slices.IndexFunc(s.Backends, func(b box.Backend) bool {
		return b.Name == c.Box.Backend || c.Box.Backend == "" && b.System == runtime.GOOS
	})
	wants := slices.IndexFunc(s.Backends, func(b box.Backend) bool { return b.Name == want.Box.Backend })
	if has < 0 || wants < 0 {
		return "the backends can't be compared"
	}
	if s.Backends[wants].Strength < s.Backends[has].Strength {
		return fmt.Sprintf("%s isolates less than %s", want.Box.Backend, s.Backends[has].Name)
	}
	c.Box.Backend = want.Box.Backend
	return ""
}

// ownKeys are the backends' own settings. What two of them share is one key.
func ownKeys(backends []box.Backend) (list []key) {
	for _, b := range backends {
		for _, s := range b.Settings {
			name := "box." + s.Name
			if !slices.ContainsFunc(list, func(k key) bool { return k.name == name }) {
				list = append(list, key{name, s.Env, "of " + b.Name + " boxes: " + strings.ReplaceAll(s.Help, "`", ""),
					value{set: setOwn(s), get: getOwn(s), words: s.Words}, nil})
			}
		}
	}
	return list
}

func setOwn(s box.Setting) setter {
	return func(c *Config, value any, home string) error {
		v, err := readOwn(s, value, home)
		if err == nil {
			c.Box.set(s.Name, v)
		}
		return err
	}
}

// set replaces the map of values, which may be another Config's too.
func (b *Box) set(name string, value any) {
	own := box.Values{}
	maps.Copy(own, b.Own)
	own[name] = value
	b.Own = own
}

// Flag sets one of a backend's own settings from what stands behind its flag. A path is relative to dir.
func (b *Box) Flag(s box.Setting, text, dir string) error {
	var value any = text
	switch s.Kind {
	case box.Count:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
		value = n
	case box.Switch:
		value = text == "true"
	case box.HostFile:
		if !filepath.IsAbs(text) {
			value = filepath.Join(dir, text)
		}
	}
	v, err := readOwn(s, value, "")
	if err == nil {
		b.set(s.Name, v)
	}
	return err
}

// Unset takes a backend's own setting back.
func (b *Box) Unset(name string) {
	b.Own = maps.Clone(b.Own)
	delete(b.Own, name)
}

// readOwn reads the value of a setting as its kind wants it.
func readOwn(s box.Setting, value any, home string) (any, error) {
	switch s.Kind {
	case box.Text:
		return asText(value)
	case box.Word:
		return asWord(value, s.Words)
	case box.HostFile:
		return asFile(value, home)
	case box.Count:
		return asCount(value)
	case box.Size:
		return asSize(value)
	case box.Switch:
		return asSwitch(value)
	case box.Packages:
		return asPackages(value)
	case box.HostFiles:
		return asFiles(value, home)
	case box.Copies:
		return asCopies(value, home)
	}
	return nil, fmt.Errorf("box.%s is of no known kind", s.Name)
}

// asWord accepts one of several words.
func asWord(value any, words []string) (string, error) {
	s, err := asText(value)
	if err == nil && !slices.Contains(words, s) {
		err = fmt.Errorf("no %q; there are %s", s, strings.Join(words, " and "))
	}
	return s, err
}

// asFile accepts an absolute path, or one below home.
func asFile(value any, home string) (string, error) {
	s, err := asText(value)
	if err != nil {
		return "", err
	}
	return hostFile(s, home)
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

func asPackages(value any) ([]string, error) {
	list, err := asTexts(value)
	for i, s := range list {
		if !packageName().MatchString(s) {
			return nil, fmt.Errorf("entry %d: %q can't name a package", i+1, s)
		}
	}
	return list, err
}

// asCopies reads a table from destinations to sources of files.
func asCopies(value any, home string) ([]box.VMFile, error) {
	table, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("want a table of \"/path/in/the/machine\" = \"~/file\", not %s", kind(value))
	}
	files := make([]box.VMFile, 0, len(table))
	for to, v := range table {
		from, err := asFile(v, home)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", to, err)
		}
		if !path.IsAbs(to) || path.Clean(to) != to || to == "/" || strings.ContainsAny(to, "\x00\n") {
			return nil, fmt.Errorf("%q is not a clean absolute path", to)
		}
		files = append(files, box.VMFile{From: from, To: to})
	}
	slices.SortFunc(files, func(a, b box.VMFile) int { return strings.Compare(a.To, b.To) })
	return files, nil
}

func asFiles(value any, home string) ([]string, error) {
	list, err := asTexts(value)
	if err != nil {
		return nil, err
	}
	files := make([]string, 0, len(list))
	for i, s := range list {
		f, err := hostFile(s, home)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		files = append(files, f)
	}
	return files, nil
}
