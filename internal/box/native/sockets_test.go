//go:build linux

package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/socket"
)

// bind listens in a directory whose path may be too long for a socket.
func bind(t *testing.T, dir, name string) {
	t.Helper()
	l := must.Get(socket.ListenAll(filepath.Join(dir, name)))(t)
	t.Cleanup(func() { _ = l.Close() })
}

// hostDir makes a directory of the host with a program, a socket and a FIFO in it.
func hostDir(t *testing.T, elements ...string) string {
	t.Helper()
	dir := filepath.Join(append([]string{t.TempDir()}, elements...)...)
	script := []byte("#!/bin/sh\necho it runs\n")
	fifo := filepath.Join(dir, "fifo")
	must.Do(t, errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "program"), script, 0o755),
		unix.Mkfifo(fifo, 0o666), os.Chmod(fifo, 0o666)))
	reader := must.Get(os.OpenFile(fifo, os.O_RDONLY|unix.O_NONBLOCK, 0))(t)
	t.Cleanup(func() { _ = reader.Close() })
	bind(t, dir, "there")
	return dir
}

// reaching reports for each socket in the directory given as its argument whether a connection succeeds.
const reaching = `cd "$1" && ./program
for s in there later; do
	[ -S $s ] || ls | grep -q $s || echo "no $s"
	/run/cco/bin/cco-box probe dial "$PWD/$s" && echo "reached $s"
done
timeout 5 dd if=/dev/zero of=fifo bs=1 count=1 oflag=nonblock 2> /dev/null && echo "reached fifo"; :`

// Guards against a box that reaches sockets of the host in directories that it is shown.
func TestSocketsInMountsAreOutOfReach(t *testing.T) {
	for name, dir := range map[string]string{
		"plain": hostDir(t, "plain"), "odd": hostDir(t, "a:b,c\\d e\nf", "lowerdir=x"),
		"long": hostDir(t, strings.Repeat("l", 200), strings.Repeat("m", 200)),
	} {
		t.Run(name, func(t *testing.T) {
			d, b := created(t)
			link := filepath.Join(t.TempDir(), "link")
			must.Do(t, os.Symlink(dir, link))
			bind(t, dir, "later") // after the box, and after the first program in it
			for _, path := range []string{dir, link} {
				b.Spec.Mounts = []box.Mount{{Path: path}}
				if out, err := shell(t, d, b, box.Exec{Argv: []string{"bash", "-c", reaching, "sh", path}}); err != nil ||
					out != "it runs\n" {
					t.Errorf("%s: %v: %q", path, err, out)
				}
			}
			layers, err := d.Layers(t.Context(), b)
			if at := slices.IndexFunc(layers, func(l box.Layer) bool { return l.Name == "sockets" }); err != nil || at < 0 ||
				!layers[at].Active {
				t.Errorf("%v: %+v", err, layers)
			}
		})
	}
}

// Guards against changing the host when a socket in a writable directory is covered.
func TestSocketsInWritableMounts(t *testing.T) {
	d, b := created(t)
	dir := hostDir(t, "rw")
	must.Do(t, errors.Join(os.Chmod(dir, 0o777), os.Remove(filepath.Join(dir, "fifo"))))
	b.Spec.Mounts = []box.Mount{{Path: dir, Write: true}}
	out, err := shell(t, d, b, box.Exec{Argv: []string{"bash", "-c",
		`cd "$1" && touch new && ./program; /run/cco/bin/cco-box probe dial "$PWD/there" || echo refused`, "sh", dir}})
	if err != nil || out != "it runs\nrefused\n" {
		t.Errorf("%v: %q", err, out)
	}
	if st, err := os.Lstat(filepath.Join(dir, "there")); err != nil || st.Mode()&os.ModeSocket == 0 {
		t.Errorf("it is %v, %v", st, err)
	}
	if left, err := filepath.Glob(dir + "/*"); err != nil || len(left) != 3 {
		t.Errorf("there are %q, %v", left, err)
	}
	layers, err := d.Layers(t.Context(), b)
	if at := slices.IndexFunc(layers, func(l box.Layer) bool { return l.Name == "sockets" }); err != nil ||
		!strings.Contains(layers[at].Detail, dir) {
		t.Errorf("%v: %+v", err, layers)
	}
}

const belowVariable = "CCO_TEST_BELOW"

// below plays a host on which something is mounted below a directory that is shown.
func below(dir string) error {
	if err := unix.Mount("none", filepath.Join(dir, "below"), "tmpfs", 0, "mode=777"); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "below", "file"), []byte("in it\n"), 0o644); err != nil {
		return err
	}
	d := testDriver()
	b := &box.Box{Name: "below", Dir: dir + "-data/boxes/below", Exchange: dir + "-data/exchange",
		Spec: box.Spec{Mounts: []box.Mount{{Path: dir}}}}
	ctx := context.Background()
	if err := d.Create(ctx, b, nil); err != nil {
		return err
	}
	const script = `cd "$1" && ./program && cat below/file; touch new below/new || echo kept; /run/cco/bin/cco-box ` +
		`probe dial "$PWD/there" || echo refused`
	if err := d.Run(ctx, b, box.Exec{Argv: []string{"bash", "-c", script, "sh", dir}, Stdout: os.Stdout}); err != nil {
		return err
	}
	layers, err := d.Layers(ctx, b)
	for _, l := range layers {
		if l.Name == "sockets" {
			_, _ = fmt.Fprintln(os.Stdout, l.Active, strings.Contains(l.Detail, dir), strings.Contains(l.Detail, "/usr"))
		}
	}
	return errors.Join(err, d.Destroy(ctx, b))
}

// Guards against showing a directory only in part, or not at all, because something is mounted below it.
func TestMountsBelowWhatIsShown(t *testing.T) {
	self := must.Get(os.Executable())(t)
	dir := hostDir(t, "top")
	must.Do(t, os.Mkdir(filepath.Join(dir, "below"), 0o755))
	out, err := proc.Output(t.Context(), proc.Cmd{
		Argv: []string{self}, Env: append(os.Environ(), belowVariable+"="+dir),
		Attr: func(a *syscall.SysProcAttr) {
			a.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS
			a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getuid(), Size: 1}}
			a.GidMappings = []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getgid(), Size: 1}}
			a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
		},
	})
	if err != nil || string(out) != "it runs\nin it\nkept\nrefused\nfalse true false\n" {
		t.Errorf("%v: %s", err, out)
	}
}
