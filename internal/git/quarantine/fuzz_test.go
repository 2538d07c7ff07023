package quarantine

import (
	"bufio"
	"bytes"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/must"
)

func FuzzReadHeader(f *testing.F) {
	oid := strings.Repeat("a", 40)
	for _, s := range []string{
		"# v2 git bundle\n-" + oid + " subject\n" + oid + " refs/cco/out\n\nPACK",
		"# v3 git bundle\n@object-format=sha256\n" + strings.Repeat("b", 64) + " refs/cco/wip\n\n",
		"# v3 git bundle\n@filter=blob:none\n" + oid + " refs/cco/out\n\n",
		"# v2 git bundle\n" + oid + " HEAD\n\n", "# v2 git bundle\n\n", "", "\n", "# v2 git bundle\n-\n",
		"# v2 git bundle\n" + oid + " refs/cco/out\n-" + oid + "\n\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bufio.NewReaderSize(bytes.NewReader(data), 16)
		h, err := readHeader(r, false)
		if err != nil {
			return
		}
		if h.size > maxHeaderBytes || h.size > int64(len(data)) || len(h.refs) == 0 || len(h.refs) > 2 ||
			len(h.prerequisites) > maxPrerequisites {
			t.Errorf("header %+v", h)
		}
		if !bytes.HasSuffix(data[:h.size], []byte("\n\n")) {
			t.Errorf("the pack would begin after %q", data[:h.size])
		}
		// A parsed value can be written again, and means the same.
		again := git.BundleHeader(h.format, h.refs, h.prerequisites)
		h2, err := readHeader(bufio.NewReader(strings.NewReader(again)), false)
		if err != nil || !slices.Equal(h.refs, h2.refs) || !slices.Equal(h.prerequisites, h2.prerequisites) {
			t.Errorf("%q reads as %+v, %v", again, h2, err)
		}
	})
}

func FuzzCheckName(f *testing.F) {
	for _, s := range []string{".git", ".GIT ", "git~1", ".g\u200cit", `a\.git`, ".git::$INDEX_ALLOCATION", "README", "é",
		"\xff\xfe", ".gitmodules",
		"GI7EBA~1", "a\x1b", "..", ".gi\u0130t", ".g\u0130t", ".g\u0130tmodules", strings.Repeat("x", 300)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if checkName(name) != nil {
			return
		}
		for _, r := range name {
			if r < 0x20 || r == 0x7f || r == '/' {
				t.Errorf("%q has %q", name, r)
			}
		}
		bare := strings.ToLower(strings.TrimRight(strings.SplitN(name, ":", 2)[0], " ."))
		if name == "" || name == "." || name == ".." || bare == ".git" || bare == "git~1" {
			t.Errorf("%q passes", name)
		}
		if strings.EqualFold(name, ".gitmodules") && name != ".gitmodules" {
			t.Errorf("%q passes", name)
		}
	})
}

func FuzzCheckModules(f *testing.F) {
	for _, s := range []string{
		"submodule.a.path\na\x00submodule.a.url\nhttps://example.org/a\x00",
		"submodule.a.url\next::sh -c id\x00", "submodule.a.url\n-x\x00", "submodule.../x.path\na\x00",
		"submodule.a.update\n!id\x00",
		"submodule.a.path\na\r\x00", "submodule.a.url\nfile:///x\x00", "submodule.a.url\n../../::x\x00",
		"submodule.a.url\nhttps://%0a/x\x00",
		"submodule.a.b.path\n.git/x\x00", "submodule.a.path\x00", "other.key\nvalue\x00", "submodule.a.url\ngit@-x:y\x00",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, list []byte) {
		now := git.ParseConfig(list)
		// Everything that the user has is allowed.
		if fault := checkModules(now, now); fault != nil {
			t.Errorf("old file refused: %+v", fault)
		}
		if checkModules(now, nil) != nil {
			return
		}
		for _, s := range now {
			name, key, ok := moduleKey(s.Key)
			if !ok {
				continue
			}
			if leaves(name) {
				t.Errorf("name %q passes", name)
			}
			switch key {
			case "url":
				if strings.HasPrefix(s.Value, "-") || strings.Contains(s.Value, "::") && !strings.Contains(s.Value, "://") ||
					strings.ContainsAny(s.Value, "\n\r") ||
					strings.HasPrefix(s.Value, "/") || strings.HasPrefix(strings.ToLower(s.Value), "file:") {
					t.Errorf("url %q passes", s.Value)
				}
			case "path":
				if leaves(s.Value) || strings.HasPrefix(s.Value, "/") || strings.ContainsAny(s.Value, "\r\n") {
					t.Errorf("path %q passes", s.Value)
				}
			case "update":
				if strings.HasPrefix(s.Value, "!") {
					t.Errorf("update %q passes", s.Value)
				}
			}
		}
	})
}

func leaves(p string) bool { return path.Clean(p) == ".." || strings.HasPrefix(path.Clean(p), "../") }

func FuzzFollow(f *testing.F) {
	f.Add("a/b", "../x")
	f.Add("a", "c/../../..")
	f.Add("", "x/../..")
	f.Fuzz(func(t *testing.T, dir, target string) {
		dir = strings.TrimPrefix(path.Clean("/"+dir), "/")
		fault := must.Get(follow(noLinks{}, strings.FieldsFunc(dir, func(r rune) bool { return r == '/' }), target))(t)
		// Without other links, the answer is that of the path alone.
		outside := false
		depth := strings.Count(dir+"/", "/")
		if dir == "" {
			depth = 0
		}
		for part := range strings.SplitSeq(target, "/") {
			switch part {
			case "", ".":
			case "..":
				depth--
			default:
				depth++
			}
			outside = outside || depth < 0
		}
		if outside != (fault != nil) {
			t.Errorf("from %q to %q: %+v", dir, target, fault)
		}
	})
}
