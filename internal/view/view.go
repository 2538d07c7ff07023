// Package view serves the page on which a person sees what cco does, decides and steers: to this machine alone, and to
// nobody who was not let in.
package view

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/app/phases"
	"github.com/cco-dev/cco/internal/view/api"
	"github.com/cco-dev/cco/internal/view/entry"
	"github.com/cco-dev/cco/internal/view/pages"
)

// Options are how a page is served.
type Options struct {
	Listen  string // "" is where it was the last time, or the usual port
	Hosts   []string
	Version string
	Class   func(error) int
	Repos   []string // in which runs may be started from the page, beside those that cco has worked in
}

// usualPort is tried first, so that addresses can be kept.
const usualPort = 7626

// Serve serves the page until the context ends. Ready is called when it can be reached. If another process serves this
// data directory already, that one is given, and nothing is served.
func Serve(ctx context.Context, p *phases.Phases, o Options, ready func(Found) error) (other Found, err error) {
	at, err := openPlace(p.Dirs.Data)
	if err != nil {
		return other, err
	}
	unlock, first, err := at.lock()
	if err != nil {
		return other, err
	}
	if !first {
		other, err = at.read()
		if err != nil {
			return other, fmt.Errorf("another `cco view` runs, and does not say where: %w", err)
		}
		return other, nil
	}
	defer func() { err = errors.Join(err, unlock()) }()
	l, err := listen(ctx, at, o.Listen)
	if err != nil {
		return other, err
	}
	if err := checkPeers(l.Addr()); err != nil {
		return other, errors.Join(err, l.Close())
	}
	found := Found{Address: "http://" + l.Addr().String(), PID: os.Getpid(), Log: at.file("log.jsonl")}
	sessions, done, err := p.Sessions(ctx)
	if err != nil {
		return other, errors.Join(err, l.Close())
	}
	defer done()
	keys := &keyring{at: at, life: ctx}
	in, err := entry.New(keys.now, netip.MustParseAddrPort(l.Addr().String()), o.Hosts, time.Now)
	if err != nil {
		return other, errors.Join(err, l.Close())
	}
	keys.forget = in.Forget
	keys.now() // programs find the token
	go keys.watch()
	desk := &api.Desk{App: p, Sessions: sessions, Version: o.Version, Ticket: in.Ticket, Class: o.Class,
		LogFile: found.Log, Now: time.Now, Life: ctx, Repos: o.Repos}
	in.Came = func(v entry.Visitor) { desk.Note(v, "come in", "", nil, "done") }
	silence, err := listenToCommands(ctx, at, func(word string) string {
		desk.Note(entry.Visitor{Agent: "cco view"}, word, "", nil, "done")
		if word == wordCode {
			return found.Address + " " + in.Code()
		}
		keys.now()
		return "done"
	})
	if err != nil {
		return other, errors.Join(err, l.Close())
	}
	defer silence()
	if err := at.write(found); err != nil {
		return other, errors.Join(err, l.Close())
	}
	g := newGuests()
	return other, serve(ctx, ownListener{l}, handler(in, desk, g), g, func() error { return ready(found) })
}

// handler puts the entry before everything.
func handler(in *entry.Entry, desk *api.Desk, g *guests) http.Handler {
	answers, shown := desk.Handler(), pages.Handler(func(r *http.Request) string { return entry.Nonce(r.Context()) })
	return in.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if entry.LetIn(r.Context()) {
			g.letIn(r)
		}
		if strings.HasPrefix(r.URL.Path, "/api/") {
			answers.ServeHTTP(w, r)
			return
		}
		shown.ServeHTTP(w, r)
	}), pages.Public, pages.ScriptHashes()...)
}

func serve(ctx context.Context, l net.Listener, h http.Handler, g *guests, ready func() error) error {
	requests, end := context.WithCancel(ctx)
	defer end()
	s := &http.Server{
		// Browsers open connections before they need them, and take one that is closed then for a failure.
		Handler: h, ReadHeaderTimeout: 5 * time.Minute, IdleTimeout: 5 * time.Minute,
		MaxHeaderBytes: 1 << 20, // other ports can set as many cookies
		BaseContext:    func(net.Listener) context.Context { return requests }, ConnContext: g.come, ConnState: g.changed,
		DisableGeneralOptionsHandler: true,                       // OPTIONS * is asked of us by name, too
		ErrorLog:                     log.New(io.Discard, "", 0), // a client that says nonsense gets an answer, and no line
	}
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(l) }()
	if err := ready(); err != nil {
		return errors.Join(err, s.Close())
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	end() // streams never end by themselves
	soon, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := s.Shutdown(soon); err != nil {
		return s.Close()
	}
	return nil
}

// listen listens on loopback alone: where the user says, or where addresses that were kept lead to.
func listen(ctx context.Context, at place, address string) (net.Listener, error) {
	var lc net.ListenConfig
	if address != "" {
		a, err := netip.ParseAddrPort(address)
		if err != nil || !a.Addr().IsLoopback() || a.Addr().Zone() != "" {
			return nil, app.Usagef("--listen %s: give an address of this machine alone, such as 127.0.0.1:%d; a tunnel "+
				"(ssh -L, tailscale) brings it elsewhere", address, usualPort)
		}
		return lc.Listen(ctx, "tcp", address)
	}
	tries := []string{fmt.Sprintf("127.0.0.1:%d", usualPort), "127.0.0.1:0"}
	if before, err := at.read(); err == nil {
		if a, err := netip.ParseAddrPort(strings.TrimPrefix(before.Address, "http://")); err == nil && a.Addr().IsLoopback() {
			tries = append([]string{a.String()}, tries...)
		}
	}
	var wrong error
	for _, t := range tries {
		l, err := lc.Listen(ctx, "tcp", t)
		if err == nil {
			return l, nil
		}
		wrong = errors.Join(wrong, err)
	}
	return nil, wrong
}

// NotRunningError says that no page is served.
type NotRunningError struct{}

func (*NotRunningError) Error() string { return "no page is served: `cco view` does it" }

// WrongState marks an error about a state.
func (*NotRunningError) WrongState() {}
