package config

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
)

func TestParseSize(t *testing.T) {
	for s, want := range map[string]int64{
		"1B": 1, "4GiB": 4 << 30, "512MiB": 512 << 20, "3KiB": 3 << 10, "2TiB": 2 << 40, "100MB": 1e8, "7kB": 7000,
		"9223372036854775807B": math.MaxInt64,
	} {
		if got, err := ParseSize(s); err != nil || got != want {
			t.Errorf("%q = %d, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "4", "GiB", "4G", "4gib", "4 GiB", " 4GiB", "4GiB ", "-4GiB", "+4GiB", "4.5GiB", "0GiB",
		"1_0B", "0x4B",
		"9223372036854775808B", "8388608TiB", "99999999999999999999999GiB", "4GiBGiB", "٤GiB"} {
		if got, err := ParseSize(s); err == nil {
			t.Errorf("%q = %d", s, got)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for s, want := range map[string]time.Duration{"2h": 2 * time.Hour, "1h30m": 90 * time.Minute, "90s": 90 * time.Second,
		"1ms": time.Millisecond} {
		if got, err := ParseDuration(s); err != nil || got != want {
			t.Errorf("%q = %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "2", "0", "0s", "-1h", "1ns", "2 h", "2d", "h", "99999999999h"} {
		if got, err := ParseDuration(s); err == nil {
			t.Errorf("%q = %v", s, got)
		}
	}
}

// A file of brackets or dots alone took all memory.
func TestNestingIsBound(t *testing.T) {
	for _, text := range []string{"a = " + strings.Repeat("[", maxFile-4), "[" + strings.Repeat("a.", maxFile/2-2) + "a]",
		"a = " + strings.Repeat("{a=", maxFile/3-2), "a = " + strings.Repeat("{\n#\na=", maxFile/6-2)} {
		if _, _, err := Load(sources(t, "", text)); err == nil {
			t.Errorf("%.20q… is no error", text)
		}
	}
}

func TestCommentsMayBeLong(t *testing.T) {
	mustLoad(t, sources(t, strings.Repeat("  # Dots... and {braces}.\n", 1000), ""))
}

// FuzzRepo holds that no content of a repository's file can crash cco, write to the terminal in its own way,
// or, untrusted, loosen anything.
func FuzzRepo(f *testing.F) {
	seeds, err := filepath.Glob("testdata/configs/*.toml")
	if err != nil || len(seeds) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, name := range seeds {
		data := must.Get(os.ReadFile(name))(f)
		f.Add(data)
	}
	f.Add([]byte(mine))
	user := filepath.Join(f.TempDir(), "config.toml")
	must.Do(f, os.WriteFile(user, []byte(mine), 0o600))
	before, _, err := Load(Sources{UserFile: user, Home: home, Backends: backends()})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		c := before
		warnings, err := applyRepo(&c, Sources{RepoFile: RepoFile, Home: home, Backends: backends()}, content,
			map[string]string{})
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x1b") || !strings.HasPrefix(err.Error(), RepoFile+":") {
				t.Fatalf("%q", err)
			}
			return
		}
		for _, w := range warnings {
			if w.Line == 0 || strings.ContainsAny(w.String(), "\n\x1b") {
				t.Fatalf("%+v", w)
			}
		}
		notLooser(t, before, c)
	})
}

func notLooser(t *testing.T, before, c Config) {
	t.Helper()
	for _, m := range c.Box.Mounts {
		ok := false
		for _, u := range before.Box.Mounts {
			ok = ok || u.Path == m.Path && (u.Write || !m.Write)
		}
		if !ok {
			t.Fatalf("mount %+v", m)
		}
	}
	l, u := c.Box.Limits, before.Box.Limits
	if l.Memory > u.Memory || l.Procs > u.Procs || l.Time > u.Time || l.Memory <= 0 || l.Procs <= 0 || l.Time <= 0 {
		t.Fatalf("limits %+v", l)
	}
	if c.Push.Timeout > before.Push.Timeout || c.Push.Depth > before.Push.Depth || c.Pull.Timeout > before.Pull.Timeout ||
		c.Pull.MaxBundle > before.Pull.MaxBundle || c.Pull.MaxBlob > before.Pull.MaxBlob {
		t.Fatalf("push %+v, pull %+v", c.Push, c.Pull)
	}
	if c.Box.Backend == "worktree" || c.Box.Backend == "container" || len(c.Box.Accept) > len(before.Box.Accept) ||
		len(c.Box.Caches) > len(before.Box.Caches) {
		t.Fatalf("box %+v", c.Box)
	}
	if !reflect.DeepEqual(c.Notify, before.Notify) || !reflect.DeepEqual(c.Box.Env, before.Box.Env) ||
		c.Box.Setup != nil ||
		c.Box.Name != before.Box.Name || c.Agent != before.Agent {
		t.Fatalf("%+v", c)
	}
}
