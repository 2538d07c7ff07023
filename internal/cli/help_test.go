package cli

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/audit"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/verify"
	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/canary"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/doctor"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/session/attention"
	"github.com/cco-dev/cco/internal/session/keeping"
	"github.com/cco-dev/cco/internal/term"
)

// Guards against a duration in JSON that is a bare number of nanoseconds.
func TestDurationsInJSONHaveTheirUnit(t *testing.T) {
	for _, v := range []any{
		listedSession{}, session.PullResult{}, session.Restored{}, keeping.Remains{}, keeping.Grave{}, attention.Need{},
		session.Event{}, event.Event{}, box.Status{}, app.Bill{}, app.Agent{}, app.Updated{}, app.Reachable{},
		config.Setting{}, doctor.Check{}, verify.Result{}, canary.Report{}, broker.Entry{}, audit.Entry{},
		keeping.Destroyed{},
	} {
		durations(t, reflect.TypeOf(v), reflect.TypeOf(v).String(), map[reflect.Type]bool{})
	}
	text := must.Get(json.Marshal(box.Limits{Memory: 1, Time: 90 * time.Second}))(t)
	var back, old box.Limits
	must.Do(t, json.Unmarshal(text, &back))
	must.Do(t, json.Unmarshal([]byte(`{"time":90000000000,"memory":1}`), &old)) // of a box that was made before
	if string(text) != `{"memory":1,"time_seconds":90}` || back != old || old.Time != 90*time.Second {
		t.Errorf("%s, %+v, %+v", text, back, old)
	}
}

func durations(t *testing.T, typ reflect.Type, at string, seen map[reflect.Type]bool) {
	t.Helper()
	_, own := reflect.New(typ).Interface().(json.Marshaler)
	switch {
	case seen[typ] || own:
		return
	case typ == reflect.TypeFor[time.Duration]():
		t.Errorf("%s is a number of nanoseconds: use unit.Seconds", at)
		return
	}
	seen[typ] = true
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		durations(t, typ.Elem(), at, seen)
	case reflect.Struct:
		for f := range typ.Fields() {
			if f.IsExported() && f.Tag.Get("json") != "-" {
				durations(t, f.Type, at+"."+f.Name, seen)
			}
		}
	}
}

// Guards against codes that are told of commands which are not there any more, and against a code without a meaning.
func TestExitCodesAreOfCommands(t *testing.T) {
	io, _, _ := term.Test("")
	root := must.Get(Root(io))(t)
	for name := range mayExit {
		words := strings.Fields(name)
		if c, rest, err := root.Find(words); err != nil || len(rest) > 0 && !forwards(c) {
			t.Errorf("no command %q: %v", name, err)
		}
	}
	for _, c := range classes() {
		if !strings.Contains(exitText([]int{c.code}), " ") {
			t.Errorf("nothing says what %d means", c.code)
		}
	}
}

// forwards says whether a command hands over to the companion, whose commands are not known here.
func forwards(c *cobra.Command) bool { return c.DisableFlagParsing }

// Guards against a reference that says something else than cco itself.
func TestTheReferenceIsWhatHelpSays(t *testing.T) {
	page := string(must.Get(os.ReadFile("../../docs/reference.md"))(t))
	for _, topic := range []string{"settings", "exit-codes", "plan"} {
		io, out, _ := term.Test("")
		if code := Run(t.Context(), io, []string{"help", topic}); code != 0 || out.Len() == 0 {
			t.Errorf("cco help %s exits with %d", topic, code)
		}
		block := regexp.MustCompile("(?s)`cco help " + topic + "`:\n\n`{3,}text\n(.*?)\n`{3,}\n").FindStringSubmatch(page)
		if block == nil || strings.TrimSpace(block[1]) != strings.TrimSpace(out.String()) {
			t.Errorf("docs/reference.md has not what `cco help %s` prints: put it there\n%s", topic, out)
		}
	}
}
