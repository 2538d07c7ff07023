package socket

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

func TestSocketsOfAnyDepth(t *testing.T) {
	for _, depth := range []int{1, 40, 300} {
		dir := filepath.Join(t.TempDir(), strings.Repeat("d/", depth))
		must.Do(t, os.MkdirAll(dir, 0o700))
		path := filepath.Join(dir, "s")
		// Guards against what somebody has put in its place: a directory that is not empty, or a link.
		must.Do(t, os.MkdirAll(filepath.Join(path, "in the way"), 0o700))
		l := must.Get(ListenAll(path))(t)
		if info, err := os.Lstat(path); err != nil || info.Mode() != os.ModeSocket|0o666 {
			t.Errorf("%v, %v", info, err)
		}
		go func() {
			if c, err := l.Accept(); err == nil {
				_, _ = c.Write([]byte("hello"))
				_ = c.Close()
			}
		}()
		c := must.Get(Dial(t.Context(), path))(t)
		if text, err := io.ReadAll(c); string(text) != "hello" {
			t.Errorf("%q, %v", text, err)
		}
		_ = c.Close()
		_ = l.Close()
		if _, err := Dial(t.Context(), path); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("nobody is there: %v", err)
		}
	}
}

// Guards against a link that an agent puts in the place of a socket: its target must not be opened to all.
func TestNoLinkIsOpenedToAll(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	must.Do(t, errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink(file, link)))
	if err := openToAll(link); !errors.Is(err, syscall.ENOTSOCK) {
		t.Errorf("a link: %v", err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("it is open: %v, %v", info, err)
	}
}
