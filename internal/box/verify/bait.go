package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/host"
	"github.com/cco-dev/cco/internal/box/probe"
	"github.com/cco-dev/cco/internal/box/rooms"
	"github.com/cco-dev/cco/internal/door"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/tree"
)

const secretVariable = "CCO_VERIFY_KEY"

// baits are the bait on the host.
type baits struct {
	dir       string
	files     []baitFile
	listeners []*listener
	closers   []io.Closer
	doors     []*door.Door
	process   *proc.Process
	hold      io.Closer // closing it ends the process
	uid, gid  int       // the box's user, who could read it all
	shm       int
	shared    bool // there is a segment
}

type baitFile struct{ path, text, probe string }

type listener struct {
	net.Listener
	probe string
	calls atomic.Int32
}

// serve counts connections.
func (l *listener) serve() {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go l.countCall(c)
	}
}

// countCall counts a connection. Only probes know the names of sockets; anybody may try a port, but without the words
// that every probe sends, there or to the door.
func (l *listener) countCall(c net.Conn) {
	defer func() { _ = c.Close() }()
	if _, anybodys := l.Addr().(*net.TCPAddr); anybodys {
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		said := make([]byte, 4<<10)
		if n, _ := c.Read(said); !bytes.Contains(said[:n], []byte("cco")) {
			return
		}
	}
	l.calls.Add(1)
}

// lay makes two sessions and lays out everything that a probe could find.
func (t *trial) lay(ctx context.Context) error {
	t.mine, t.other = t.opts.ID(), t.opts.ID()
	t.bait.Secret = "cco-secret-" + t.mine + t.other
	t.bait.Marker = "cco-marker-" + t.mine
	if err := os.Setenv(secretVariable, t.bait.Secret); err != nil {
		return err
	}
	var err error
	if t.place, err = t.driver.Prepare(ctx, t.box, t.mine); err != nil {
		return err
	}
	t.bait.Init = 1
	t.bait.Store, t.bait.Tool, t.bait.Mine = t.place.Store, t.place.Tool, t.place.Exchange
	t.nameHome()
	for _, step := range []func(context.Context) error{t.layOther, t.layFiles, t.layListeners, t.layShown, t.layNames,
		t.layProcess, t.layMemory, t.laySetuid, t.layDoors} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// nameHome names what the user's own home has to lose. Probes read a byte of it, or make a file and remove it.
func (t *trial) nameHome() {
	home, err := os.UserHomeDir()
	if err != nil {
		return
	}
	for _, m := range t.box.Spec.Mounts {
		if m.Write {
			return // what is in there may be written
		}
	}
	t.bait.Logins = host.Logins(home, t.box.Spec.Mounts)
	for _, name := range rooms.DefaultCaches() {
		t.bait.Caches = append(t.bait.Caches, filepath.Join(home, name))
	}
}

// layOther gives the other session a home, a workspace and an exchange directory with a file in each.
func (t *trial) layOther(ctx context.Context) error {
	other, err := t.driver.Prepare(ctx, t.box, t.other)
	if err != nil {
		return err
	}
	name := "bait-" + t.other
	place := map[string]*[]string{other.Exchange: &t.bait.Exchange, other.Home: &t.bait.Homes,
		other.Workspace: &t.bait.Works}
	for dir, list := range place {
		err := t.driver.Run(ctx, t.box, box.Exec{
			Session: t.other, Dir: other.Exchange, Argv: []string{"sh", "-c", `echo theirs > "$1"`, "sh",
				filepath.Join(dir, name)},
		})
		if err != nil {
			return err
		}
		*list = append(*list, filepath.Join(dir, name))
	}
	// These are the same files by the names that they have on the host.
	for _, root := range []string{t.box.Dir, t.box.Exchange} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && filepath.Base(path) == name {
				for _, list := range place {
					*list = append(*list, path)
				}
				t.host.files = append(t.host.files, baitFile{path, "theirs\n", "other-exchange"})
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// layFiles makes a home and a repository that the box's user could read and write if they were visible.
func (t *trial) layFiles(context.Context) error {
	st, err := os.Stat(filepath.Join(t.box.Exchange, t.mine))
	if err != nil {
		return err
	}
	t.host.uid, t.host.gid = os.Getuid(), os.Getgid()
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		t.host.uid, t.host.gid = int(sys.Uid), int(sys.Gid)
	}
	if t.host.dir, err = os.MkdirTemp("", "cco-bait-"); err != nil {
		return err
	}
	t.bait.Home = filepath.Join(t.host.dir, "home", "bait")
	t.bait.Repo = filepath.Join(t.host.dir, "repo")
	for path, name := range map[string]string{t.bait.Home: "host-home",
		filepath.Join(t.bait.Repo, "tracked"): "host-repository-write"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte("the host's\n"), 0o644); err != nil {
			return err
		}
		t.host.files = append(t.host.files, baitFile{path, "the host's\n", name})
		if os.Getuid() == 0 {
			err = errors.Join(os.Chown(path, t.host.uid, t.host.gid), os.Chown(filepath.Dir(path), t.host.uid, t.host.gid))
		}
		if err != nil {
			return err
		}
	}
	return os.Chmod(t.host.dir, 0o755)
}

// layShown shows the box a directory with sockets in it, if boxes show directories of this host.
func (t *trial) layShown(ctx context.Context) error {
	if _, elsewhere := t.driver.(box.Machine); elsewhere {
		return nil
	}
	t.bait.Shown = filepath.Join(t.host.dir, "shown")
	if err := os.Mkdir(t.bait.Shown, 0o755); err != nil {
		return err
	}
	for name, network := range map[string]string{probe.ThereStream: "unix", probe.ThereDatagram: "unixgram"} {
		if err := t.listen(ctx, probe.ShownSocket, network, filepath.Join(t.bait.Shown, name)); err != nil {
			return err
		}
	}
	with := *t.box
	with.Spec.Mounts = append(slices.Clone(with.Spec.Mounts), box.Mount{Path: t.bait.Shown})
	t.box = &with
	return nil
}

func (t *trial) listen(ctx context.Context, name, network, socket string) error {
	var config net.ListenConfig
	if network == "unixgram" {
		c, err := config.ListenPacket(ctx, network, socket)
		if err != nil {
			return err
		}
		t.host.closers = append(t.host.closers, c)
	} else {
		in, err := config.Listen(ctx, network, socket)
		if err != nil {
			return err
		}
		t.count(name, in)
	}
	return os.Chmod(socket, 0o666)
}

// layLater shows one more socket there when a probe requests it: one that can be reached as soon as it is seen.
func (t *trial) layLater(ctx context.Context) {
	if _, ok := awaitLine(ctx, filepath.Join(t.box.Exchange, t.mine, probe.AskFile)); ok {
		beside := t.bait.Shown + "-later"
		if t.listen(ctx, probe.LaterSocket, "unix", beside) == nil { // the probe notices a failure
			_ = os.Rename(beside, filepath.Join(t.bait.Shown, probe.Later))
		}
	}
}

func (t *trial) layListeners(ctx context.Context) error {
	t.bait.Socket = filepath.Join(t.host.dir, "socket")
	// The whole machine shares these names; an id is unique only in this data directory.
	t.bait.Abstract = fmt.Sprintf("cco-bait-%s-%d", t.mine, os.Getpid())
	for _, l := range []struct{ probe, network, address string }{
		{"path-socket", "unix", t.bait.Socket}, {"abstract-socket", "unix", "@" + t.bait.Abstract},
		{"host-loopback", "tcp4", "127.0.0.1:0"},
	} {
		var config net.ListenConfig
		in, err := config.Listen(ctx, l.network, l.address)
		if err != nil {
			return err
		}
		t.count(l.probe, in)
		if tcp, ok := in.Addr().(*net.TCPAddr); ok {
			t.bait.Port = tcp.Port
		}
	}
	return os.Chmod(t.bait.Socket, 0o666)
}

// count counts the connections to a listener.
func (t *trial) count(name string, in net.Listener) {
	l := &listener{Listener: in, probe: name}
	go l.serve()
	t.host.listeners = append(t.host.listeners, l)
}

// layNames answers datagrams, as a name server on the host would.
func (t *trial) layNames(ctx context.Context) error {
	var config net.ListenConfig
	c, err := config.ListenPacket(ctx, "udp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	t.host.closers = append(t.host.closers, c)
	if udp, ok := c.LocalAddr().(*net.UDPAddr); ok {
		t.bait.UDP = udp.Port
	}
	go func() {
		buf := make([]byte, 512)
		for {
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = c.WriteTo(buf[:n], from)
		}
	}()
	return nil
}

// layProcess starts a process outside: it runs as the box's user, with the secret in its environment.
func (t *trial) layProcess(ctx context.Context) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	t.host.hold = w
	start := func(attr func(*syscall.SysProcAttr)) (*proc.Process, error) {
		return proc.Start(ctx, proc.Cmd{
			Path: t.opts.Tool, Argv: []string{"cco-box", "probe", "wait", t.bait.Marker}, Stdin: r,
			Env: []string{secretVariable + "=" + t.bait.Secret}, Attr: attr, TiedToUs: true,
		})
	}
	attr := func(a *syscall.SysProcAttr) {
		if os.Getuid() == 0 {
			a.Credential = &syscall.Credential{Uid: uint32(t.host.uid), Gid: uint32(t.host.gid)}
		}
	}
	t.host.process, err = start(attr)
	if err != nil { // if that user can't run the program, the process has to run as us
		t.host.process, err = start(nil)
	}
	if err != nil {
		return err
	}
	t.bait.Pid = t.host.process.Pid()
	return nil
}

// layMemory makes a segment under the first free key.
func (t *trial) layMemory(context.Context) (err error) {
	for t.bait.Shm = os.Getpid() << 8; ; t.bait.Shm++ {
		t.host.shm, err = unix.SysvShmGet(t.bait.Shm, 4096, unix.IPC_CREAT|unix.IPC_EXCL|0o666)
		if !errors.Is(err, unix.EEXIST) {
			t.host.shared = err == nil
			return err
		}
	}
}

// laySetuid puts a program into the session that would run as root. Only root can do this. The program does no harm if
// it is left behind.
func (t *trial) laySetuid(context.Context) error {
	if os.Getuid() != 0 {
		return nil
	}
	id, err := proc.LookPath("id")
	if err != nil {
		return err
	}
	data, err := os.ReadFile(id)
	if err != nil {
		return err
	}
	path := filepath.Join(t.box.Exchange, t.mine, "setuid")
	if err := os.WriteFile(path, data, 0o755); err != nil {
		return err
	}
	t.bait.Setuid = filepath.Join(t.place.Exchange, "setuid")
	return os.Chmod(path, os.ModeSetuid|0o755)
}

// clear removes all the bait, and asks a survivor to end.
func (t *trial) clear(ctx context.Context) error {
	_ = os.Unsetenv(secretVariable)
	for _, d := range t.host.doors {
		d.Close()
	}
	for _, c := range t.host.closers {
		_ = c.Close()
	}
	for _, l := range t.host.listeners {
		_ = l.Close()
	}
	if t.host.hold != nil {
		_ = t.host.hold.Close()
	}
	if t.host.process != nil {
		_ = t.host.process.Signal(syscall.SIGKILL)
		_ = t.host.process.Wait()
	}
	if t.host.shared {
		_, _ = unix.SysvShmCtl(t.host.shm, unix.IPC_RMID, nil)
	}
	var errs []error
	if t.host.dir != "" {
		errs = append(errs, tree.Remove(t.host.dir))
	}
	for _, id := range []string{t.mine, t.other} {
		if id == "" {
			continue
		}
		errs = append(errs, t.driver.Discard(ctx, t.box, id), tree.Remove(filepath.Join(t.box.Exchange, id)))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("clear away: %w", err)
	}
	return nil
}
