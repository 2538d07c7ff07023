package hook_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/guard/hook"
	"github.com/cco-dev/cco/internal/must"
)

// run answers one call under a policy whose workspace is returned too.
func run(t *testing.T, h hook.Hook, input string) (code int, out, words string) {
	t.Helper()
	if h.Policy == "" {
		h.Policy = writePolicy(t, "/w/task", "")
	}
	var stdout, stderr bytes.Buffer
	if h.In == nil {
		h.In = strings.NewReader(input)
	}
	h.Out, h.Err = &stdout, &stderr
	if h.Now == nil {
		h.Now = time.Now
	}
	if h.Mounts == "" {
		h.Mounts = os.DevNull // also where these tests are run by an agent that the kernel holds
	}
	return h.Run(), stdout.String(), stderr.String()
}

func writePolicy(t *testing.T, workspace, socket string) string {
	t.Helper()
	data := must.Get(json.Marshal(guard.Policy{Workspace: workspace, Host: "/w/host", Home: "/h", AuditSocket: socket}))(t)
	name := filepath.Join(t.TempDir(), "policy.json")
	must.Do(t, os.WriteFile(name, data, 0o644))
	return name
}

func callOf(tool, command string) string {
	return `{"session_id":"s","transcript_path":"/t","cwd":"/w/task","permission_mode":"bypassPermissions",` +
		`"hook_event_name":"PreToolUse","tool_name":"` +
		tool + `","tool_input":{"command":"` + command + `","description":"d"},"tool_use_id":"u"}`
}

func TestAllowPrintsNothing(t *testing.T) {
	for agent, call := range map[string]string{
		"claude": callOf("Bash", "go test ./..."),
		"codex":  callOf("shell", "ls"),
		"gemini": `{"cwd":"/w/task","hook_event_name":"BeforeTool","tool_name":"run_shell_command",` +
			`"tool_input":{"command":"make"}}`,
	} {
		code, out, words := run(t, hook.Hook{Agent: agent}, call)
		if code != 0 || out != "" || words != "" {
			t.Errorf("%s: code %d, out %q, err %q", agent, code, out, words)
		}
	}
}

func TestDenialIsExitTwoWithWords(t *testing.T) {
	for _, agent := range []string{"claude", "codex", "gemini"} {
		code, out, words := run(t, hook.Hook{Agent: agent}, callOf("Bash", "cd /w/host && git commit -am x"))
		if code != 2 || !strings.Contains(words, "leaves the workspace") {
			t.Errorf("%s: code %d, err %q", agent, code, words)
		}
		var decision struct{ Decision, Reason string }
		if err := json.Unmarshal([]byte(out), &decision); err != nil || decision.Decision != "block" ||
			!strings.Contains(decision.Reason, "leaves the workspace") {
			t.Errorf("%s: out %q (%v)", agent, out, err)
		}
	}
}

// Guards against agents' habit of running a call whose hook went wrong.
func TestEveryFailureDenies(t *testing.T) {
	big := `{"cwd":"/w/task","tool_name":"Bash","tool_input":{"command":"` + strings.Repeat("a", hook.MaxInput) + `"}}`
	broken := filepath.Join(t.TempDir(), "broken.json")
	must.Do(t, os.WriteFile(broken, []byte(`{"workspace":`), 0o644))
	for name, c := range map[string]struct {
		h     hook.Hook
		input string
	}{
		"empty":            {hook.Hook{Agent: "claude"}, ""},
		"not JSON":         {hook.Hook{Agent: "claude"}, "hello"},
		"cut off":          {hook.Hook{Agent: "claude"}, callOf("Bash", "ls")[:80]},
		"trailing":         {hook.Hook{Agent: "claude"}, callOf("Bash", "ls") + "x"},
		"an array":         {hook.Hook{Agent: "claude"}, "[]"},
		"null":             {hook.Hook{Agent: "claude"}, "null"},
		"no tool":          {hook.Hook{Agent: "claude"}, `{"cwd":"/w/task"}`},
		"no cwd":           {hook.Hook{Agent: "claude"}, `{"tool_name":"Bash","tool_input":{"command":"ls"}}`},
		"relative cwd":     {hook.Hook{Agent: "claude"}, `{"cwd":"x","tool_name":"Bash","tool_input":{"command":"ls"}}`},
		"no input":         {hook.Hook{Agent: "claude"}, `{"cwd":"/w/task","tool_name":"Bash"}`},
		"tool is a number": {hook.Hook{Agent: "claude"}, `{"cwd":"/w/task","tool_name":7,"tool_input":{}}`},
		"unknown tool":     {hook.Hook{Agent: "claude"}, callOf("Teleport", "ls")},
		"other event": {hook.Hook{Agent: "claude"},
			`{"cwd":"/w/task","hook_event_name":"Stop","tool_name":"Bash","tool_input":{"command":"ls"}}`},
		"too large":          {hook.Hook{Agent: "claude"}, big},
		"unknown agent":      {hook.Hook{Agent: "eliza"}, callOf("Bash", "ls")},
		"agent without hook": {hook.Hook{Agent: "qwen"}, callOf("Bash", "ls")},
		"no agent at all":    {hook.Hook{Agent: "script"}, callOf("Bash", "ls")},
		"missing policy":     {hook.Hook{Agent: "claude", Policy: filepath.Join(t.TempDir(), "none")}, callOf("Bash", "ls")},
		"broken policy":      {hook.Hook{Agent: "claude", Policy: broken}, callOf("Bash", "ls")},
		"policy is a dir":    {hook.Hook{Agent: "claude", Policy: t.TempDir()}, callOf("Bash", "ls")},
		"input that fails":   {hook.Hook{Agent: "claude", In: failing{}}, ""},
		"input that panics":  {hook.Hook{Agent: "claude", In: panicking{}}, ""},
		"other case": {hook.Hook{Agent: "claude"},
			`{"CWD":"/w/task","TOOL_NAME":"Bash","TOOL_INPUT":{"command":"ls"}}`},
	} {
		code, out, words := run(t, c.h, c.input)
		if code != 2 || words == "" || !strings.Contains(out, `"block"`) {
			t.Errorf("%s: code %d, out %q, err %q", name, code, out, words)
		}
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("no") }

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("no") }

func TestInputThatNeverComesDenies(t *testing.T) {
	r, w, err := os.Pipe() // nobody ever writes
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = r.Close(), w.Close() }()
	code, _, words := run(t, hook.Hook{Agent: "claude", In: hook.Input(r, time.Millisecond)}, "")
	if code != 2 || !strings.Contains(words, "too long") {
		t.Errorf("code %d, err %q", code, words)
	}
}

func TestInputInPieces(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	go func() {
		for _, c := range callOf("Bash", "ls") {
			_, _ = w.WriteString(string(c))
		}
		_ = w.Close()
	}()
	if code, _, words := run(t, hook.Hook{Agent: "claude", In: hook.Input(r, time.Minute)}, ""); code != 0 {
		t.Errorf("code %d, err %q", code, words)
	}
}

func TestDenialsReachTheLog(t *testing.T) {
	dir := must.Get(os.MkdirTemp("", "log"))(t) //nolint:usetesting // short, for the limit on socket names
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	lines := listen(t, socket)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	h := hook.Hook{Agent: "codex", Policy: writePolicy(t, "/w/task", socket), Now: func() time.Time { return now }}
	if code, _, _ := run(t, h, callOf("Bash", "cd /w/host")); code != 2 {
		t.Fatalf("code %d", code)
	}
	var got struct {
		Time              time.Time
		Agent, Rule, Path string
		Tool              string          `json:"tool_name"`
		Input             json.RawMessage `json:"tool_input"`
	}
	must.Do(t, json.Unmarshal([]byte(<-lines), &got))
	if got.Agent != "codex" || got.Rule != "leaves-workspace" || got.Path != "/w/host" || got.Tool != "Bash" ||
		!got.Time.Equal(now) || len(got.Input) == 0 {
		t.Errorf("%+v", got)
	}
}

// Guards against a promise that was kept in boxes alone: the prompt says that denials are logged.
func TestDenialsAreLoggedWhereNobodyListens(t *testing.T) {
	log := filepath.Join(t.TempDir(), "guard.log")
	policy := filepath.Join(t.TempDir(), "policy.json")
	data := must.Get(json.Marshal(guard.Policy{Workspace: "/w/task", Home: "/h", AuditLog: log}))(t)
	must.Do(t, os.WriteFile(policy, data, 0o600))
	h := hook.Hook{Agent: "claude", Policy: policy, Now: func() time.Time { return time.Unix(1, 0) }}
	lines := func(name string) []string {
		b, _ := os.ReadFile(name)
		return strings.Split(strings.TrimSpace(string(b)), "\n")
	}
	for range 2 {
		if code, _, _ := run(t, h, callOf("Bash", "cd /w/host")); code != 2 {
			t.Fatalf("code %d", code)
		}
	}
	if code, _, _ := run(t, h, callOf("Bash", "ls")); code != 0 {
		t.Fatalf("code %d", code)
	}
	got := lines(log)
	if len(got) != 2 || !strings.Contains(got[1], `"kind":"denial"`) || !strings.Contains(got[1], `"path":"/w/host"`) {
		t.Errorf("%q", got)
	}
	// It begins anew at a size, and writes through no link.
	must.Do(t, os.Truncate(log, 9<<20))
	run(t, h, callOf("Bash", "cd /w/host"))
	if got := lines(log); len(got) != 1 || !strings.Contains(got[0], "/w/host") {
		t.Errorf("%q", got)
	}
	mine := filepath.Join(t.TempDir(), "mine")
	must.Do(t, os.WriteFile(mine, nil, 0o600))
	must.Do(t, errors.Join(os.Remove(log), os.Symlink(mine, log)))
	if code, _, _ := run(t, h, callOf("Bash", "cd /w/host")); code != 2 || len(must.Get(os.ReadFile(mine))(t)) != 0 {
		t.Errorf("code %d, and the link was followed", code)
	}
}

// listen returns what is sent to a socket, line by line.
func listen(t *testing.T, name string) <-chan string {
	t.Helper()
	lines := make(chan string, 1)
	var lc net.ListenConfig
	l := must.Get(lc.Listen(t.Context(), "unix", name))(t)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		line, _ := bufio.NewReader(c).ReadString('\n')
		lines <- line
	}()
	return lines
}

func TestLogThatIsGoneChangesNothing(t *testing.T) {
	h := hook.Hook{Agent: "claude", Socket: func() string { return filepath.Join(t.TempDir(), "none") }}
	if code, _, _ := run(t, h, callOf("Bash", "cd /w/host")); code != 2 {
		t.Errorf("code %d", code)
	}
	if code, _, _ := run(t, h, callOf("Bash", "ls")); code != 0 {
		t.Errorf("code %d", code)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(callOf("Bash", "ls")))
	f.Add([]byte(`{"cwd":"/w/task","tool_name":"Write","tool_input":{"file_path":"../x"}}`))
	f.Add([]byte(`{"cwd":"/w/task","tool_name":"apply_patch","tool_input":"*** Begin Patch"}`))
	f.Add([]byte(`{"cwd":null,"tool_name":"Bash","tool_input":[]}`))
	f.Add([]byte(`{`))
	p := guard.Policy{Workspace: "/w/task", Host: "/w/host"}
	f.Fuzz(func(t *testing.T, data []byte) {
		call, err := guard.ParseCall(data)
		if err != nil {
			return
		}
		if !json.Valid(data) {
			t.Fatalf("read what is no JSON: %q", data)
		}
		if v := guard.Decide(p, nil, call); v.Rule == guard.RuleInternal {
			t.Fatalf("the guard failed on %q", data)
		}
	})
}

// Guards against an agent that makes a place look held: only a read-only mount exactly there counts.
func TestWhereTheKernelHoldsDenialsAreOnlyNoted(t *testing.T) {
	const root = "21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
	for name, c := range map[string]struct {
		table string
		code  int
	}{
		"held":         {root + "90 21 0:50 / /run/cco/held ro,nosuid - tmpfs none rw\n", 0},
		"writable":     {root + "90 21 0:50 / /run/cco/held rw,nosuid - tmpfs none ro\n", 2},
		"above it":     {root + "90 21 0:50 / /run/cco ro - tmpfs none ro\n", 2},
		"below it":     {root + "90 21 0:50 / /run/cco/held/x ro - tmpfs none ro\n", 2},
		"another root": {root + "90 21 0:50 /run/cco/held /mnt ro - tmpfs none ro\n", 2},
		"covered": {root + "90 21 0:50 / /run/cco/held ro - tmpfs x ro\n" +
			"91 90 0:51 / /run/cco/held rw - tmpfs x rw\n", 2},
		"only its begin": {root + "90 21 0:50 / /run/cco/held\n", 2},
		"nothing":        {"", 2},
	} {
		dir := t.TempDir()
		log, policy, table := dir+"/guard.log", dir+"/policy.json", dir+"/mountinfo"
		data := must.Get(json.Marshal(guard.Policy{Workspace: "/w/task", AuditLog: log}))(t)
		must.Do(t, errors.Join(os.WriteFile(policy, data, 0o600), os.WriteFile(table, []byte(c.table), 0o600)))
		h := hook.Hook{Agent: "claude", Policy: policy, Mounts: table}
		code, out, words := run(t, h, callOf("Bash", "cd /w/host"))
		kind := `"kind":"denial"`
		if c.code == 0 {
			kind = `"kind":"noted"`
		}
		if line := must.Get(os.ReadFile(log))(t); code != c.code || (out+words == "") != (c.code == 0) ||
			!strings.Contains(string(line), kind) || strings.Contains(string(line), "denied") != (c.code == 2) {
			t.Errorf("%s: code %d, out %q, err %q, log %s", name, code, out, words, line)
		}
	}
}
