//go:build heavy

package real

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/agent/agenttest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/programs"
)

// stage is what all tests share: the programs, one box, and the CLIs as `cco agent install` puts them in place.
type stage struct {
	dir string
	bin string
	env []string
}

var shared *stage

// agents are the CLIs under test. The last is slow to start, so it only shows that it works at all.
var agents = []string{"claude", "codex", "gemini"}

const slow = "opencode"

func TestMain(m *testing.M) {
	code, err := onStage(m)
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "set up:", err)
		code = 1
	}
	os.Exit(code)
}

func onStage(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "cco-real-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	shared = &stage{dir: dir, bin: filepath.Join(dir, "bin")}
	ctx := context.Background()
	defer func() { _, _ = shared.cco(ctx, dir, nil, "box", "destroy", "--force") }()
	if err := shared.build(ctx); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

func (s *stage) build(ctx context.Context) error {
	if err := os.Chmod(s.dir, 0o755); err != nil { // boxes show it to a user of their own
		return err
	}
	for _, d := range []string{"home", "data", "config", "tmp"} {
		if err := os.Mkdir(filepath.Join(s.dir, d), 0o755); err != nil {
			return err
		}
	}
	gitconfig := "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n"
	if err := os.WriteFile(filepath.Join(s.dir, "home", ".gitconfig"), []byte(gitconfig), 0o644); err != nil {
		return err
	}
	settings := filepath.Join(s.dir, "config", "cco", "config.toml")
	if err := os.MkdirAll(filepath.Dir(settings), 0o755); err != nil {
		return err
	}
	const editor = "[editor]\nservers = [\"tickets\"]\nvariables = [\"TICKETS_TOKEN\"]\n"
	if err := os.WriteFile(settings, []byte(editor), 0o644); err != nil {
		return err
	}
	if err := programs.Build(ctx, s.bin, "cco", "cco-box", "cco-guard", "cco-cruise"); err != nil {
		return err
	}
	// npm's own settings and cache are the user's, so that a mirror is used and nothing is fetched twice.
	npm, err := proc.Output(ctx, proc.Cmd{Argv: []string{"npm", "config", "get", "cache"}})
	if err != nil {
		return fmt.Errorf("npm is needed: %w", err)
	}
	s.env = []string{"HOME=" + filepath.Join(s.dir, "home"), "PATH=" + s.bin + ":" + os.Getenv("PATH"),
		"XDG_DATA_HOME=" + filepath.Join(s.dir, "data"), "XDG_CONFIG_HOME=" + filepath.Join(s.dir, "config"),
		"TMPDIR=" + filepath.Join(s.dir, "tmp"), "NO_COLOR=1", "LANG=C.UTF-8", "npm_config_cache=" +
			strings.TrimSpace(string(npm))}
	for _, v := range os.Environ() {
		if strings.HasPrefix(strings.ToLower(v), "npm_config_") || strings.HasPrefix(strings.ToLower(v), "http") ||
			strings.HasPrefix(v, "NODE_") {
			s.env = append(s.env, v)
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		s.env = append(s.env, "npm_config_userconfig="+filepath.Join(home, ".npmrc"))
	}
	if err := s.images(ctx); err != nil {
		return err
	}
	commands := [][]string{{"box", "create"}}
	for _, a := range slices.Concat(agents, []string{slow}, spoken) {
		commands = append(commands, []string{"agent", "install", a})
	}
	for _, args := range commands {
		if out, err := s.cco(ctx, s.dir, nil, args...); err != nil {
			return fmt.Errorf("cco %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return nil
}

// cco runs the built program and gives what it wrote, on both streams.
func (s *stage) cco(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	var out strings.Builder
	err := proc.Run(ctx, proc.Cmd{Argv: append([]string{filepath.Join(s.bin, "cco")}, args...), Dir: dir,
		Env: append(append([]string(nil), s.env...), env...), Stdout: &out, Stderr: &out})
	return out.String(), err
}

// work is one repository, handed to one agent, whose model follows a script.
type work struct {
	*stage
	t     *testing.T
	agent string
	box   string // "" for the one that all share
	model *agenttest.Server
	repo  string
	key   string // the real one, of which nothing in a box may know
	env   []string
}

const planText = "# A plan\n\n## Task 1: Say hello\n\nThe lighthouse keeper greets: write hello.txt.\n"

func newWork(t *testing.T, agent string, steps ...agenttest.Step) *work {
	t.Helper()
	w := &work{stage: shared, t: t, agent: agent, model: agenttest.Serve(t, steps...),
		repo: filepath.Join(t.TempDir(), "repo"), key: newKey()}
	w.env = []string{
		"ANTHROPIC_BASE_URL=" + w.model.URL, "OPENAI_BASE_URL=" + w.model.URL + "/v1", "GOOGLE_GEMINI_BASE_URL=" +
			w.model.URL,
		"ANTHROPIC_API_KEY=" + w.key, "OPENAI_API_KEY=" + w.key, "GEMINI_API_KEY=" + w.key,
	}
	w.git("", "init", "-q", w.repo)
	w.put("plan.md", planText)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("what the model was asked:\n%s", w.model.Summary())
		}
	})
	return w
}

func newKey() string {
	b := make([]byte, 12)
	_, _ = rand.Read(b)
	return "sk-real-" + hex.EncodeToString(b)
}

// put commits a file to the repository.
func (w *work) put(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.repo, name)
	must.Do(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(w.t, os.WriteFile(path, []byte(text), 0o644))
	w.git(w.repo, "add", "-A")
	w.git(w.repo, "commit", "-q", "-m", "Add "+name)
}

func (w *work) git(dir string, args ...string) string {
	w.t.Helper()
	out := must.Get(proc.Output(w.t.Context(), proc.Cmd{Argv: append([]string{"git"}, args...), Dir: dir,
		Env: w.stage.env}))(w.t)
	return strings.TrimSpace(string(out))
}

// run runs cco in the repository; it must end with the status that is given.
func (w *work) run(code int, args ...string) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 4*time.Minute)
	defer cancel()
	out, err := w.cco(ctx, w.repo, w.env, args...)
	if got := proc.Code(err); got != code || ctx.Err() != nil {
		w.t.Fatalf("cco %s: status %d (%v), want %d\n%s\n%s", strings.Join(args, " "), got, err, code, out, w.model.Summary())
	}
	return out
}

var sessionID = regexp.MustCompile(`(?:[Ss]ession |"id": ")([0-9a-f]{8})\b`)

// push hands the plan over, headless, and gives what was shown and the session's id.
func (w *work) push(code int, args ...string) (out, id string) {
	w.t.Helper()
	if w.box != "" {
		args = append(args, "--box", w.box)
	}
	out = w.run(code, append([]string{"box", "push", "plan.md", "--headless", "--agent", w.agent}, args...)...)
	m := sessionID.FindStringSubmatch(out)
	if m == nil {
		w.t.Fatalf("no session is named:\n%s", out)
	}
	return out, m[1]
}

// session is what the tests want to know of a record.
type session struct {
	ID     string `json:"id"`
	State  string `json:"state"`
	Reason string `json:"reason"`
}

func (w *work) session(id string) session {
	w.t.Helper()
	var list []session
	out, err := proc.Output(w.t.Context(), proc.Cmd{Argv: []string{filepath.Join(w.bin, "cco"), "box", "sessions",
		"--json"}, Dir: w.repo, Env: w.stage.env})
	if err == nil {
		err = json.Unmarshal(out, &list)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	for _, s := range list {
		if s.ID == id {
			return s
		}
	}
	w.t.Fatalf("no session %s", id)
	return session{}
}

// kept is a file that cco has written about a session; there must be one.
func (w *work) kept(id, name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, "data", "cco", "sessions", id, name))
	if err != nil || len(data) == 0 {
		w.t.Errorf("%s: %d bytes, %v", name, len(data), err)
	}
	return string(data)
}

// pulled checks that a file has come back in a commit.
func (w *work) pulled(name, want string) {
	w.t.Helper()
	if got := w.git(w.repo, "show", "HEAD:"+name); got != want {
		w.t.Errorf("%s holds %q, want %q", name, got, want)
	}
	if status := w.git(w.repo, "status", "--porcelain"); status != "" {
		w.t.Errorf("the working tree is not clean:\n%s", status)
	}
}

// waitFor waits until something is so.
func (w *work) waitFor(what string, is func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("%s: never came\n%s", what, w.model.Summary())
		}
	}
}

func each(t *testing.T, names []string, test func(*testing.T, string)) {
	t.Helper()
	for _, a := range names {
		t.Run(a, func(t *testing.T) { test(t, a) })
	}
}

// commit is the step that does the plan's work.
func commit(name, text string) agenttest.Step {
	return agenttest.Shell("echo " + text + " > " + name + " && git add " + name +
		" && git commit -q -m 'Add " + name + "'")
}
