package wire_test

import (
	"bufio"
	"bytes"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/git/aside/wire"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

const some = "0123456789012345678901234567890123456789"

func sample() wire.Said {
	return wire.Said{
		Heads:  map[string]string{"main": some, "größe/\xff": some},
		Others: map[string]string{"refs/tags/x": some, "refs/stash": some},
		Head:   wire.Head{Symref: "refs/heads/main", OID: some},
		Index: map[string][]wire.Entry{"gone": nil, "odd \xff\n": {{Mode: "100644", OID: some}},
			"both": {{Mode: "100644", OID: some, Stage: 2}, {Mode: "120000", OID: some, Stage: 3}}},
	}
}

func read(b []byte) (wire.Said, int64, error) {
	return wire.Read(bufio.NewReader(bytes.NewReader(b)), 40)
}

func TestHeadersComeThrough(t *testing.T) {
	var b bytes.Buffer
	must.Do(t, wire.Write(&b, sample()))
	size := int64(b.Len())
	b.WriteString("PACK")
	got, n, err := read(b.Bytes())
	if err != nil || n != size || !reflect.DeepEqual(got, sample()) {
		t.Errorf("%+v, %d of %d, %v", got, n, size, err)
	}
}

func TestBadHeaders(t *testing.T) {
	const first, head, last = `{"version":1}` + "\n", `{"head":{"symref":"refs/heads/x"}}` + "\n", `{"pack":true}` + "\n"
	for name, text := range map[string]string{
		"nothing":        "",
		"no version":     head + last,
		"no HEAD":        first + last,
		"two HEADs":      first + head + head + last,
		"no end":         first + head,
		"another field":  first + head + `{"more":1}` + "\n" + last,
		"two values":     first + head + `{"index_broken":true} {}` + "\n" + last,
		"not an object":  first + head + "7\n" + last,
		"an empty line":  first + head + "\n" + last,
		"says nothing":   first + head + "{}\n" + last,
		"a long line":    first + head + `{"oid":"` + strings.Repeat("x", 1<<20) + `"}` + "\n" + last,
		"two versions":   first + first + head + last,
		"a ref twice":    first + head + strings.Repeat(`{"ref":"cmVmcy9oZWFkcy94","oid":"`+some+`"}`+"\n", 2) + last,
		"an index twice": first + head + strings.Repeat(`{"path":"eA=="}`+"\n", 2) + last,
	} {
		if _, _, err := read([]byte(text)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// Guards against rules for names that differ from git's.
func TestRefNames(t *testing.T) {
	repo := gittest.New(t)
	for _, name := range []string{"refs/heads/x", "refs/heads/a/b", "refs/heads/größe", "refs/heads/a.b",
		"refs/heads/.a",
		"refs/heads/a.", "refs/heads/a./b", "refs/heads/a..b", "refs/heads/a.lock", "refs/heads/a.lock/b", "refs/heads/a//b",
		"refs/heads/a/", "refs/heads//a", "refs/heads/a b", "refs/heads/a\tb", "refs/heads/a\x7f", "refs/heads/a~",
		"refs/heads/^",
		"refs/heads/a:b", "refs/heads/a?", "refs/heads/*", "refs/heads/[", `refs/heads/a\b`, "refs/heads/a@{b",
		"refs/heads/a@b",
		"refs/heads/{", "refs/heads/\xff", "refs/stash", "refs/", "/refs/heads/a", "refs/heads/a/.b"} {
		_, err := repo.Try("", "check-ref-format", name)
		if got := wire.ValidRef(name); got != (err == nil) {
			t.Errorf("%q: %v, git says %v", name, got, err)
		}
	}
	for _, name := range []string{"refs/heads/-x", "refs/heads/HEAD", "refs/heads/@", "refs/heads", "HEAD", "", "main",
		"refs/heads/" + strings.Repeat("x", 300)} {
		if wire.ValidRef(name) {
			t.Errorf("%q is valid", name)
		}
	}
}

func TestDiffer(t *testing.T) {
	line := func(mode, stage, path string) string { return mode + " " + some + " " + stage + "\t" + path + "\x00" }
	was := line("100644", "0", "a") + line("100644", "0", "b") + line("100644", "0", "c")
	is := line("100644", "0", "a") + line("100644", "2", "b") + line("100755", "3", "b") + line("120000", "0", "d")
	got := must.Get(wire.Differ([]byte(was), []byte(is)))(t)
	want := map[string][]wire.Entry{"b": {{Mode: "100644", OID: some, Stage: 2}, {Mode: "100755", OID: some, Stage: 3}},
		"c": nil, "d": {{Mode: "120000", OID: some}}}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%v", got)
	}
}

func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	must.Do(f, wire.Write(&b, sample()))
	f.Add(b.Bytes())
	f.Add([]byte(`{"version":1}` + "\n" + `{"head":{"oid":"` + some + `"}}` + "\n" + `{"pack":true}` + "\nPACK"))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		said, n, err := read(data)
		if err != nil {
			return
		}
		for name := range said.Heads {
			if !wire.ValidRef("refs/heads/"+name) || strings.ContainsAny(name, "\x00\n ") {
				t.Errorf("branch %q", name)
			}
		}
		for path := range said.Index {
			if strings.HasPrefix(path, "/") || slices.Contains(strings.Split(path, "/"), "..") || strings.ContainsRune(path, 0) {
				t.Errorf("path %q", path)
			}
		}
		var again bytes.Buffer
		must.Do(t, wire.Write(&again, said))
		if same, _, err := read(again.Bytes()); err != nil || !reflect.DeepEqual(same, said) || n > int64(len(data)) {
			t.Errorf("%+v became %+v, %v", said, same, err)
		}
	})
}
