//go:build heavy && linux

package crash_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cco-dev/cco/internal/cruise/cruisetest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// Guards against a machine that lives and reaches nobody: others go on with its phases, and what it does when it
// reaches them again is refused. Every machine has a network of its own, with one link to the service and the forge.
func TestAMachineWhoseNetworkIsCut(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Log("networks of their own are made as root alone")
		return
	}
	bin := cruisetest.Build(t)
	calm := newCrew(t, cruisetest.New, bin, 1).start().carry(t, "", nil)
	ways := []string{bothWays, fromIt, toIt}
	stages := []string{"reviewing"}
	var held []string
	if os.Getenv("SOAK") != "" {
		stages, held = []string{"naming", "working", "reviewing", "answering", "fixing"}, boundaries()
	}
	for i, at := range append(stages, held...) {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			f, stage, way := newCrew(t, cruisetest.New, bin, 2), at, ways[(i/2+i)%len(ways)]
			if i >= len(stages) {
				stage = ""
				f.holdAt(at)
			}
			var links []*link
			for _, m := range f.machines {
				links = append(links, connect(t, m, f.user))
			}
			f.start()
			got := f.carry(t, stage, func(id string) {
				i := f.home(t, id)
				links[i].cut(t, way)
				if f.held != "" {
					f.release(t) // it goes on with the very step
				}
				f.takenOver(t, id, i)
				links[i].mend(t, way)
			})
			if got != calm {
				t.Errorf("it ends differently\n--- cut off %s\n%s\n--- left alone\n%s", way, got, calm)
			}
		})
	}
}

// Guards against a machine that does as if nothing had been, when it is reached again after a while.
func TestAMachineWhoseNetworkIsCutForAWhile(t *testing.T) {
	if os.Getenv("SOAK") == "" || os.Getuid() != 0 {
		return // it takes minutes, and networks of their own are made as root alone
	}
	t.Parallel()
	bin := cruisetest.Build(t)
	calm := newCrew(t, cruisetest.New, bin, 1).start().carry(t, "", nil)
	for _, long := range []time.Duration{2 * time.Second, 10 * time.Second, time.Minute, gone(t)} {
		t.Run(long.String(), func(t *testing.T) {
			t.Parallel()
			f := newCrew(t, cruisetest.New, bin, 2)
			var links []*link
			for _, m := range f.machines {
				links = append(links, connect(t, m, f.user))
			}
			f.patience = 10*time.Minute + long
			f.start()
			mended := make(chan struct{})
			got := f.carry(t, "reviewing", func(id string) {
				i := f.home(t, id)
				links[i].cut(t, bothWays)
				time.AfterFunc(long, func() { links[i].mend(t, bothWays); close(mended) })
			})
			<-mended // also if it ended elsewhere before
			if got != calm {
				t.Errorf("it ends differently\n--- cut off for %v\n%s\n--- left alone\n%s", long, got, calm)
			}
		})
	}
}

// link is the only way from a machine to everything else.
type link struct{ name, space, here, there string }

// The ways in which a link is cut. What is sent one way arrives while no answer does, or the other way round.
const (
	bothWays = "both ways"
	fromIt   = "from the machine"
	toIt     = "to the machine"
)

func (l *link) cut(t *testing.T, way string) {
	t.Helper()
	switch way {
	case fromIt:
		ip(t, "-n", l.space, "route", "add", "blackhole", l.here+"/32")
	case toIt:
		ip(t, "route", "add", "blackhole", l.there+"/32")
	default:
		ip(t, "link", "set", l.name, "down")
	}
}

func (l *link) mend(t *testing.T, way string) {
	t.Helper()
	switch way {
	case fromIt:
		ip(t, "-n", l.space, "route", "del", "blackhole", l.here+"/32")
	case toIt:
		ip(t, "route", "del", "blackhole", l.there+"/32")
	default:
		ip(t, "link", "set", l.name, "up")
	}
}

func ip(t *testing.T, args ...string) {
	t.Helper()
	must.Do(t, proc.Run(context.WithoutCancel(t.Context()), proc.Cmd{Argv: append([]string{"ip"}, args...)}))
}

// connect gives a machine a network of its own. What listens on this host's loopback listens on the machine's too, and
// is reached over the link.
func connect(t *testing.T, m, user *cruisetest.Rig) *link {
	t.Helper()
	id := strings.ToLower(rand.Text()[:10])
	space := "cco" + id
	l := &link{name: "c" + id, space: space}
	ip(t, "netns", "add", space)
	t.Cleanup(func() { ip(t, "netns", "del", space) })
	ip(t, "link", "add", l.name, "type", "veth", "peer", "name", "eth0", "netns", space)
	// A pair of addresses that no other link here has.
	n := must.Get(net.InterfaceByName(l.name))(t).Index
	at := func(end int) string { return fmt.Sprintf("10.199.%d.%d", n>>6&0xff, n&0x3f<<2|end) }
	here, there := at(1), at(2)
	l.here, l.there = here, there
	ip(t, "addr", "add", here+"/30", "dev", l.name)
	ip(t, "-n", space, "addr", "add", there+"/30", "dev", "eth0")
	ip(t, "link", "set", l.name, "up")
	ip(t, "-n", space, "link", "set", "eth0", "up")
	ip(t, "-n", space, "link", "set", "lo", "up")
	ns := must.Get(os.Open("/run/netns/" + space))(t)
	t.Cleanup(func() { _ = ns.Close() })
	for _, port := range ports(t, user) {
		outside := must.Get(net.Listen("tcp", here+":0"))(t)
		to := outside.Addr().String()
		go passOn(t, outside, func() (net.Conn, error) { return net.DialTimeout("tcp", "127.0.0.1:"+port, time.Minute) })
		var inside net.Listener
		within(t, ns, func() (err error) {
			inside, err = net.Listen("tcp", "127.0.0.1:"+port)
			return err
		})
		go passOn(t, inside, func() (c net.Conn, err error) {
			err = in(ns, func() (err error) {
				c, err = net.DialTimeout("tcp", to, time.Minute)
				return err
			})
			return c, err
		})
	}
	m.Within = []string{"ip", "netns", "exec", space}
	return l
}

// ports are those of the service and the forge.
func ports(t *testing.T, user *cruisetest.Rig) (all []string) {
	t.Helper()
	text := string(must.Get(os.ReadFile(filepath.Join(user.Home, "config", "cco", "config.toml")))(t))
	_, text, _ = strings.Cut(text, "temporal = \"")
	address, _, _ := strings.Cut(text, "\"")
	_, port, err := net.SplitHostPort(address)
	must.Do(t, err)
	all = append(all, port)
	for _, v := range user.Env {
		if host, ok := strings.CutPrefix(v, "GH_HOST="); ok {
			_, port, err := net.SplitHostPort(host)
			must.Do(t, err)
			all = append(all, port)
		}
	}
	return all
}

// within does something in another network.
func within(t *testing.T, ns *os.File, do func() error) {
	t.Helper()
	must.Do(t, in(ns, do))
}

func in(ns *os.File, do func() error) error {
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			failed <- err
			return
		}
		failed <- do()
	}()
	return <-failed
}

// passOn passes every connection on, until the test ends.
func passOn(t *testing.T, l net.Listener, dial func() (net.Conn, error)) {
	stop := context.AfterFunc(t.Context(), func() { _ = l.Close() })
	defer stop()
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = c.Close() }()
			to, err := dial()
			if err != nil {
				return
			}
			defer func() { _ = to.Close() }()
			end := context.AfterFunc(t.Context(), func() { _, _ = c.Close(), to.Close() })
			defer end()
			done := make(chan struct{}, 2)
			pass := func(to, from net.Conn) {
				_, _ = io.Copy(to, from)
				if w, ok := to.(*net.TCPConn); ok {
					_ = w.CloseWrite()
				}
				done <- struct{}{}
			}
			go pass(to, c)
			go pass(c, to)
			<-done
			<-done
		}()
	}
}
