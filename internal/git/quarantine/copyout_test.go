package quarantine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cco-dev/cco/internal/must"
)

func TestCopyOut(t *testing.T) {
	dir, dst := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	content := bytes.Repeat([]byte("0123456789"), 300_000)
	write(t, filepath.Join(dir, "sub/dir/f"), content)
	c := must.Get(CopyOut(t.Context(), dir, "sub/dir/f", dst, int64(len(content))))(t)
	sum := sha256.Sum256(content)
	if want := hex.EncodeToString(sum[:]); c != want {
		t.Errorf("got %s, want %s", c, want)
	}
	if got, err := os.ReadFile(dst); err != nil || !bytes.Equal(got, content) {
		t.Errorf("copied %d bytes, %v", len(got), err)
	}
	if _, err := CopyOut(t.Context(), dir, "sub/dir/f", dst, 1<<30); !errors.Is(err, os.ErrExist) {
		t.Errorf("wrote over a file: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := CopyOut(ctx, dir, "sub/dir/f", dst+"2", 1<<30); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(t, os.WriteFile(path, content, 0o600))
}

func TestCopyOutRefusesWhatIsNoPlainFile(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir) // the path of a socket has to be short
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "file"), []byte("hello"))
	write(t, filepath.Join(dir, "real/file"), []byte("hello"))
	write(t, filepath.Join(dir, "linked"), []byte("secret of the host"))
	must(os.Link(filepath.Join(dir, "linked"), filepath.Join(dir, "hard")))
	must(os.Symlink("file", filepath.Join(dir, "symlink")))
	must(os.Symlink("/etc/passwd", filepath.Join(dir, "passwd")))
	must(os.Symlink("nowhere", filepath.Join(dir, "dangling")))
	must(os.Symlink("real", filepath.Join(dir, "linkdir")))
	must(unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", "socket")
	must(err)
	defer func() { _ = l.Close() }()
	for _, c := range []struct {
		dir, name string
		rule      Rule
	}{
		{dir, "missing", RuleMissing},
		{dir, "missing/file", RuleMissing},
		{dir, "symlink", RuleSymlinkFile},
		{dir, "passwd", RuleSymlinkFile},
		{dir, "dangling", RuleSymlinkFile},
		{dir, "linkdir/file", RuleSymlinkFile},
		{filepath.Join(dir, "linkdir"), "file", RuleSymlinkFile},
		{dir, "file/file", RuleSymlinkFile},
		{dir, "fifo", RuleFIFO},
		{dir, "socket", RuleSocket},
		{dir, "real", RuleDirectory},
		{dir, "hard", RuleHardLink},
		{"/dev", "null", RuleDevice},
		{"/dev", "zero", RuleDevice},
	} {
		dst := filepath.Join(t.TempDir(), "copy")
		_, err := CopyOut(t.Context(), c.dir, c.name, dst, 1<<20)
		no, ok := errors.AsType[*RefusedError](err)
		if !ok || no.Rule != c.rule {
			t.Errorf("%s: err = %v, want %s", c.name, err, c.rule)
		}
		if _, err := os.Lstat(dst); err == nil {
			t.Errorf("%s: left a copy", c.name)
		}
	}
	for _, name := range []string{"", ".", "..", "../x", "a/../../x", "/etc/passwd", "a//b", "a/"} {
		if _, err := CopyOut(t.Context(), dir, name, filepath.Join(t.TempDir(), "copy"), 1<<20); err == nil {
			t.Errorf("took %q", name)
		}
	}
}

// Guards against trusting a look at the file before or after it was read.
func TestCopyOutSeesAChangeWhileReading(t *testing.T) {
	size := 3 << 20
	for name, c := range map[string]struct {
		change func(path string) error
		rule   Rule
	}{
		"swapped": {func(p string) error {
			if err := os.WriteFile(p+".new", make([]byte, size), 0o600); err != nil {
				return err
			}
			return os.Rename(p+".new", p)
		}, RuleChanged},
		"truncated": {func(p string) error { return os.Truncate(p, 10) }, RuleChanged},
		"grown": {func(p string) error {
			f, err := os.OpenFile(p, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.Write([]byte("more"))
			return errors.Join(err, f.Close())
		}, RuleChanged},
		"grown over the limit": {func(p string) error { return os.Truncate(p, 1<<40) }, RuleTooLarge},
		"removed":              {os.Remove, RuleChanged},
		"linked":               {func(p string) error { return os.Link(p, p+".2") }, RuleChanged},
		"rewritten": {func(p string) error {
			if err := os.WriteFile(p, bytes.Repeat([]byte("x"), size), 0o600); err != nil {
				return err
			}
			return os.Chtimes(p, time.Unix(0, 0), time.Unix(0, 0))
		}, RuleChanged},
		"made a link": {func(p string) error { return errors.Join(os.Rename(p, p+".2"), os.Symlink(p+".2", p)) },
			RuleChanged},
	} {
		t.Run(name, func(t *testing.T) {
			dir, dst := t.TempDir(), filepath.Join(t.TempDir(), "copy")
			write(t, filepath.Join(dir, "f"), make([]byte, size))
			src, err := openBelow(dir, "f")
			if err != nil {
				t.Fatal(err)
			}
			defer src.close()
			once := false
			_, err = src.copyTo(t.Context(), dst, 8<<20, func() {
				if !once {
					once = true
					must.Do(t, c.change(filepath.Join(dir, "f")))
				}
			})
			if no, ok := errors.AsType[*RefusedError](err); !ok || no.Rule != c.rule {
				t.Errorf("err = %v, want %s", err, c.rule)
			}
			if _, err := os.Lstat(dst); err == nil {
				t.Error("left a copy")
			}
		})
	}
}

func TestCopyOutKeepsTheLimit(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "f"), make([]byte, 1001))
	_, err := CopyOut(t.Context(), dir, "f", filepath.Join(t.TempDir(), "copy"), 1000)
	if no, ok := errors.AsType[*RefusedError](err); !ok || no.Rule != RuleTooLarge {
		t.Errorf("err = %v", err)
	}
}

// Across file systems a pack can't be linked.
func TestCopyInsteadOfLink(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "src"), []byte("pack"))
	must.Do(t, copyFile(filepath.Join(dir, "src"), filepath.Join(dir, "dst")))
	if b, _ := os.ReadFile(filepath.Join(dir, "dst")); string(b) != "pack" {
		t.Errorf("copied %q", b)
	}
}
