package view

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/app"
)

// byDoor asks by doors as sessions have them, whose rules lead to every name of this machine.
func (a *attacker) byDoor(cco *app.App) Result {
	r := Result{Attack: "door", What: "a session asks by the door of its box, which rules open to this machine"}
	dir, err := os.MkdirTemp("", "cco-verify-")
	if err != nil {
		r.Untried = err.Error()
		return r
	}
	defer func() { _ = os.RemoveAll(dir) }()
	// Without something that is reached by the same rules, a door that leads nowhere would seem safe.
	control, err := new(net.ListenConfig).Listen(a.ctx, "tcp", net.JoinHostPort(a.base.Hostname(), "0"))
	if err != nil {
		r.Untried = err.Error()
		return r
	}
	defer func() { _ = control.Close() }()
	go func() {
		_ = http.Serve(control, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { //nolint:gosec // for a moment
			_, _ = io.WriteString(w, reached)
		}))
	}()
	_, port, _ := net.SplitHostPort(control.Addr().String())
	for _, mode := range []string{"allowlist", "open"} { // "none" has no door
		why, err := a.throughDoor(cco, mode, dir, port)
		if err != nil {
			why = err.Error()
		}
		if why != "" {
			r.Detail = "mode " + mode + ": " + why
			return r
		}
	}
	r.Held = true
	return r
}

// reached is what the control says.
const reached = "reached by a door"

// throughDoor opens a door in a mode, asks by it, and says what is wrong with what came back.
func (a *attacker) throughDoor(cco *app.App, mode, dir, control string) (why string, err error) {
	names := []string{a.base.Hostname(), "127.0.0.1", "localhost", "[::1]", "0.0.0.0", "[::ffff:127.0.0.1]", "127.0.0.2"}
	var rules []string
	for _, host := range names {
		rules = append(rules, host+":"+a.base.Port(), host+":"+control)
	}
	d, err := cco.OpenDoor(a.ctx, dir, mode, rules)
	if err != nil {
		return "", err
	}
	defer d.Close()
	for _, way := range []string{"GET http://%s" + harmless + " HTTP/1.1\r\nHost: %[1]s\r\n%[2]s",
		"CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n%[2]s\r\nGET " + harmless + " HTTP/1.1\r\nHost: %[1]s\r\n"} {
		ask := func(host, port string) (string, error) {
			c, err := new(net.Dialer).DialContext(a.ctx, "unix", d.Way().Socket)
			if err != nil {
				return "", err
			}
			defer func() { _ = c.Close() }()
			_ = c.SetDeadline(time.Now().Add(20 * time.Second))
			who := "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("cco:"+d.Token())) + "\r\n"
			_, _ = fmt.Fprintf(c, way+"Connection: close\r\nAuthorization: Bearer "+a.token+"\r\n\r\n", host+":"+port, who)
			got, _ := io.ReadAll(io.LimitReader(c, 1<<16)) // it may be hung up on
			return string(got), nil
		}
		if got, err := ask(a.base.Hostname(), control); err != nil || !strings.Contains(got, reached) {
			return fmt.Sprintf("the door leads nowhere, so nothing was tried: %.200q", got), err
		}
		for _, host := range names {
			if got, err := ask(host, a.base.Port()); err != nil || strings.Contains(got, "Content-Security-Policy") {
				return fmt.Sprintf("%s is answered: %.200q", host, got), err
			}
		}
	}
	return "", nil
}
