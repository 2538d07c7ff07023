package config

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cco-dev/cco/internal/box"
)

func asMounts(value any, home string) ([]Mount, error) {
	list, err := asList(value)
	if err != nil {
		return nil, err
	}
	mounts := make([]Mount, 0, len(list))
	for i, v := range list {
		m, err := asMount(v, home)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		if slices.ContainsFunc(mounts, func(o Mount) bool { return o.Path == m.Path }) {
			return nil, fmt.Errorf("entry %d: %s is named twice", i+1, m.Path)
		}
		mounts = append(mounts, m)
	}
	return mounts, nil
}

func asMount(value any, home string) (Mount, error) {
	var m Mount
	switch v := value.(type) {
	case string:
		m.Path = v
		if p, ok := strings.CutSuffix(v, ":rw"); ok {
			m = Mount{Path: p, Write: true}
		} else if p, ok := strings.CutSuffix(v, ":ro"); ok {
			m.Path = p
		}
	case map[string]any:
		for name, field := range v {
			var ok bool
			switch name {
			case "path":
				m.Path, ok = field.(string)
			case "write":
				m.Write, ok = field.(bool)
			default:
				return Mount{}, fmt.Errorf("unknown key %q; there are path and write", name)
			}
			if !ok {
				return Mount{}, fmt.Errorf("%s can't be %s", name, kind(field))
			}
		}
	default:
		return Mount{}, fmt.Errorf("want \"~/dir\", \"~/dir:rw\" or {path = \"~/dir\", write = true}, not %s", kind(value))
	}
	p, err := mountPath(m.Path, home)
	m.Path = p
	return m, err
}

func mountPath(p, home string) (string, error) {
	if _, err := asText(p); err != nil {
		return "", err
	}
	if rest, ok := strings.CutPrefix(p, "~"); ok && (rest == "" || rest[0] == '/') {
		if !filepath.IsAbs(home) {
			return "", fmt.Errorf("%q: the home directory is not known", p)
		}
		p = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(p) {
		return "", fmt.Errorf("%q is not absolute; begin it with / or ~/", p)
	}
	p = filepath.Clean(p)
	// It would break the promise of every box: that it can't see the user's home with its keys.
	if p == "/" || home != "" && strings.HasPrefix(filepath.Clean(home)+"/", p+"/") {
		return "", fmt.Errorf("%s holds your whole home; name the directories below it that the box needs", p)
	}
	return p, nil
}

// asCaches reads a list of directories below home.
func asCaches(value any) ([]string, error) {
	list, err := asTexts(value)
	if err != nil {
		return nil, err
	}
	dirs := make([]string, 0, len(list))
	for i, s := range list {
		p := path.Clean(strings.TrimPrefix(s, "~/"))
		if p == "." || p == "~" || p == ".." || strings.HasPrefix(p, "../") || path.IsAbs(p) {
			return nil, fmt.Errorf("entry %d: %q is not a directory below home", i+1, s)
		}
		dirs = append(dirs, p)
	}
	return dirs, nil
}

// Compiled when it is first needed: every start of cco would pay for it.
var envName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// asEnv reads a table, or an array of KEY=value.
func asEnv(value any) ([]string, error) {
	vars := map[string]any{}
	if table, ok := value.(map[string]any); ok {
		vars = table
	} else {
		list, err := asTexts(value)
		if err != nil {
			return nil, fmt.Errorf("want a table, or an array of \"KEY=value\": %w", err)
		}
		for i, s := range list {
			name, v, ok := strings.Cut(s, "=")
			if _, twice := vars[name]; !ok || twice {
				return nil, fmt.Errorf("entry %d: want \"KEY=value\", each KEY once", i+1)
			}
			vars[name] = v
		}
	}
	env := make([]string, 0, len(vars))
	for name, v := range vars {
		s, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("%s: want a string, not %s", name, kind(v))
		}
		if !envName().MatchString(name) || strings.ContainsRune(s, 0) {
			return nil, fmt.Errorf("%q can't be the name of a variable, or its value holds a NUL", name)
		}
		env = append(env, name+"="+s)
	}
	slices.Sort(env)
	return env, nil
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
	v, err := ownForm(s).read(value, "")
	if err == nil {
		b.Own = maps.Clone(b.Own)
		if b.Own == nil {
			b.Own = box.Values{}
		}
		b.Own[s.Name] = v
	}
	return err
}

// Unset takes a backend's own setting back.
func (b *Box) Unset(name string) {
	b.Own = maps.Clone(b.Own)
	delete(b.Own, name)
}
