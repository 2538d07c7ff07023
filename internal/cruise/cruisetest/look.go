package cruisetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/store"
)

// Status is what `cco cruise status --json` says.
type Status struct {
	ID       string    `json:"id"`
	Stage    string    `json:"stage"`
	Ended    bool      `json:"ended"`
	End      string    `json:"end"`
	Paused   bool      `json:"paused"`
	Question string    `json:"question"`
	Trouble  string    `json:"trouble"`
	Rounds   int       `json:"completed_rounds"`
	PR       int       `json:"pr_number"`
	Branch   string    `json:"branch_name"`
	Head     string    `json:"head_commit"`
	Backoff  int       `json:"backoff_interval_secs"`
	NextPoll time.Time `json:"next_poll"`
	Path     string    `json:"sandbox_path"`
	Cost     float64   `json:"cost"`
	Findings []struct {
		ID     string `json:"id"`
		Text   string `json:"text"`
		State  string `json:"state"`
		Domain string `json:"domain"`
	} `json:"findings"`
	Verdicts []struct {
		Domain  string `json:"domain"`
		Verdict string `json:"verdict"`
	} `json:"verdicts"`
	Held []struct {
		ID string `json:"id"`
	} `json:"held"`
}

// Over says that nothing more happens by itself.
func (s Status) Over() bool { return s.Ended || s.Question != "" }

// Session is the session that the workspace belongs to.
func (s Status) Session() string { return filepath.Base(filepath.Dir(s.Path)) }

// Status asks where a phase stands.
func (r *Rig) Status(id string) (s Status) {
	r.Helper()
	must.Do(r, json.Unmarshal([]byte(r.CCO("cruise", "status", "--json", id)), &s))
	return s
}

// Await waits until a phase is as wanted. Only a failure waits long.
func (r *Rig) Await(id, what string, ok func(Status) bool) Status {
	r.Helper()
	look, done := r.record(id)
	defer done()
	var s Status
	if !r.Until(func() bool { s = look(); return ok(s) }) {
		r.Fatalf("the phase is never %s: %+v\n%s", what, s, r.Story(id))
	}
	return s
}

// record gives a way to look at a phase again and again. It reads the phase's record in this process: a command for
// every look would be most of what the machine does while tests wait. What other machines or users have is asked for.
func (r *Rig) record(id string) (look func() Status, done func()) {
	r.Helper()
	if settings, _ := os.ReadFile(r.settings()); r.User != nil || strings.Contains(string(settings), "[engine]") {
		return func() Status { r.Helper(); return r.Status(id) }, func() {}
	}
	file := filepath.Join(r.Data, "cco.db")
	db := must.Get(store.Open(r.Context(), file))(r)
	var s Status
	var was os.FileInfo // of the log that everything is written to first
	var read time.Time
	return func() Status {
		r.Helper()
		is, err := os.Stat(file + "-wal")
		if err == nil && was != nil && is.ModTime().Equal(was.ModTime()) && is.Size() == was.Size() &&
			time.Since(read) < time.Second {
			return s
		}
		was, read, s = is, time.Now(), Status{}
		p := must.Get(db.Phase(r.Context(), id))(r)
		var st cruise.State
		must.Do(r, json.Unmarshal(p.State, &st))
		s.NextPoll, st.Looks.Backoff = st.Next(time.Now())
		s.Ended, s.End, s.Paused, s.Question, s.Trouble = p.Ended, string(st.End), st.Paused, st.Ask.Question,
			st.Waiting.Trouble
		for _, part := range []any{steps.Show(p.ID, st), map[string]any{
			"findings": st.Ledger.Findings, "verdicts": st.Review.Judgements, "held": st.Inbox.Held}} {
			must.Do(r, json.Unmarshal(must.Get(json.Marshal(part))(r), &s))
		}
		return s
	}, func() { must.Do(r, db.Close()) }
}

// Until asks again and again, and says whether it became true.
func (r *Rig) Until(ok func() bool) bool {
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); {
		if ok() {
			return true
		}
		time.Sleep(20 * time.Millisecond) // only the pace of asking
	}
	return false
}

// Story is everything recorded about a phase, shown when a test fails.
func (r *Rig) Story(id string) string {
	out, words, _ := r.Run("cruise", "logs", id)
	return out + words + Records(r.Data)
}

// Records is what the engine and the agents have written below a data directory.
func Records(dir string) string {
	var b strings.Builder
	engine, _ := os.ReadFile(filepath.Join(dir, "cruise.log"))
	b.Write(engine)
	files, _ := filepath.Glob(filepath.Join(dir, "sessions", "*", "transcript.jsonl"))
	for _, f := range files {
		data, _ := os.ReadFile(f)
		fmt.Fprintf(&b, "== %s\n%s\n", filepath.Base(filepath.Dir(f)), data[:min(len(data), 20_000)])
	}
	return b.String()
}

// Decode reads what a command printed as JSON.
func (r *Rig) Decode(out string, v any) {
	r.Helper()
	if err := json.Unmarshal([]byte(out), v); err != nil {
		r.Fatalf("%v: %s", err, out)
	}
}

// Workspace is where the files of a phase's workspace are on this machine.
func (r *Rig) Workspace(s Status) string {
	r.Helper()
	if s.Path == "" {
		return filepath.Join(r.Data, "no", "workspace")
	}
	return s.Path
}

// Checkout is what the user has: the worktree, the index, the branches.
func (r *Rig) Checkout() map[string]string {
	r.Helper()
	all := gittest.Fingerprint(r.TB, r.Repo)
	maps.DeleteFunc(all, func(name, _ string) bool {
		// Objects come in, and refs/cco/ is ours.
		inner, ok := strings.CutPrefix(name, ".git/")
		return name == ".git" || ok && (strings.HasPrefix(inner, "objects") || strings.HasPrefix(inner, "refs/cco") ||
			inner == "refs")
	})
	return all
}

// Call sends the forge a request with somebody's token and reads the answer.
func (r *Rig) Call(token, method, path string, body, out any) {
	r.Helper()
	var content io.Reader
	if body != nil {
		data := must.Get(json.Marshal(body))(r)
		content = bytes.NewReader(data)
	}
	base := r.Fake.URL() + "/api/v3"
	if r.Gitea != nil {
		who := "ada"
		if token == Stranger {
			who = "eve"
		}
		base, token = r.Gitea.URL+"/api/v1", r.Gitea.Tokens[who]
	}
	req := must.Get(http.NewRequestWithContext(r.Context(), method, base+"/repos/ada/demo/"+path, content))(r)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer := must.Get(io.ReadAll(resp.Body))(r)
	if resp.StatusCode >= http.StatusBadRequest {
		r.Fatalf("%s %s: %d: %s", method, path, resp.StatusCode, answer)
	}
	if out != nil {
		must.Do(r, json.Unmarshal(answer, out))
	}
}

// Say comments on a pull request.
func (r *Rig) Say(token string, pr int, words string) {
	r.Helper()
	if strings.Contains(words, "[REVIEW COMPLETE]") {
		// The word is for what was pushed in an earlier second of the forge's clock, which is this machine's.
		now := time.Now()
		time.Sleep(now.Truncate(time.Second).Add(time.Second).Sub(now))
	}
	r.Call(token, http.MethodPost, fmt.Sprintf("issues/%d/comments", pr), map[string]string{"body": words}, nil)
}

// Said is everything that stands on a pull request, if there is one.
func (r *Rig) Said(pr int) []string {
	r.Helper()
	if pr == 0 {
		return nil
	}
	var all []string
	read := func(path, as string) (ids []int) {
		var list []struct {
			ID   int    `json:"id"`
			Body string `json:"body"`
			Path string `json:"path"`
		}
		r.Call(Token, http.MethodGet, path+"?per_page=100&limit=50", nil, &list)
		for _, v := range list {
			ids = append(ids, v.ID)
			all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s", as, v.Path, v.Body)))
		}
		return ids
	}
	of := func(path string) string { return fmt.Sprintf(path, pr) }
	read(of("issues/%d/comments"), of("issues/%d/comments"))
	reviews := read(of("pulls/%d/reviews"), of("pulls/%d/reviews"))
	if r.Gitea == nil {
		read(of("pulls/%d/comments"), of("pulls/%d/comments"))
		return all
	}
	for _, id := range reviews {
		read(fmt.Sprintf("pulls/%d/reviews/%d/comments", pr, id), of("pulls/%d/comments"))
	}
	return all
}

// Pulls counts the pull requests.
func (r *Rig) Pulls() int {
	r.Helper()
	var list []struct{ Number int }
	r.Call(Token, http.MethodGet, "pulls?state=all", nil, &list)
	return len(list)
}

// Left lists the processes that work for this user: keepers, and everything in the sessions of its boxes.
func (r *Rig) Left() map[int]string {
	sessions := map[string]bool{}
	dirs, _ := filepath.Glob(filepath.Join(r.Data, "sessions", "*"))
	for _, d := range dirs {
		sessions[filepath.Base(d)] = true
	}
	left := map[int]string{}
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range procs {
		pid, _ := strconv.Atoi(filepath.Base(p))
		cmdline, _ := os.ReadFile(filepath.Join(p, "cmdline"))
		argv := strings.Split(string(cmdline), "\x00")
		if len(argv) >= 3 && argv[1] == "keeper" && sessions[argv[2]] {
			left[pid] = "keeper " + argv[2]
			continue
		}
		environ, _ := os.ReadFile(filepath.Join(p, "environ"))
		for v := range strings.SplitSeq(string(environ), "\x00") {
			if id, ok := strings.CutPrefix(v, "CCO_SESSION="); ok && sessions[id] {
				left[pid] = strings.Join(argv, " ")
			}
		}
	}
	return left
}

// unsay deletes a comment on a pull request.
func (r *Rig) unsay(pr int, words string) {
	r.Helper()
	var list []struct {
		ID   int    `json:"id"`
		Body string `json:"body"`
	}
	r.Call(Token, http.MethodGet, fmt.Sprintf("issues/%d/comments", pr), nil, &list)
	for _, v := range list {
		if v.Body == words {
			r.Call(Token, http.MethodDelete, fmt.Sprintf("issues/comments/%d", v.ID), nil, nil)
		}
	}
}
