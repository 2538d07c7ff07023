//go:build heavy

package agent_test

import (
	"net"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/agent/agenttest"
	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/must"
)

var escapes = regexp.MustCompile(`\x1b\[[0-9;?<>=]*[A-Za-z]|\x1b\][^\x07\x1b]*(\x07|\x1b\\)`)

// Guards against a limit that looks like a lost login: on a terminal the door's answer is the last that the user sees
// of the agent. Its words must stand there, and no advice that can't help.
func TestRealLimitOnATerminal(t *testing.T) {
	for _, name := range clis() {
		t.Run(name, func(t *testing.T) {
			step := agenttest.Shell("echo done > worked")
			step.Usage.Input, step.Usage.Output = 100, 100
			s := newStage(t, name, step, agenttest.Say("over"))
			s.task.Interactive = true
			refused := s.behindADoor(t, broker.Limits{Tokens: 150})
			var since time.Time
			text := ""
			says := func() bool { return strings.Contains(strings.ReplaceAll(text, " ", ""), "limitofthissessionisreached") }
			s.onTerminal(t, "", func(screen string) bool {
				if refused.Load() > 0 && since.IsZero() {
					since = time.Now()
				}
				text = strings.Join(strings.Fields(escapes.ReplaceAllString(screen, " ")), " ")
				return !since.IsZero() && time.Since(since) > 8*time.Second && says() // it has had time to ask again
			})
			t.Logf("%s: %d refusals", name, refused.Load())
			// gemini asks another model of its own choice before it gives up.
			if n := refused.Load(); n == 0 || n > 5 {
				t.Errorf("it asked %d times after the limit", n)
			}
			for _, no := range []string{"/login", "auth login", "API key"} {
				if strings.Contains(text, no) {
					t.Errorf("the screen says %q:\n%s", no, text)
				}
			}
			if !says() {
				t.Errorf("the screen doesn't say why:\n%s", text)
			}
		})
	}
}

// behindADoor puts a door with limits before the stage's model, and counts what the limits refuse.
func (s *stage) behindADoor(t *testing.T, limits broker.Limits) *atomic.Int64 {
	t.Helper()
	p := must.Get(broker.FindProvider(s.a.Provider()))(t)
	base := must.Get(url.Parse(s.model.URL))(t)
	var refused atomic.Int64
	door := must.Get(broker.Open(broker.Config{Token: s.task.Token, Models: []broker.Upstream{{Provider: p, Base: base}},
		Limits: limits,
		Record: func(e broker.Entry) {
			if e.Decision == broker.Limited {
				refused.Add(1)
			}
		}}))(t)
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	go func() { _ = door.Serve(l) }()
	t.Cleanup(func() { _ = door.Close() })
	s.task.Door = l.Addr().String()
	return &refused
}
