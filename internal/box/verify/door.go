package verify

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cco-dev/cco/internal/box/probe"
	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/door"
	"github.com/cco-dev/cco/internal/proc"
)

// layDoors opens a door for each of the two sessions, as their keepers would, to a network that does not exist.
func (t *trial) layDoors(ctx context.Context) (err error) {
	if t.behind, err = newBehind(ctx); err != nil {
		return err
	}
	t.host.closers = append(t.host.closers, t.behind.server)
	mine, err := t.layDoor(ctx, t.mine)
	if err != nil {
		return err
	}
	other, err := t.layDoor(ctx, t.other)
	if err != nil {
		return err
	}
	t.door = mine
	w := &t.bait.Behind
	w.Allowed, w.Other, w.Token = allowedName, otherName, mine.Token()
	w.Wrong = []string{"", other.Token(), w.Token + "x", w.Token[:len(w.Token)-1], strings.ToLower(w.Token),
		strings.Repeat("x", 8<<10)}
	w.Inside = slices.Sorted(maps.Keys(inside()))
	w.Doors = []string{
		filepath.Join(t.box.Exchange, t.other, door.Socket), path.Join(path.Dir(t.place.Exchange), t.other, door.Socket),
	}
	if w.Hello, err = clientHello(allowedName); err != nil {
		return err
	}
	w.Foreign, err = clientHello(otherName)
	return err
}

func (t *trial) layDoor(ctx context.Context, id string) (d *door.Door, err error) {
	c, err := t.behind.config()
	if err != nil {
		return nil, err
	}
	c.Dir, c.Inside = filepath.Join(t.box.Exchange, id), path.Join(path.Dir(t.place.Exchange), id)
	c.Token = rand.Text() // with letters, so that the probes can change their case
	if t.opts.serve != nil {
		d, err = door.Serve(t.opts.serve(t.behind), c)
	} else {
		d, err = door.Open(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	t.host.doors = append(t.host.doors, d)
	return d, nil
}

// config is the configuration of a door that leads to behind.
func (b *behind) config() (c door.Config, err error) {
	anthropic, err := broker.FindProvider("anthropic")
	if err != nil {
		return c, err
	}
	key, err := broker.NewKey("cco-verify-"+rand.Text(), false)
	if err != nil {
		return c, err
	}
	var rules []broker.Rule
	for _, name := range append(slices.Collect(maps.Keys(inside())), allowedName) {
		r, err := broker.ParseRule(name)
		if err != nil {
			return c, err
		}
		rules = append(rules, r)
	}
	c.Config = broker.Config{
		Session: "verify", Mode: broker.ModeAllowlist, Resolver: b, Dialer: b,
		Allowed: func() ([]broker.Rule, error) { return rules, nil },
		Models: []broker.Upstream{{Provider: anthropic,
			Base: &url.URL{Scheme: "http", Host: b.server.Addr().String()}, Key: key}},
		Record: func(e broker.Entry) { b.ask(e.Host) },
	}
	return c, nil
}

// throughDoor runs the probes that go through a door.
func (t *trial) throughDoor(ctx context.Context) error {
	tried := make(chan struct{})
	ctx, stop := context.WithCancel(ctx)
	go func() {
		defer close(tried)
		t.tryRelay(ctx)
	}()
	defer func() { stop(); <-tried }()
	e := t.inside(probe.Doors()...)
	e.Way = t.door.Way()
	e.Way.Env = []string{probe.DoorVariable + "=" + t.door.Address()}
	if err := t.probe(ctx, e); err != nil {
		return err
	}
	if t.found[probe.Control].Held {
		return errors.New("the door blocks everything, so the probes show nothing")
	}
	t.outside(ctx)
	t.behind.mu.Lock()
	defer t.behind.mu.Unlock()
	if len(t.behind.reached) > 0 {
		t.breach("door-rebinding", "the door connected to "+t.behind.reached[0])
	}
	for _, host := range t.behind.asked {
		if strings.Contains(host, probe.RelayCheck) {
			t.breach(probe.DoorRelay, "the host reached the door through it")
		}
	}
	return nil
}

// tryRelay waits for the relay's port, and requests a name there that only the door's record will show.
func (t *trial) tryRelay(ctx context.Context) {
	port, ok := awaitLine(ctx, filepath.Join(t.box.Exchange, t.mine, probe.RelayFile))
	if !ok {
		return
	}
	knock(ctx, port)
	_ = os.WriteFile(filepath.Join(t.box.Exchange, t.mine, probe.TriedFile), nil, 0o644) // for the probe
}

// awaitLine waits for a probe to write a file of one line.
func awaitLine(ctx context.Context, file string) (string, bool) {
	var text []byte
	for len(text) == 0 || text[len(text)-1] != '\n' {
		select {
		case <-ctx.Done():
			return "", false
		case <-time.After(5 * time.Millisecond):
		}
		text, _ = os.ReadFile(file)
	}
	return strings.TrimSpace(string(text)), true
}

func knock(ctx context.Context, port string) {
	c, err := (&net.Dialer{Timeout: 20 * time.Second}).DialContext(ctx, "tcp4", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second)) // that port on the host may belong to another program
	_, _ = io.WriteString(c, "CONNECT "+probe.RelayCheck+":443 HTTP/1.1\r\nHost: "+probe.RelayCheck+":443\r\n\r\n")
	_, _ = bufio.NewReader(c).ReadString('\n')
}

// outside checks whether another user of this machine could reach a door. Root tries it as a user that does not exist.
func (t *trial) outside(ctx context.Context) {
	socket := filepath.Join(t.box.Exchange, t.mine, door.Socket)
	f := probe.Finding{Probe: probe.DoorOutside, Held: true}
	if !closedToOthers(socket) {
		f = probe.Finding{Probe: probe.DoorOutside, Detail: "every directory above " + socket + " is open to others"}
	}
	if os.Getuid() == 0 {
		err := proc.Run(ctx, proc.Cmd{
			Path: t.opts.Tool, Argv: []string{"cco-box", "probe", "dial", socket}, Dir: "/", Env: []string{},
			Attr: func(a *syscall.SysProcAttr) { a.Credential = &syscall.Credential{Uid: nobody, Gid: nobody} },
		})
		if err == nil {
			f = probe.Finding{Probe: probe.DoorOutside, Detail: fmt.Sprintf("user %d connected to it", nobody)}
		}
	}
	t.found[probe.DoorOutside] = f
}

// nobody is a user who is not the box's user and owns nothing.
const nobody = 65534

// closedToOthers says whether a directory on the way is open only to its owner.
func closedToOthers(file string) bool {
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		if st, err := os.Stat(dir); err == nil && st.Mode().Perm()&0o077 == 0 {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}
