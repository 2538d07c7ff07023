package sets

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
)

// debian reads apt's sources, in both of their forms.
func (s System) debian(_ context.Context, set *Set) error {
	dir := filepath.Join(s.Etc, "apt")
	files := []string{filepath.Join(dir, "sources.list")}
	for _, pattern := range []string{"*.list", "*.sources"} {
		found, err := filepath.Glob(filepath.Join(dir, "sources.list.d", pattern))
		if err != nil {
			return err
		}
		slices.Sort(found)
		files = append(files, found...)
	}
	any := false
	for _, f := range files {
		text, err := s.read(f)
		if err != nil {
			return err
		}
		if text == "" {
			continue
		}
		any = true
		uris := oneLine(text)
		if strings.HasSuffix(f, ".sources") {
			uris = deb822(text)
		}
		for _, u := range uris {
			set.from(f)
			if err := s.source(set, u); err != nil {
				return err
			}
		}
	}
	if !any {
		return errors.New("there are no apt sources in " + dir)
	}
	return nil
}

// source adds a source's URI, or those of a list of mirrors that it names.
func (s System) source(set *Set, uri string) error {
	file, ok := strings.CutPrefix(uri, "mirror+file:")
	if !ok {
		return set.add(uri)
	}
	text, err := s.read("/" + strings.TrimLeft(file, "/"))
	if err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 0 && !strings.HasPrefix(f[0], "#") {
			if err := set.add(f[0]); err != nil {
				return err
			}
		}
	}
	return nil
}

// oneLine reads `deb [options] URI suite component…`.
func oneLine(text string) (uris []string) {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if kind != "deb" && kind != "deb-src" {
			continue
		}
		rest = strings.TrimSpace(rest)
		if strings.HasPrefix(rest, "[") {
			_, rest, _ = strings.Cut(rest, "]")
		}
		if f := strings.Fields(rest); len(f) > 0 {
			uris = append(uris, f[0])
		}
	}
	return uris
}

// deb822 reads stanzas with fields that may go on in lines that begin with a blank.
func deb822(text string) (uris []string) {
	var found []string
	enabled, field := true, ""
	end := func() {
		if enabled {
			uris = append(uris, found...)
		}
		found, enabled, field = nil, true, ""
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "#"):
			continue
		case strings.TrimSpace(line) == "":
			end()
			continue
		case line[0] != ' ' && line[0] != '\t':
			name, value, _ := strings.Cut(line, ":")
			field, line = strings.ToLower(strings.TrimSpace(name)), value
		}
		switch field {
		case "uris":
			found = append(found, strings.Fields(line)...)
		case "enabled":
			if v := strings.ToLower(strings.TrimSpace(line)); v == "no" || v == "false" || v == "0" || v == "off" ||
				v == "without" || v == "disable" {
				enabled = false
			}
		}
	}
	end()
	return uris
}
