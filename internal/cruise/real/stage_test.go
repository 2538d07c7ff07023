//go:build heavy

package real

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/cruise/cruisetest"
	"github.com/cco-dev/cco/internal/cruise/serve"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/programs"
)

// stage is a user with cco as it is shipped, one box, and the CLIs as `cco agent install` puts them in place.
type stage struct {
	t                   *testing.T
	dir, bin, data, tmp string
	env                 []string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	dir, err := os.MkdirTemp("", "cco-cruise-") //nolint:usetesting // sockets need a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &stage{t: t, dir: dir, bin: filepath.Join(dir, "bin"), data: filepath.Join(dir, "data", "cco"),
		tmp: filepath.Join(dir, "tmp")}
	s.check(os.Chmod(dir, 0o755)) // boxes show it to a user of their own
	for _, d := range []string{"home", "data", "config", "tmp"} {
		s.check(os.Mkdir(filepath.Join(dir, d), 0o755))
	}
	identity := "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n"
	s.check(os.WriteFile(filepath.Join(dir, "home", ".gitconfig"), []byte(identity), 0o600))
	s.check(programs.Build(t.Context(), s.bin, "cco", "cco-box", "cco-guard", "cco-cruise"))
	// npm's own settings and cache are the user's, so that a mirror is used and nothing is fetched twice.
	npm, err := proc.Output(t.Context(), proc.Cmd{Argv: []string{"npm", "config", "get", "cache"}})
	s.check(err)
	s.env = []string{"HOME=" + filepath.Join(dir, "home"), "PATH=" + s.bin + ":" + os.Getenv("PATH"), "TMPDIR=" + s.tmp,
		"NO_COLOR=1", "LANG=C.UTF-8",
		"XDG_DATA_HOME=" + filepath.Join(dir, "data"), "XDG_CONFIG_HOME=" + filepath.Join(dir, "config"),
		"npm_config_cache=" + strings.TrimSpace(string(npm))}
	for _, v := range os.Environ() {
		if strings.HasPrefix(strings.ToLower(v), "npm_config_") || strings.HasPrefix(strings.ToLower(v), "http") ||
			strings.HasPrefix(v, "NODE_") {
			s.env = append(s.env, v)
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		s.env = append(s.env, "npm_config_userconfig="+filepath.Join(home, ".npmrc"))
	}
	t.Cleanup(s.end)
	return s
}

func (s *stage) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// end leaves nothing running.
func (s *stage) end() {
	if words, err := os.ReadFile(serve.Lock(s.data)); err == nil {
		if pid, err := strconv.Atoi(strings.TrimSpace(string(words))); err == nil && s.ours(pid) {
			_ = syscall.Kill(pid, syscall.SIGTERM)
			for end := time.Now().Add(2 * time.Minute); s.ours(pid) &&
				time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			}
		}
	}
	dirs, _ := filepath.Glob(filepath.Join(s.data, "sessions", "*"))
	for _, d := range dirs {
		_, _ = s.cco(context.Background(), s.dir, "box", "kill", filepath.Base(d)) // most have ended by themselves
	}
	_, _ = s.cco(context.Background(), s.dir, "box", "destroy", "--force")
}

// ours says whether a process is one that was started here: a number may belong to another by now.
func (s *stage) ours(pid int) bool {
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && strings.Contains(string(environ), s.data[:len(s.data)-len("/cco")])
}

// cco runs the built program and gives its standard output; what it says beside that is in the error.
func (s *stage) cco(ctx context.Context, dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	var out, words strings.Builder
	err := proc.Run(ctx, proc.Cmd{Argv: append([]string{filepath.Join(s.bin, "cco")}, args...), Dir: dir, Env: s.env,
		Stdout: &out, Stderr: &words})
	if err != nil {
		err = fmt.Errorf("cco %s: %w\n%s%s", strings.Join(args, " "), err, out.String(), words.String())
	}
	return out.String(), err
}

func newKey(kind string) string { return kind + randomHex(16) }

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

// nowhere checks that no file under a directory holds one of these texts, which are named.
func nowhere(t *testing.T, dir string, texts map[string]string) {
	t.Helper()
	for what, paths := range holding(t, dir, texts) {
		t.Errorf("%s is in %v", what, paths)
	}
}

// holding looks for texts in every file under a directory, but for programs that were installed.
func holding(t *testing.T, dir string, texts map[string]string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // gone in the meantime
		case d.IsDir() && d.Name() == "node_modules":
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		for what, text := range texts {
			if strings.Contains(string(data), text) {
				found[what] = append(found[what], path)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return found
}

// checkout sums up what is a user's own in a repository: refs but cco's own, config, index, files.
func checkout(t *testing.T, dir string) string {
	t.Helper()
	h := sha256.New()
	refs := must.Get(proc.Output(t.Context(), proc.Cmd{Argv: []string{"git", "-C", dir, "for-each-ref"}}))(t)
	for line := range strings.Lines(string(refs)) {
		if !strings.Contains(line, "\trefs/cco/") {
			_, _ = fmt.Fprint(h, line)
		}
	}
	for _, f := range []string{"HEAD", "config", "index"} {
		data, err := os.ReadFile(filepath.Join(dir, ".git", f))
		_, _ = fmt.Fprintf(h, "%s %x %v\n", f, data, err)
	}
	must.Do(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".git" {
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		_, _ = fmt.Fprintf(h, "%s %s %x\n", path, d.Type(), data)
		return err
	}))
	return hex.EncodeToString(h.Sum(nil))
}

// status is what `cco cruise status --json` says.
type status struct {
	ID       string  `json:"id"`
	Stage    string  `json:"stage"`
	Ended    bool    `json:"ended"`
	End      string  `json:"end"`
	Question string  `json:"question"`
	Trouble  string  `json:"trouble"`
	Rounds   int     `json:"completed_rounds"`
	PR       int     `json:"pr_number"`
	Branch   string  `json:"branch_name"`
	Head     string  `json:"head_commit"`
	Path     string  `json:"sandbox_path"`
	Cost     float64 `json:"cost"`
	Findings []struct {
		ID     string `json:"id"`
		Text   string `json:"text"`
		State  string `json:"state"`
		Reason string `json:"reason"`
		Author string `json:"author"`
	} `json:"findings"`
	Held []struct {
		Author string `json:"author"`
	} `json:"held"`
}

func (s *stage) status(t *testing.T, repo, id string) (st status) {
	t.Helper()
	out, err := s.cco(t.Context(), repo, "cruise", "status", "--json", id)
	if err == nil {
		err = json.Unmarshal([]byte(out), &st)
	}
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// await waits until a phase is as wanted. Only a failure waits long.
func (s *stage) await(t *testing.T, repo, id, what string, ok func(status) bool) status {
	t.Helper()
	for end := time.Now().Add(8 * time.Minute); ; time.Sleep(250 * time.Millisecond) {
		st := s.status(t, repo, id)
		if ok(st) {
			return st
		}
		if time.Now().After(end) {
			t.Fatalf("the phase is never %s: %+v\n%s", what, st, s.story(id))
		}
	}
}

// story is all that there is to read about a phase, for a test that has failed.
func (s *stage) story(id string) string {
	out, _ := s.cco(context.Background(), s.dir, "cruise", "logs", id)
	return out + cruisetest.Records(s.data)
}
