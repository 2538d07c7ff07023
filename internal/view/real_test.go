package view_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/view/api"
	"github.com/cco-dev/cco/internal/view/viewtest"
)

// The page is asked as a program asks it: the real programs, real boxes, real git.
func TestTheAPIAgainstTheRealProgram(t *testing.T) {
	r := viewtest.New(t)
	r.Serve()
	t.Run("states and actions", func(t *testing.T) { statesAndActions(t, r) })
	t.Run("what is decided is what was seen", func(t *testing.T) { decidedAsSeen(t, r) })
	t.Run("phases are decided as seen", func(t *testing.T) { phasesAsSeen(t, r) })
	t.Run("parts stay alone", func(t *testing.T) { partsStayAlone(t, r) })
	t.Run("streams go on", func(t *testing.T) { streamsGoOn(t, r) })
	t.Run("hostile words", func(t *testing.T) { hostileWords(t, r) })
	t.Run("no way in from a box", func(t *testing.T) { noWayIn(t, r, "native", "worktree") })
	t.Run("stop everything", func(t *testing.T) { stopEverything(t, r) })
	t.Run("second", func(t *testing.T) {
		if out := r.Run("cco", "view"); !strings.Contains(out, r.Address) || !strings.Contains(out, "already") {
			t.Errorf("a second view says %q", out)
		}
		if out := r.Run("cco", "view", "code"); !strings.Contains(out, r.Address) {
			t.Errorf("a code is for %q", out)
		}
	})
	t.Run("a phone is told where", func(t *testing.T) { phoneIsTold(t, r) })
}

// phoneIsTold looks at what reaches who is away: a command of theirs hears where the page has what asks, by the name
// that the page has for others, and a camera sees the same name.
func phoneIsTold(t *testing.T, r *viewtest.Rig) {
	const name = "https://devbox.tail1234.ts.net"
	r.Run("cco", "config", "set", "view.hosts", strings.TrimPrefix(name, "https://"))
	r.Run("cco", "config", "set", "notify.on_waiting", "echo $CCO_URL >"+r.Path("told.tmp")+" && mv "+
		r.Path("told.tmp")+" "+r.Path("told"))
	id := r.Push("Ask", "echo which >$CCO_EXCHANGE/question.txt\nsleep 600")
	r.Await(id, "waiting")
	var told []byte
	for until := time.Now().Add(time.Minute); told == nil && time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		told, _ = os.ReadFile(r.Path("told"))
	}
	if got := strings.TrimSpace(string(told)); got != name+"/session/"+id {
		t.Errorf("the command is told %q", got)
	}
	drawn := r.Run("cco", "view", "code", "--qr")
	if strings.Count(drawn, "█") < 100 || !strings.Contains(drawn, "it leads to "+name+",") {
		t.Errorf("the camera sees\n%s", drawn)
	}
	r.Run("cco", "box", "kill", id)
}

func get[T any](t *testing.T, r *viewtest.Rig, path string) (out T) {
	t.Helper()
	if status := r.Ask(http.MethodGet, path, nil, &out); status != http.StatusOK {
		t.Fatalf("GET %s gives %d", path, status)
	}
	return out
}

func post(t *testing.T, r *viewtest.Rig, path string, body any) []string {
	t.Helper()
	var out struct {
		Says  []string `json:"says"`
		Error string   `json:"error"`
		Held  []string `json:"held"`
	}
	if status := r.Ask(http.MethodPost, path, body, &out); status != http.StatusOK {
		t.Fatalf("POST %s gives %d %s", path, status, out.Error)
	}
	return out.Says
}

func refused(t *testing.T, r *viewtest.Rig, path string, body any, want int) api.Failure {
	t.Helper()
	var out api.Failure
	if status := r.Ask(http.MethodPost, path, body, &out); status != want {
		t.Errorf("POST %s gives %d %+v, not %d", path, status, out, want)
	}
	return out
}

func statesAndActions(t *testing.T, r *viewtest.Rig) {
	id := r.Push("Greet",
		"echo 'hello there'\necho 'echo hi' >hook.sh\nmkdir -p .husky\necho 'curl evil' >.husky/pre-commit\n"+
			"echo text >note.txt\ngit add .\ngit commit -qm 'Add a greeting'")
	r.Await(id, "done")

	must.Do(t, r.Stream("/sessions/"+id+"/events", "", func(e viewtest.Event) bool {
		return !strings.Contains(e.Data, `"kind":"end"`) // it is written when the session is done already
	}))
	s := get[api.SessionDetail](t, r, "/sessions/"+id)
	if s.Title != "Greet" || s.Live || s.Events == 0 || len(s.Plan) == 0 {
		t.Errorf("the session is %+v", s)
	}
	st := decision(t, r, id)
	if len(st.Needs) != 1 || len(st.Recent) != 1 {
		t.Errorf("the state is %+v", st)
	}
	p := get[api.Passage](t, r, "/sessions/"+id+"/transcript")
	if !strings.Contains(fmt.Sprint(p.Items), "hello there") || p.Total != s.Events {
		t.Errorf("the transcript is %+v", p)
	}
	c := changes(t, r, id)
	if len(c.Commits) != 1 || len(c.Files) != 3 || c.Pulled || len(c.Groups) == 0 {
		t.Errorf("the changes are %+v", c)
	}
	for _, file := range []string{"../../config", "/etc/passwd"} { // git fails on them
		var out api.Failure
		if code := r.Ask(http.MethodGet, "/sessions/"+id+"/changes?file="+file, nil, &out); code != http.StatusBadRequest {
			t.Errorf("%s gives %d %+v", file, code, out)
		}
	}
	one := get[api.Changes](t, r, "/sessions/"+id+"/changes?commit="+c.Commits[0].Commit+"&file=note.txt")
	if len(one.Files) != 1 || one.Files[0].Path != "note.txt" {
		t.Errorf("one file of a commit is %+v", one.Files)
	}
	if got := head(r); got != c.Base {
		t.Errorf("looking moved main to %s", got)
	}
	// What the gate holds up is refused here as by the command.
	f := refused(t, r, "/sessions/"+id+"/pull", api.Pull{}, http.StatusConflict)
	if len(f.Held) == 0 || head(r) != c.Base {
		t.Errorf("the gate holds up nothing: %+v", f)
	}
	if n := st.Needs[0]; len(n.Held) != len(f.Held) || n.Held[0].Kind != f.Held[0] || n.Held[0].Count == 0 ||
		!strings.Contains(fmt.Sprint(n.Held[0].Findings), ".husky/pre-commit") || n.Work != c.Seen {
		t.Errorf("to decide is %+v, held up %v", n, f.Held)
	}
	if said := post(t, r, "/sessions/"+id+"/pull", api.Pull{Only: []string{"note.txt"},
		Accept: f.Held, Seen: c.Seen}); !strings.Contains(fmt.Sprint(said), "note.txt") {
		t.Errorf("taking one file says %q", said)
	}
	if out := r.Run("git", "ls-tree", "--name-only", "main"); strings.Contains(out, "hook.sh") || !strings.Contains(out,
		"note.txt") {
		t.Errorf("main has %q", out)
	}
	if c := get[api.Changes](t, r, "/sessions/"+id+"/changes"); !c.Pulled || c.Whole || c.Branch != "main" {
		t.Errorf("what was taken in part is said to be whole: %v %v %s", c.Pulled, c.Whole, c.Branch)
	}
	again := r.Push("Work again",
		"echo more >more.txt\ngit add .\ngit commit -qm More\nmkdir -p .husky\n"+
			"echo x >.husky/pre-push\ngit add .\ngit commit -qm Hook")
	r.Await(again, "done")
	f = refused(t, r, "/sessions/"+again+"/pull", api.Pull{}, http.StatusConflict)
	// Guards against work that is taken in place of what a person has looked at.
	refused(t, r, "/sessions/"+again+"/pull", api.Pull{Accept: f.Held, Seen: c.Seen}, http.StatusConflict)
	refused(t, r, "/sessions/"+again+"/pull", api.Pull{Accept: f.Held}, http.StatusBadRequest)
	// It is decided where it stands: on what was found, in the work that it was found in.
	n := decision(t, r, again).Needs[0]
	var kinds []string
	for _, g := range n.Held {
		kinds = append(kinds, g.Kind)
	}
	said := post(t, r, "/sessions/"+again+"/pull", api.Pull{Accept: kinds, Seen: n.Work})
	if !strings.Contains(fmt.Sprint(said), "2 commits on main") {
		t.Errorf("taking all says %q", said)
	}
	refused(t, r, "/sessions/"+again+"/answer", api.Words{Text: "x"}, http.StatusConflict)
	refused(t, r, "/sessions/00000000/kill", api.Nothing{}, http.StatusNotFound)
	refused(t, r, "/sessions/nonsense/kill", api.Nothing{}, http.StatusBadRequest)
	refused(t, r, "/sessions/"+again+"/pull", map[string]any{"on_done": "rm"}, http.StatusBadRequest)
	if c := get[api.Changes](t, r, "/sessions/"+again+"/changes"); !c.Pulled || !c.Whole {
		t.Error("what was pulled is not called so")
	}

	slow := r.Push("Wait", "echo begun >begun.txt\ngit add .\ngit commit -qm Begun\necho waiting\nsleep 600")
	must.Do(t, r.Stream("/sessions/"+slow+"/events", "", func(e viewtest.Event) bool {
		return !strings.Contains(e.Data,
			"waiting")
	}))
	st = get[api.State](t, r, "/state")
	if len(st.Live) != 1 || st.Live[0].Last != "waiting" {
		t.Errorf("at work are %+v", st.Live)
	}
	post(t, r, "/sessions/"+slow+"/kill", api.Nothing{})
	if s := get[api.SessionDetail](t, r, "/sessions/"+slow); s.State != "killed" {
		t.Errorf("it is %s", s.State)
	}
	seen := get[api.SessionDetail](t, r, "/sessions/"+slow).Seen
	goOn := api.GoOn{Text: "# Again\n\n## Task 1: Again\n\n```sh\necho went on\n```\n", Seen: seen}
	post(t, r, "/sessions/"+slow+"/continue", goOn)
	r.Await(slow, "done")
	// Guards against a decision on a run that goes to the next one.
	refused(t, r, "/sessions/"+slow+"/continue", goOn, http.StatusConflict)
	refused(t, r, "/sessions/"+slow+"/continue", api.GoOn{}, http.StatusConflict)
	if p := get[api.Passage](t, r, "/sessions/"+slow+"/transcript"); !strings.Contains(fmt.Sprint(p.Items), "went on") {
		t.Errorf("it went on with %+v", p.Items)
	}
	var hits []api.Hit
	var names []string
	must.Do(t, r.Stream("/sessions/"+slow+"/search?q=WENT", "", func(e viewtest.Event) bool {
		var h api.Hit
		must.Do(t, strictly([]byte(e.Data), &h))
		if names = append(names, e.Name); e.Name == "hit" {
			hits = append(hits, h)
		}
		return e.Name == "hit"
	}))
	if len(hits) == 0 || names[len(names)-1] != "done" || !strings.Contains(hits[0].Text, "went on") {
		t.Errorf("a search finds %+v", hits)
	}

	boxes := get[[]api.Box](t, r, "/boxes")
	if len(boxes) != 1 || boxes[0].State != "running" || boxes[0].Total != 3 {
		t.Errorf("boxes are %+v", boxes)
	}
	post(t, r, "/boxes/"+boxes[0].Name+"/allow", api.Allow{Host: "example.com"})
	for _, many := range []string{"npm", "10.0.0.0/8", "0.0.0.0/0", "*.example.com", "[::]/0"} {
		refused(t, r, "/boxes/"+boxes[0].Name+"/allow", api.Allow{Host: many}, http.StatusBadRequest)
	}
	safe := get[api.Safety](t, r, "/boxes/"+boxes[0].Name)
	if len(safe.Layers) == 0 || !strings.Contains(fmt.Sprint(safe.Allowed), "example.com") {
		t.Errorf("its safety is %+v", safe)
	}
	m := get[api.Money](t, r, "/money")
	post(t, r, "/limits", api.Limit{Name: "limits.day_cost", Value: "42", Was: m.Limits.DayCost})
	m = get[api.Money](t, r, "/money")
	if today := m.Days[len(m.Days)-1].Name; m.Limits.DayCost != 42 || today != store.Day(time.Now()) {
		t.Errorf("the day's limit is %+v, and the days end with %s", m.Limits, today)
	}
	// Guards against a limit that somebody else has changed meanwhile.
	refused(t, r, "/limits", api.Limit{Name: "limits.day_cost", Value: "50"}, http.StatusConflict)
	post(t, r, "/limits", api.Limit{Name: "limits.day_cost", Value: "none", Was: 42})
	for _, name := range []string{"notify.on_done", "box.setup", "network.allow", "keys.anthropic", "box.mounts", ""} {
		refused(t, r, "/limits", api.Limit{Name: name, Value: "x"}, http.StatusBadRequest)
	}
	_ = get[[]api.Phase](t, r, "/phases")
	_ = get[[]api.Session](t, r, "/sessions")
	_ = get[api.Me](t, r, "/me")
	log := get[[]api.Deed](t, r, "/log")
	var done, asked, came []string
	for _, d := range log {
		done = append(done, d.What)
		if d.Browser == "" || d.At.IsZero() {
			t.Errorf("%+v does not say who and when", d)
		}
		if said := d.What + " " + d.Decided; d.Result == "asked" {
			asked = append(asked, said)
		} else {
			came = append(came, said+" "+d.Result)
		}
	}
	// What was decided is written down before it is done, and what came of it after.
	for _, want := range []string{`allow {"host":"example.com"}`, `limit {"name":"limits.day_cost","value":"42"`,
		`"only":["note.txt"]`, `"accept":["` + f.Held[0] + `"`, c.Tip} {
		for when, list := range map[string][]string{"before": asked, "after": came} {
			if !strings.Contains(strings.Join(list, "\n"), want) {
				t.Errorf("%s it is done the log lacks %s:\n%s", when, want, strings.Join(list, "\n"))
			}
		}
	}
	for _, want := range []string{"pull", "kill", "continue", "allow", "answer"} {
		if !strings.Contains(strings.Join(done, " "), want) {
			t.Errorf("the log of what was done lacks %s: %v", want, done)
		}
	}
}

// Guards against an answer that goes to another question than the one that was read, and against a plan that the agent
// has changed or removed.
func decidedAsSeen(t *testing.T, r *viewtest.Rig) {
	id := r.Push("Ask twice", `rm -f $CCO_EXCHANGE/plan.md
echo "the plan was something else" >$CCO_EXCHANGE/plan.md
ask() { echo "$1" >$CCO_EXCHANGE/question.txt
  while [ ! -e $CCO_EXCHANGE/answer.txt ]; do sleep 0.1; done
  cat $CCO_EXCHANGE/answer.txt; rm -f $CCO_EXCHANGE/question.txt $CCO_EXCHANGE/answer.txt; }
ask 'Shall I tidy up?'
ask 'Shall I remove everything?'
echo both were answered`)
	asked := func(question string) (s api.SessionDetail) {
		t.Helper()
		for until := time.Now().Add(time.Minute); !strings.Contains(fmt.Sprint(s.Question), question); {
			if s = get[api.SessionDetail](t, r, "/sessions/"+id); s.State == "failed" || time.Now().After(until) {
				t.Fatalf("it does not ask %s: %+v\n%s", question, s, r.Run("cco", "box", "logs", id))
			}
			time.Sleep(50 * time.Millisecond)
		}
		return s
	}
	first := asked("tidy up")
	if len(first.Plan) == 0 || !strings.Contains(fmt.Sprint(first.Plan), "both were answered") || len(first.Wrong) > 0 {
		t.Errorf("the plan is shown as %+v, %q", first.Plan, first.Wrong)
	}
	yes := api.Words{Text: "Yes, do", Seen: first.Seen}
	refused(t, r, "/sessions/"+id+"/answer", api.Words{Text: "Yes, do"}, http.StatusConflict)
	post(t, r, "/sessions/"+id+"/answer", yes)
	second := asked("remove everything")
	refused(t, r, "/sessions/"+id+"/answer", yes, http.StatusConflict)
	st := get[api.State](t, r, "/state")
	if i := slices.IndexFunc(st.Needs, func(n api.Need) bool { return n.ID == id }); i < 0 ||
		st.Needs[i].Seen != second.Seen {
		t.Errorf("Home says otherwise: %+v", st.Needs)
	}
	post(t, r, "/sessions/"+id+"/answer", api.Words{Text: "No", Seen: second.Seen})
	r.Await(id, "done")
	if out := r.Run("cco", "box", "logs", id); strings.Count(out, "Yes, do") != 1 ||
		!strings.Contains(out, "both were answered") {
		t.Errorf("it was told:\n%s", out)
	}
	for _, path := range []string{"/sessions/00000000", "/sessions/00000000/transcript", "/sessions/00000000/changes",
		"/sessions/00000000/search?q=x", "/sessions/00000000/events", "/phases/00000000"} {
		var f api.Failure
		if status := r.Ask(http.MethodGet, path, nil, &f); status != http.StatusNotFound {
			t.Errorf("%s gives %d %+v", path, status, f)
		}
	}
}

// decision waits until Home says that the work of a session is held up by the gate.
func decision(t *testing.T, r *viewtest.Rig, id string) (st api.State) {
	t.Helper()
	must.Do(t, r.Stream("/events", "", func(e viewtest.Event) bool {
		st = api.State{}
		must.Do(t, strictly([]byte(e.Data), &st))
		return len(st.Needs) == 0 || st.Needs[0].ID != id || st.Needs[0].Kind != "decide"
	}))
	return st
}

// changes asks for what a session changed until the gate has looked at it: nobody can consent to it before.
func changes(t *testing.T, r *viewtest.Rig, id string) (c api.Changes) {
	t.Helper()
	for until := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		c = get[api.Changes](t, r, "/sessions/"+id+"/changes")
		if !c.Examining {
			return c
		}
		if c.Seen != "" || len(c.Groups) > 0 || time.Now().After(until) {
			t.Fatalf("what is still examined is %+v", c)
		}
	}
}

func head(r *viewtest.Rig) string { return strings.TrimSpace(r.Run("git", "rev-parse", "main")) }

// Guards against lines that a page loses or shows twice when its server, or its session's keeper, is killed.
func streamsGoOn(t *testing.T, r *viewtest.Rig) {
	id := r.Push("Count", "for i in $(seq 1 300); do echo \"line $i\"; sleep 0.01; done")
	var seen []string
	last := ""
	take := func(enough int) func(viewtest.Event) bool {
		return func(e viewtest.Event) bool {
			var it api.Item
			must.Do(t, strictly([]byte(e.Data), &it))
			if strconv.FormatInt(it.ID, 10) != e.ID {
				t.Errorf("an item is %d and its event %s", it.ID, e.ID)
			}
			last = e.ID
			if said := it.Text; strings.Contains(said, "line ") {
				seen = append(seen, it.Text)
			}
			return len(seen) < enough
		}
	}
	must.Do(t, r.Stream("/sessions/"+id+"/events", "", take(50)))
	r.Kill()
	r.Serve()
	must.Do(t, r.Stream("/sessions/"+id+"/events", last, take(150)))
	must.Do(t, r.Stream("/sessions/"+id+"/events?from="+last, "", take(300)))
	for i, s := range seen {
		if s != fmt.Sprintf("line %d", i+1) {
			t.Fatalf("line %d is %q", i+1, s)
		}
	}
	r.Await(id, "done")
	if err := r.Stream("/sessions/"+id+"/events", "nonsense", func(viewtest.Event) bool { return false }); err == nil {
		t.Error("a Last-Event-ID that is none of ours is taken")
	}
}

// Guards against words of an agent's that a page would obey.
func hostileWords(t *testing.T, r *viewtest.Rig) {
	id := r.Push("Lie", `printf 'a\033]0;title\007\033[31mred\342\200\256evil\342\200\213\n'
echo '<img src=x onerror=alert(1)> [bank](javascript:alert(1))'
printf 'x\342\200\256y' >"$(printf 'f\342\200\256gpj.txt')"
printf 'echo \342\200\256\n' >a.sh
git add . ; git commit -qm "$(printf 'Mend\342\200\256 it')" || true`)
	r.Await(id, "done", "failed")
	for _, path := range []string{"/sessions/" + id, "/sessions/" + id + "/transcript", "/sessions/" + id + "/changes",
		"/state"} {
		var v any
		r.Ask(http.MethodGet, path, nil, &v)
		var walk func(any)
		walk = func(v any) {
			switch v := v.(type) {
			case string:
				if i := strings.IndexFunc(v, func(r rune) bool {
					return r != '\n' && r != '\t' && (safetext.Steers(r) || unicode.Is(unicode.Cf, r))
				}); i >= 0 {
					t.Errorf("%s has %q", path, v)
				}
			case []any:
				for _, x := range v {
					walk(x)
				}
			case map[string]any:
				for _, x := range v {
					walk(x)
				}
			}
		}
		walk(v)
	}
}

// Guards against a session that reaches the page by its own door, in any mode, even where its user has opened the
// machine's own address to it.
func noWayIn(t *testing.T, r *viewtest.Rig, backends ...string) {
	t.Helper()
	port := r.Address[strings.LastIndexByte(r.Address, ':')+1:]
	// What the same rules do open: without it, a box that reaches nothing at all would pass.
	control := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "another port")
	}))
	defer control.Close()
	other := control.URL[strings.LastIndexByte(control.URL, ':')+1:]
	for _, backend := range backends {
		kind, more, _ := strings.Cut(backend, " ")
		for _, mode := range []string{"none", "allowlist", "open"} {
			reach(t, r, kind+"-"+mode, port, other, append(strings.Fields(more), "--backend", kind, "--network", mode))
		}
	}
}

// reach tries to come to the page, and to another port, from a box.
func reach(t *testing.T, r *viewtest.Rig, name, port, other string, flags []string) {
	t.Helper()
	closed := strings.HasSuffix(name, "none")
	r.Run(append([]string{"cco", "box", "create", name}, flags...)...)
	if !closed {
		r.Run("cco", "box", "net", "allow", "127.0.0.1:"+port, "127.0.0.1:"+other, "--box", name)
	}
	id := r.Push("Reach "+name,
		`own=$(hostname -I 2>/dev/null | cut -d' ' -f1)
for port in `+port+" "+other+`; do
for host in 127.0.0.1 localhost 0.0.0.0 '[::1]' '[::ffff:127.0.0.1]' ${own:-127.0.0.2}; do
  for proxy in "$http_proxy" ""; do
    curl -sS -m 5 --noproxy '' ${proxy:+-x "$proxy"} "http://$host:$port/" 2>&1 | head -c 300
    curl -sS -m 5 --noproxy '' -p ${proxy:+-x "$proxy"} "http://$host:$port/" 2>&1 | head -c 300
  done
done
done
echo tried`, "--box", name)
	r.Await(id, "done", "failed")
	out := r.Run("cco", "box", "logs", id)
	if !strings.Contains(out, "tried") || strings.Contains(out, "another port") == closed {
		t.Errorf("%s: it did not try:\n%s", name, out)
	}
	for _, got := range []string{"doctype", "no name of ours", "come in with a code"} {
		if strings.Contains(out, got) {
			t.Errorf("%s: the page answers a box:\n%s", name, out)
		}
	}
}

func stopEverything(t *testing.T, r *viewtest.Rig) {
	id := r.Push("Run on", "echo work >work.txt\ngit add .\ngit commit -qm Work\necho waiting\nsleep 600")
	must.Do(t, r.Stream("/sessions/"+id+"/events", "", func(e viewtest.Event) bool {
		return !strings.Contains(e.Data,
			"waiting")
	}))
	said := fmt.Sprint(post(t, r, "/stop", api.Nothing{}))
	if !strings.Contains(said, "is stopped") {
		t.Errorf("it says %s", said)
	}
	r.Await(id, "killed")
	for _, b := range get[[]api.Box](t, r, "/boxes") {
		if b.State == "running" || b.Live > 0 {
			t.Errorf("box %s is %s", b.Name, b.State)
		}
	}
	post(t, r, "/boxes/cco-sandbox/start", api.Nothing{})
	if c := get[api.Changes](t, r, "/sessions/"+id+"/changes"); len(c.Commits) != 1 {
		t.Errorf("its work is gone: %+v", c)
	}
	if _, err := os.Stat(r.Data()); err != nil {
		t.Error(err)
	}
}
