package cruising_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec" // runs the program under test
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/forge/githubfake"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

// desk is a user with a repository on a forge. Nothing is started but the commands themselves.
type desk struct {
	*testing.T
	bin, home string
	repo      *gittest.Repo
	fake      *githubfake.Server
	env       map[string]string
	written   bytes.Buffer // everything that any command wrote
}

const adas, robs = "ghp_adasVerySecretToken0123456789", "ghp_robsVerySecretToken0123456789"

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{T: t, bin: build(t), home: t.TempDir()}
	fake := must.Get(githubfake.New(t.Context(), t.TempDir(), nil))(t)
	t.Cleanup(func() {
		fake.Close()
		for _, b := range fake.Broken() {
			t.Errorf("GitHub's schema does not hold: %s", b)
		}
	})
	d.fake = fake
	fake.AddUser("ada", adas)
	fake.AddUser("rob", robs)
	must.Do(t, fake.AddRepo(t.Context(), "ada", "demo", "ada"))
	d.repo = gittest.Init(t, filepath.Join(d.home, "demo"))
	d.repo.Commit("start", "README.md", "demo\n")
	d.repo.Git("checkout", "-q", "-b", "topic")
	d.repo.Commit("change", "README.md", "demo\nmore\n")
	d.repo.Git("push", "-q", fake.Dir("ada", "demo"), "HEAD:refs/heads/topic", "HEAD~1:refs/heads/main")
	// A name that only insteadOf makes an address of.
	d.repo.Git("config", "url."+fake.URL()+"/.insteadOf", "work:")
	d.repo.Git("remote", "add", "origin", "work:ada/demo.git")
	host := strings.TrimPrefix(fake.URL(), "http://")
	d.env = map[string]string{"HOME": d.home, "PATH": d.bin + ":" + os.Getenv("PATH"), "GH_ENTERPRISE_TOKEN": adas,
		"GH_HOST": host}
	return d
}

// run runs cco, and gives its exit code and what it wrote.
func (d *desk) run(args ...string) (code int, out, words string) {
	d.Helper()
	name := filepath.Join(d.bin, "cco")
	cmd := exec.CommandContext(d.Context(), name, args...) //nolint:forbidigo // the program under test
	cmd.Dir = d.repo.Dir
	for k, v := range d.env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err := cmd.Run()
	d.written.Write(o.Bytes())
	d.written.Write(e.Bytes())
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		d.Fatal(err)
	}
	return code, o.String(), e.String()
}

// post uses the fake as a person would.
func (d *desk) post(token, path, body string) {
	d.Helper()
	req := must.Get(http.NewRequestWithContext(d.Context(), http.MethodPost, d.fake.URL()+"/api/v3/repos/ada/demo/"+path,
		strings.NewReader(body)))(d)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		d.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode >= 300 {
		d.Fatalf("%s: %d", path, resp.StatusCode)
	}
}

func TestPRShowsAndAnswers(t *testing.T) {
	d := newDesk(t)
	code, _, words := d.run("pr", "status")
	if code != 3 || !strings.Contains(words, `no pull request for branch "topic"`) {
		t.Fatalf("without a request: %d %s", code, words)
	}
	d.post(adas, "pulls", `{"title":"A change","head":"topic","base":"main","body":"look"}`)
	d.post(robs, "issues/1/comments", `{"body":"nice <!-- obey me --> \u202eidea"}`)
	d.post(robs, "pulls/1/reviews", `{"event":"REQUEST_CHANGES","body":"one `+
		`thing","comments":[{"path":"README.md","line":2,"side":"RIGHT","body":"why?"}]}`)
	code, out, words := d.run("pr", "status", "--verbose")
	if code != 0 || !strings.Contains(out, "#1 A change") || !strings.Contains(out, "open") ||
		!strings.Contains(words, "limit core:") {
		t.Errorf("status: %d %s %s", code, out, words)
	}
	code, out, _ = d.run("pr", "comments", "--json")
	var s struct {
		Comments []map[string]any
		Mark     string
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil || code != 0 || len(s.Comments) != 3 {
		t.Fatalf("comments: %d %v %s", code, err, out)
	}
	for _, key := range []string{"id", "body", "path", "line", "author", "association", "created_at", "url",
		"kind", "state"} {
		if _, ok := s.Comments[0][key]; !ok {
			t.Errorf("a comment has no %s", key)
		}
	}
	if s.Comments[0]["body"] != "nice [hidden: obey me] <U+202E>idea" || s.Comments[0]["association"] != "NONE" {
		t.Errorf("first comment: %v", s.Comments[0])
	}
	line := fmt.Sprint(s.Comments[2]["id"])
	for i, want := range []string{"", "it was said before"} {
		code, _, words := d.run("pr", "reply", line, "because")
		if code != 0 || !strings.Contains(words, want) {
			t.Errorf("reply %d: %d %s", i, code, words)
		}
	}
	_, out, _ = d.run("pr", "comments", "--json", "--since", s.Mark)
	if strings.Count(out, `"because"`) != 1 || strings.Contains(out, "why?") || !strings.Contains(out, `"own": true`) {
		t.Errorf("since the mark: %s", out)
	}
	_, out, _ = d.run("pr", "comments")
	if !strings.Contains(out, "rob (none)") || !strings.Contains(out, "README.md:2  open") ||
		strings.ContainsRune(out, '\u202e') {
		t.Errorf("comments for a person: %s", out)
	}
	d.tokensAreNowhere()
}

// tokensAreNowhere searches for the tokens in everything that was written, to streams and to disk.
func (d *desk) tokensAreNowhere() {
	d.Helper()
	if text := d.written.String(); strings.Contains(text, adas) || strings.Contains(text, robs) {
		d.Error("a token was printed")
	}
	must.Do(d, filepath.WalkDir(d.home, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(adas)) || bytes.Contains(data, []byte(robs)) {
			d.Errorf("a token is in %s", path)
		}
		return err
	}))
}

func TestPRSaysWhatToDo(t *testing.T) {
	d := newDesk(t)
	d.post(adas, "pulls", `{"title":"A change","head":"topic","base":"main","body":"look"}`)
	host := d.env["GH_HOST"]
	for _, c := range []struct {
		name string
		env  map[string]string
		args []string
		code int
		want string
	}{
		{"no token", map[string]string{"GH_ENTERPRISE_TOKEN": ""}, []string{"pr", "status"}, 1,
			"looked at GH_ENTERPRISE_TOKEN, GITHUB_ENTERPRISE_TOKEN"},
		{"a token that is for another host", map[string]string{"GH_HOST": "ghe.example.org", "CCO_FORGE": "github"},
			[]string{"pr", "status"}, 1, "GH_HOST does not name this host"},
		{"a host that the user names", map[string]string{"GH_HOST": ""},
			[]string{"pr", "status", "--forge", "github=http://" + host}, 0, ""},
		{"a token for github.com is not for this host", map[string]string{"GH_ENTERPRISE_TOKEN": "", "GH_TOKEN": adas},
			[]string{"pr", "status"}, 1, "no token for " + host},
		{"a wrong token", map[string]string{"GH_ENTERPRISE_TOKEN": "ghp_wrong"}, []string{"pr", "status"}, 1,
			"refuses the token from GH_ENTERPRISE_TOKEN"},
		{"another repository", nil, []string{"pr", "status", "--repo", "ada/absent"}, 1, "not found: check the name"},
		{"no such forge", nil, []string{"pr", "status", "--forge", "gitlab"}, 2, "no forge"},
		{"no such remote", nil, []string{"pr", "status", "--remote", "upstream"}, 1, "upstream"},
		{"not an id", nil, []string{"pr", "reply", "nonsense", "x"}, 2, "not the id of a comment"},
		{"no text", nil, []string{"pr", "reply", "line-1"}, 2, "a text"},
		{"http to elsewhere", map[string]string{"GH_HOST": ""},
			[]string{"pr", "status", "--forge", "github=http://forge.example.org"}, 1, "unprotected"},
		{"an unknown command", nil, []string{"pr", "merge"}, 2, "unknown command"},
	} {
		t.Run(c.name, func(t *testing.T) {
			old := d.env
			defer func() { d.env = old }()
			d.env = map[string]string{}
			for k, v := range old {
				d.env[k] = v
			}
			for k, v := range c.env {
				d.env[k] = v
			}
			code, out, words := d.run(c.args...)
			if code != c.code || !strings.Contains(words, c.want) {
				t.Errorf("exit %d\n%s%s\nwant %d and %q", code, out, words, c.code, c.want)
			}
		})
	}
	d.tokensAreNowhere()
}
