package quarantine

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git"
)

// checkModules judges a .gitmodules file, read by git itself, against every kind of hole that git has had. A line of
// the old file is allowed: it is the user's.
func checkModules(now, old []git.Setting) *fault {
	lines, was := map[git.Setting]bool{}, map[string]bool{}
	for _, s := range old {
		lines[s] = true
		if name, _, ok := moduleKey(s.Key); ok {
			was[name] = true
		}
	}
	names := map[string]bool{}
	for _, s := range now {
		name, key, ok := moduleKey(s.Key)
		if !ok {
			continue
		}
		if !names[name] && !was[name] {
			// A name becomes a path below .git/modules.
			if why := badModulePath(name); why != "" {
				return &fault{RuleSubmodule, fmt.Sprintf("submodule name %s: %s", git.Quote(git.Clip(name)), why)}
			}
		}
		names[name] = true
		if lines[s] {
			continue
		}
		if why := badModuleValue(key, s.Value); why != "" {
			return &fault{RuleSubmodule, fmt.Sprintf("submodule %s %s: %s", key, git.Quote(git.Clip(s.Value)), why)}
		}
	}
	return nestedModules(names, was)
}

// moduleKey splits submodule.<name>.<key>.
func moduleKey(full string) (name, key string, ok bool) {
	rest, ok := strings.CutPrefix(full, "submodule.")
	dot := strings.LastIndexByte(rest, '.')
	if !ok || dot < 0 {
		return "", "", false
	}
	return rest[:dot], rest[dot+1:], true
}

// nestedModules finds a submodule whose directory below .git/modules would lie inside that of another.
func nestedModules(names, was map[string]bool) *fault {
	for name := range names {
		for i, r := range name {
			if r == '/' && names[name[:i]] && (!was[name] || !was[name[:i]]) {
				return &fault{RuleSubmodule, fmt.Sprintf("submodule name %s lies inside that of %s", git.Quote(git.Clip(name)),
					git.Quote(git.Clip(name[:i])))}
			}
		}
	}
	return nil
}

func badModuleValue(key, value string) string {
	switch key {
	case "url":
		return badModuleURL(value)
	case "path":
		return badModulePath(value)
	case "update":
		if !slices.Contains([]string{"checkout", "rebase", "merge", "none"}, value) {
			return "not a way to update"
		}
	case "branch":
		if strings.HasPrefix(value, "-") || hasControl(value) {
			return "looks like an option or has a control character"
		}
	}
	return ""
}

func badModulePath(p string) string {
	switch {
	case p == "":
		return "empty"
	case strings.HasPrefix(p, "-"):
		return "looks like an option"
	case hasControl(p):
		return "a control character"
	case strings.HasPrefix(p, "/") || strings.HasPrefix(p, `\`) || len(p) > 1 && p[1] == ':':
		return "an absolute path"
	case len(p) > 1024:
		return "too long"
	}
	if strings.Contains(p, "//") || strings.HasSuffix(p, "/") {
		return "an empty part"
	}
	for part := range strings.FieldsFuncSeq(p, func(r rune) bool { return r == '/' || r == '\\' }) {
		if part == ".." || strings.TrimRight(part, ". ") == "" && part != "." {
			return "leaves the tree"
		}
		if IsDotGit(part) {
			return "a part that some file system takes for .git"
		}
	}
	return ""
}

// badModuleURL allows the transports that reach another machine, and addresses relative to the superproject's.
func badModuleURL(raw string) string {
	decoded, err := url.PathUnescape(raw)
	if err != nil {
		decoded = raw
	}
	switch {
	case raw == "":
		return "empty"
	case strings.HasPrefix(raw, "-"):
		return "looks like an option"
	case hasControl(raw) || hasControl(decoded) || strings.ContainsAny(raw, " \\"):
		return "a control character, space or backslash"
	case strings.HasPrefix(raw, "./") || strings.HasPrefix(raw, "../"):
		return badRelativeURL(raw)
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return badSCPAddress(raw)
	}
	if !slices.Contains([]string{"http", "https", "ssh", "git", "git+ssh", "ssh+git"}, scheme) {
		return "a transport that may run a program or read this machine's files"
	}
	authority, _, _ := strings.Cut(rest, "/")
	return badAuthority(authority)
}

// badRelativeURL judges what follows the dots: git appends it to the superproject's address.
func badRelativeURL(raw string) string {
	rest := raw
	for {
		if s, ok := strings.CutPrefix(rest, "./"); ok {
			rest = s
		} else if s, ok := strings.CutPrefix(rest, "../"); ok {
			rest = s
		} else {
			break
		}
	}
	if rest == "" || strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "/") || strings.Contains(rest, "::") {
		return "takes over the start of the address"
	}
	return ""
}

// badSCPAddress allows user@host:path, and nothing local.
func badSCPAddress(raw string) string {
	host, rest, ok := strings.Cut(raw, ":")
	if !ok || strings.Contains(host, "/") || len(host) < 2 || rest == "" || strings.EqualFold(host, "file") {
		return "a path on this machine"
	}
	if strings.HasPrefix(rest, ":") {
		return "a transport that may run a program"
	}
	if strings.HasPrefix(rest, "-") {
		return "looks like an option"
	}
	return badAuthority(host)
}

func badAuthority(a string) string {
	decoded, err := url.PathUnescape(a)
	if err != nil {
		return "a malformed host"
	}
	for _, s := range []string{a, decoded} {
		host := s[strings.LastIndexByte(s, '@')+1:]
		if host == "" || strings.HasPrefix(host, ":") || strings.HasPrefix(host, "-") || strings.HasPrefix(s, "-") {
			return "a host that is empty or looks like an option"
		}
	}
	return ""
}
