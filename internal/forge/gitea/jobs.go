package gitea

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/cco-dev/cco/internal/forge"
)

// actionsUser is the number of the user as whom Gitea's own Actions report; 1.26 gives no user there. A job's token
// makes whatever runs in it the same user, and a user who was deleted is none, so that this alone proves nothing.
const actionsUser = -2

// claimed is the job that a status says it tells of, if it is reported as Gitea's Actions report: their link names the
// run and the job. It is read here, and never fetched.
func (f *Forge) claimed(s *sdk.Status) (run, job int64) {
	if s.Creator != nil && s.Creator.ID != actionsUser {
		return 0, 0
	}
	_, at, ok := strings.Cut(s.TargetURL, "/"+f.remote.Owner+"/"+f.remote.Name+"/actions/runs/")
	first, last, _ := strings.Cut(at, "/jobs/")
	run, err1 := strconv.ParseInt(first, 10, 64)
	job, err2 := strconv.ParseInt(last, 10, 64)
	if !ok || err1 != nil || err2 != nil || run <= 0 || job <= 0 {
		return 0, 0
	}
	return run, job
}

// withJob adds the job behind a status. What a failed one claims is asked after: whoever may report a status can put
// any name and any link into it, so the job has to be one of that run, commit and name by the forge's own word. While
// its run is not over, nothing of it can be run again, and the check is not final.
func (f *Forge) withJob(ctx context.Context, commit string, s *sdk.Status, check forge.Check) (forge.Check, error) {
	run, job := f.claimed(s)
	if job == 0 || check.State != forge.ChecksFailed {
		check.Job, check.Run = job, run
		return check, nil
	}
	c, err := f.author.at(ctx)
	if err != nil {
		return check, err
	}
	j, _, err := c.GetRepoActionJob(f.remote.Owner, f.remote.Name, job)
	switch {
	case refused(err):
		return check, nil // a server that does not tell of jobs, or no such job
	case err != nil:
		return check, fmt.Errorf("read job %d: %w", job, err)
	case j.ID != job || j.RunID != run || j.HeadSha != commit || !strings.Contains(s.Context, "/ "+j.Name+" ("):
		return check, nil
	}
	r, _, err := c.GetRepoActionRun(f.remote.Owner, f.remote.Name, run)
	if err != nil && !refused(err) {
		return check, fmt.Errorf("read run %d: %w", run, err)
	}
	check.Job, check.Run, check.Attempt = job, run, int(j.RunAttempt)
	if !failed(j) || r != nil && r.Status != completed {
		check.State = forge.ChecksPending
	}
	return check, nil
}

// completed is the state of jobs and runs that are over.
const completed = "completed"

func failed(j *sdk.ActionWorkflowJob) bool {
	return j.Status == completed && j.Conclusion != "success" && j.Conclusion != "skipped"
}

// Attempt reads which attempt of a job was the last.
func (f *Forge) Attempt(ctx context.Context, job int64) (int, error) {
	j, err := f.job(ctx, job)
	if err != nil {
		return 0, err
	}
	return int(j.RunAttempt), nil
}

func (f *Forge) job(ctx context.Context, job int64) (*sdk.ActionWorkflowJob, error) {
	c, err := f.author.at(ctx)
	if err != nil {
		return nil, err
	}
	j, _, err := c.GetRepoActionJob(f.remote.Owner, f.remote.Name, job)
	if err != nil {
		return nil, fmt.Errorf("read job %d: %w", job, err)
	}
	return j, nil
}

// Rerun runs a job again, with those that need it, if it has failed and is still at that attempt. Gitea counts an
// attempt when a runner takes the job, so one that waits for a runner has been run again already; and from 1.27 on each
// attempt is a job of its own, and the run says at which one it is.
func (f *Forge) Rerun(ctx context.Context, job int64, attempt int) error {
	f.writing.Lock()
	defer f.writing.Unlock()
	j, err := f.job(ctx, job)
	if err != nil || int(j.RunAttempt) != attempt || !failed(j) {
		return err
	}
	c, err := f.author.at(ctx)
	if err != nil {
		return err
	}
	run, _, err := c.GetRepoActionRun(f.remote.Owner, f.remote.Name, j.RunID)
	if err != nil {
		return fmt.Errorf("read run %d: %w", j.RunID, err)
	}
	if int(run.RunAttempt) > attempt {
		return nil
	}
	if _, _, err = c.RerunRepoActionJob(f.remote.Owner, f.remote.Name, j.RunID, job); err != nil {
		return fmt.Errorf("run job %d again: %w", job, err)
	}
	return nil
}

// JobLog reads the end of a job's log. Gitea gives it out itself: a redirect to another host is not followed.
func (f *Forge) JobLog(ctx context.Context, job int64) (string, error) {
	at := fmt.Sprintf("%s/api/v1/repos/%s/%s/actions/jobs/%d/logs", f.author.base, f.remote.Owner, f.remote.Name, job)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Range", fmt.Sprintf("bytes=-%d", forge.MaxLogEnd))
	resp, err := f.author.client.Do(req)
	if _, gone := errors.AsType[*forge.NotFoundError](err); gone {
		return "", nil // logs are removed after a while
	}
	if where, ok := errors.AsType[*url.Error](err); ok {
		err = where.Err // the address may be one that a redirect named
	}
	if err != nil {
		return "", fmt.Errorf("read the log of job %d: %w", job, err)
	}
	defer func() { _ = resp.Body.Close() }()
	cut := resp.StatusCode == http.StatusPartialContent &&
		!strings.HasPrefix(resp.Header.Get("Content-Range"), "bytes 0-")
	return forge.LogEnd(resp.Body, cut)
}
