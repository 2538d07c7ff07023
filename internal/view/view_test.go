package view

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/app/phases"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/term"
	"github.com/cco-dev/cco/internal/view/entry"
)

// newApp is cco with a home of its own.
func newApp(t *testing.T) *phases.Phases {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_DATA_HOME", filepath.Join(home, "data"))
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	io, _, _ := term.Test("")
	return &phases.Phases{App: must.Get(app.New(io))(t)}
}

// start serves the page until the test ends, and says where.
func start(t *testing.T, p *phases.Phases, listen string) (Found, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	found, done := make(chan Found, 1), make(chan error, 1)
	go func() {
		_, err := Serve(ctx, p, Options{Listen: listen, Class: func(error) int { return 1 }}, func(f Found) error {
			found <- f
			return nil
		})
		done <- err
	}()
	stop := func() {
		cancel()
		must.Do(t, <-done)
		done <- nil
	}
	t.Cleanup(stop)
	select {
	case f := <-found:
		return f, stop
	case err := <-done:
		done <- nil
		t.Fatal(err)
	}
	return Found{}, stop
}

// Every attack is tried against the real listener.
func TestNobodyComesInUninvited(t *testing.T) {
	p := newApp(t)
	found, _ := start(t, p, "127.0.0.1:0")
	a := attackOn(t, p.Dirs.Data, found.Address)
	for _, at := range attacks() {
		for _, r := range at.requests(a) {
			if why := a.try(at, r); why != "" {
				t.Errorf("%s: %s: %s", at.name, at.what, why)
			}
		}
	}
	for _, wrong := range a.headers() {
		t.Error(wrong)
	}
}

// Guards against attacks that find everything held because they no longer reach anything.
func TestTheAttacksNoticeAnOpenDoor(t *testing.T) {
	p := newApp(t)
	if _, _, err := Code(t.Context(), p.Dirs.Data); !errors.As(err, new(*NotRunningError)) {
		t.Errorf("without a server: %v", err)
	}
	open := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		w.WriteHeader(http.StatusOK)
	}))
	defer open.Close()
	a := &attacker{t: t, base: must.Get(url.Parse(open.URL))(t), token: "token", cookie: "cookie=value"}
	for _, at := range attacks() {
		for _, r := range at.requests(a) {
			if a.try(at, r) == "" {
				t.Errorf("%s finds that an open door holds", at.name)
			}
		}
	}
	if len(a.headers()) == 0 {
		t.Error("missing headers are not missed")
	}
}

// Guards against a key that is removed and lets people in all the same, or that locks its owner out.
func TestWhoIsForgottenIsSentAwayAtOnce(t *testing.T) {
	p := newApp(t)
	found, stop := start(t, p, "127.0.0.1:0")
	data := p.Dirs.Data
	for name, forget := range map[string]func(){
		"by hand": func() { must.Do(t, os.Remove(filepath.Join(data, "view", "key"))) },
		"by the command": func() {
			if !must.Get(Forget(t.Context(), data))(t) {
				t.Error("the page is not found")
			}
		}} {
		a := attackOn(t, data, found.Address)
		old := a.token
		listen := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, found.Address+"/api/v1/events", nil))(t)
		listen.Header.Set("Authorization", "Bearer "+old)
		stream, err := http.DefaultClient.Do(listen)
		must.Do(t, err)
		_, unused, err := Code(t.Context(), data)
		must.Do(t, err)
		forget()
		browser := a.from("", "same-origin", request{path: harmless})
		program := request{path: harmless, headers: map[string]string{"Authorization": "Bearer " + old}}
		code := a.from(a.origin(), "same-origin", request{method: "POST", path: entry.EnterPath,
			body: fmt.Sprintf(`{"code":%q}`, unused), headers: map[string]string{"Cookie": ""}})
		for what, r := range map[string]request{"its browser": browser, "its token": program, "an unused code": code} {
			if resp := a.send(r); resp.status != http.StatusUnauthorized {
				t.Errorf("%s: %s gets %d", name, what, resp.status)
			}
		}
		_, _ = io.Copy(io.Discard, stream.Body) // it ends: this test hangs otherwise
		_ = stream.Body.Close()
		if again := attackOn(t, data, found.Address); again.token == old {
			t.Errorf("%s: the token is the old one", name)
		}
	}
	stop()
	if must.Get(Forget(t.Context(), data))(t) {
		t.Error("a page that has ended is found")
	}
}

// Guards against a token that goes to whoever has taken the port: commands speak to the page at its socket alone.
func TestCommandsSendNothingToThePort(t *testing.T) {
	p := newApp(t)
	heard := make(chan string, 10)
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { heard <- r.URL.Path }))
	defer thief.Close()
	_, stop := start(t, p, "127.0.0.1:0")
	must.Do(t, placeOf(p.Dirs.Data).write(Found{Address: thief.URL}))
	_, code, err := Code(t.Context(), p.Dirs.Data)
	must.Do(t, err)
	address, _, err := Jump(t.Context(), p.Dirs.Data)
	if err != nil || address == thief.URL || code == "" {
		t.Errorf("it leads to %s: %v", address, err)
	}
	_ = must.Get(Forget(t.Context(), p.Dirs.Data))(t)
	stop()
	if _, _, err := Code(t.Context(), p.Dirs.Data); !errors.As(err, new(*NotRunningError)) {
		t.Errorf("where only the thief is: %v", err)
	}
	select {
	case path := <-heard:
		t.Errorf("the port was asked for %s", path)
	default:
	}
}

func TestAPageIsServedOnce(t *testing.T) {
	p := newApp(t)
	first, stop := start(t, p, "127.0.0.1:0")
	other := must.Get(Serve(t.Context(), p, Options{}, func(Found) error { return errors.New("two") }))(t)
	if other != first {
		t.Errorf("the second says %+v, the first is %+v", other, first)
	}
	stop()
	if _, _, err := Code(t.Context(), p.Dirs.Data); !errors.As(err, new(*NotRunningError)) {
		t.Errorf("after its end: %v", err)
	}
	// Addresses that were kept lead to the next one, and so do cookies.
	key := must.Get(os.ReadFile(filepath.Join(p.Dirs.Data, "view", "key")))(t)
	again, stop := start(t, p, "")
	for tries := 0; again.Address != first.Address; tries++ {
		if tries == 5 { // another program may have taken the port meanwhile, but not each time
			t.Fatalf("it moved from %s to %s", first.Address, again.Address)
		}
		stop()
		first, stop = start(t, p, "127.0.0.1:0")
		stop()
		again, stop = start(t, p, "")
	}
	if string(must.Get(os.ReadFile(filepath.Join(p.Dirs.Data, "view", "key")))(t)) != string(key) {
		t.Error("its key has changed")
	}
	stop()
}

func TestOnlyThisMachineIsListenedTo(t *testing.T) {
	p := newApp(t)
	for _, bad := range []string{"0.0.0.0:0", "[::]:0", ":0", "192.0.2.1:80", "localhost:0", "x", "127.0.0.1",
		"[fe80::1%lo]:0"} {
		_, err := Serve(t.Context(), p, Options{Listen: bad}, func(Found) error { return errors.New("it serves") })
		if !errors.As(err, new(*app.UsageError)) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// Guards against a token where others can read it: files that others open, arguments, the address.
func TestSecretsStayWithTheUser(t *testing.T) {
	p := newApp(t)
	f, _ := start(t, p, "127.0.0.1:0")
	token := tokenOf(t, p.Dirs.Data)
	_, file, err := Jump(t.Context(), p.Dirs.Data)
	must.Do(t, err)
	must.Do(t, filepath.WalkDir(filepath.Join(p.Dirs.Data, "view"), func(path string, d fs.DirEntry, err error) error {
		info := must.Get(d.Info())(t)
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	}))
	data, _ := json.Marshal(f)
	if strings.Contains(string(data), token) {
		t.Error("the address has the token in it")
	}
	page := string(must.Get(os.ReadFile(file))(t))
	if strings.Contains(page, token) || !strings.Contains(page, "#code=") {
		t.Errorf("the file that leads in is\n%s", page)
	}
}
