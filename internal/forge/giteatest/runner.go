package giteatest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Job is a job that Gitea's Actions hand out.
type Job struct {
	Name, Commit string
	Attempt      int
	Token        string // makes what runs in the job a user of Gitea
}

// Runner has a runner carry out the jobs of a repository, one after the other, until the test ends. It speaks to Gitea
// as act_runner does; what a job does is up to run, which gives its log.
func (s *Server) Runner(t testing.TB, owner, name string, run func(context.Context, Job) (ok bool, log string)) {
	t.Helper()
	token, _, err := s.As(t, owner).CreateRepoActionRunnerRegistrationToken(owner, name)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	r := &runner{at: s.URL + "/api/actions/runner.v1.RunnerService/"}
	var made struct {
		Runner struct{ UUID, Token string }
	}
	if err := r.call(ctx, "Register", map[string]any{"name": "test", "token": token.Token, "version": "v0.3.0",
		"labels": []string{"linux"}}, &made); err != nil {
		t.Fatal(err)
	}
	r.uuid, r.token = made.Runner.UUID, made.Runner.Token
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := r.next(ctx, run); err != nil && ctx.Err() == nil {
				t.Errorf("the runner: %v", err)
				return
			}
		}
	}()
}

type runner struct{ at, uuid, token string }

// task is what a runner is told of a job.
type task struct {
	ID      int64 `json:",string"`
	Context struct {
		Job, SHA, Token string
		RunAttempt      string `json:"run_attempt"`
	}
}

// wait lasts until a runner asks again.
func wait(ctx context.Context) {
	select {
	case <-time.After(100 * time.Millisecond):
	case <-ctx.Done():
	}
}

// next carries out a job, if there is one.
func (r *runner) next(ctx context.Context, run func(context.Context, Job) (bool, string)) error {
	var got struct{ Task *task }
	if err := r.call(ctx, "FetchTask", map[string]any{"tasksVersion": 0}, &got); err != nil || got.Task == nil {
		wait(ctx)
		return err
	}
	t := got.Task
	job := Job{Name: t.Context.Job, Commit: t.Context.SHA, Token: t.Context.Token}
	if _, err := fmt.Sscan(t.Context.RunAttempt, &job.Attempt); err != nil {
		return fmt.Errorf("attempt %q: %w", t.Context.RunAttempt, err)
	}
	start := time.Now()
	ok, log := run(ctx, job)
	rows := []any{}
	for line := range strings.Lines(log) {
		rows = append(rows, map[string]any{"time": start, "content": strings.TrimSuffix(line, "\n")})
	}
	if err := r.call(ctx, "UpdateLog", map[string]any{"taskId": t.ID, "rows": rows, "noMore": true}, nil); err != nil {
		return err
	}
	result := "RESULT_FAILURE"
	if ok {
		result = "RESULT_SUCCESS"
	}
	return r.call(ctx, "UpdateTask", map[string]any{"state": map[string]any{"id": t.ID, "result": result,
		"startedAt": start, "stoppedAt": time.Now()}}, nil)
}

// call asks again a few times, as act_runner does: a server under load may fail once.
func (r *runner) call(ctx context.Context, method string, in, out any) error {
	for tries := 1; ; tries++ {
		err := r.ask(ctx, method, in, out)
		if err == nil || ctx.Err() != nil || tries == 10 {
			return err
		}
		wait(ctx)
	}
}

func (r *runner) ask(ctx context.Context, method string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.at+method, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Runner-Uuid", r.uuid)
	req.Header.Set("X-Runner-Token", r.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	var said json.RawMessage
	if err := json.NewDecoder(resp.Body).Decode(&said); err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %d %s %w", method, resp.StatusCode, said, err)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(said, out)
}
