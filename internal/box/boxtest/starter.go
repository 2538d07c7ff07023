package boxtest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/cco-dev/cco/internal/box"
)

const starterVariable = "CCO_BOXTEST_STARTER"

// errand tells a process that only calls Run what to run.
type errand struct {
	Box           box.Box
	Dir, Exchange string
	Session       string
	Argv          []string
}

// starterEnv is the variable that turns this test program into a starter, see Main.
func starterEnv(s *suite, session string, argv []string) string {
	data, err := json.Marshal(errand{*s.box, s.box.Dir, s.box.Exchange, session, argv})
	s.must(err)
	return starterVariable + "=" + string(data)
}

// Main is a driver's TestMain: it runs the tests, or the one Run that a test wants to see killed. It builds the real
// cco-box first, and returns the exit code.
func Main(m *testing.M, driver func() box.Driver) int {
	remove, err := buildTool()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer remove()
	text, ok := os.LookupEnv(starterVariable)
	if !ok {
		return m.Run()
	}
	var e errand
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	e.Box.Dir, e.Box.Exchange = e.Dir, e.Exchange
	if err := driver().Run(context.Background(), &e.Box, box.Exec{Session: e.Session, Argv: e.Argv}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
