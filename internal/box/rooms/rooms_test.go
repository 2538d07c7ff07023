package rooms

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
)

func TestUnprivileged(t *testing.T) {
	if got := unprivileged("1000", "1001"); got != (Identity{cage.User{UID: 1000, GID: 1001}}) {
		t.Errorf("for a sudo user: %v", got)
	}
	for _, bad := range [][2]string{{"", ""}, {"0", "0"}, {"1000", ""}, {"x", "1"}, {"-1", "5"}} {
		if got := unprivileged(bad[0], bad[1]); got.UID < cage.FirstUID || got.GID < cage.FirstUID {
			t.Errorf("for %q: %v", bad, got)
		}
	}
}

func TestRefusedMounts(t *testing.T) {
	root := t.TempDir()
	b := &box.Box{Name: "test", Dir: filepath.Join(root, "boxes", "test"), Exchange: filepath.Join(root, "exchange")}
	data := filepath.Dir(b.Exchange)
	home := t.TempDir()
	tools := filepath.Join(home, "tools")
	link := filepath.Join(home, "link")
	socket := filepath.Join(home, "fifo")
	for _, err := range []error{os.MkdirAll(b.Dir, 0o700), os.MkdirAll(b.Exchange, 0o700), os.Mkdir(tools, 0o700),
		os.Symlink(data, link), syscall.Mkfifo(socket, 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []string{"/", "/proc", "/proc/sys", "/sys/fs", "/dev", "/run", "/etc", "/home", "relative", "",
		data, b.Dir, filepath.Dir(data), link, socket, "/nowhere", "/run/docker.sock"} {
		if err := CheckMount(b, bad); err == nil {
			t.Errorf("%q may be mounted", bad)
		}
	}
	for _, good := range []string{tools, "/usr/share"} {
		if err := CheckMount(b, good); err != nil {
			t.Error(err)
		}
	}
}
