package gitea

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/cco-dev/cco/internal/forge"
)

// actionsUser is the number of the user as whom Gitea's own Actions report; 1.26 gives no user there. A job's token
// makes whatever runs in it the same user, and a user who was deleted is none, so that this alone proves nothing.
const actionsUser = -2

// byActions says whether a status is reported as Gitea's Actions report.
func byActions(s *sdk.Status) bool { return s.Creator == nil || s.Creator.ID == actionsUser }

// likeAJobs is the name of a status as Actions give it: workflow, job and event.
var likeAJobs = regexp.MustCompile(`(?:^|\s)/ .+ \([a-z_]+\)$`)

// claimed is the job that a status says it tells of: the link of one by Actions names the run and the job. It is read
// here, and never fetched.
func (f *Forge) claimed(s *sdk.Status) (run, job int64) {
	_, at, ok := strings.Cut(s.TargetURL, "/"+f.remote.Owner+"/"+f.remote.Name+"/actions/runs/")
	first, last, _ := strings.Cut(at, "/jobs/")
	run, err1 := strconv.ParseInt(first, 10, 64)
	job, err2 := strconv.ParseInt(last, 10, 64)
	if !ok || err1 != nil || err2 != nil || run <= 0 || job <= 0 {
		return 0, 0
	}
	return run, job
}

// errNotOver keeps the state of a job from being remembered.
var errNotOver = errors.New("the job is not over")

// backing is the job that a status claims, if it is one of that run, commit and name by the forge's own word; nil if it
// is not, or if the server does not tell of jobs.
func (f *Forge) backing(ctx context.Context, commit string, s *sdk.Status) (*sdk.ActionWorkflowJob, error) {
	run, job := f.claimed(s)
	if job == 0 {
		return nil, nil
	}
	j, err := f.jobs.Get(fmt.Sprintf("%s %d", commit, s.ID), func() (*sdk.ActionWorkflowJob, error) {
		j, err := f.job(ctx, job)
		switch {
		case refused(err):
			return nil, nil
		case err == nil && j.Status != completed:
			err = errNotOver
		}
		return j, err
	})
	if err != nil && !errors.Is(err, errNotOver) {
		return nil, err
	}
	if j == nil || j.ID != job || j.RunID != run || !strings.Contains(s.Context, "/ "+j.Name+" (") ||
		j.HeadSha != commit && !strings.HasSuffix(s.Context, "(pull_request_target)") { // that is of the base's commit
		return nil, nil
	}
	return j, nil
}

// withJob adds the job behind a status that is reported as Actions report. Whoever has the token of a job can report
// such a one with any name and link, so a job is believed before a status: one is final when its job is, and one with
// the name of a job is green only if there is a job that says so. While the run of a failed job is not over, nothing of
// it can be run again, and the check is not final.
func (f *Forge) withJob(ctx context.Context, commit string, s *sdk.Status, check forge.Check) (forge.Check, error) {
	if !byActions(s) || check.State == forge.ChecksPending {
		return check, nil
	}
	j, err := f.backing(ctx, commit, s)
	if err != nil {
		return check, err
	}
	if j == nil {
		return f.withoutJob(ctx, s, check)
	}
	passed := check.State == forge.ChecksPassed
	check.Job, check.Run, check.Attempt = j.ID, j.RunID, int(j.RunAttempt)
	switch {
	case passed && !failed(j) && j.Status == completed:
	case passed && failed(j):
		check.State = forge.ChecksFailed
	case !failed(j):
		check.State = forge.ChecksPending
	default:
		over, err := f.over(ctx, j.RunID)
		if err != nil {
			return check, err
		}
		if !over {
			check.State = forge.ChecksPending
		}
	}
	if j.HeadSha != commit {
		check.Job, check.Run = 0, 0 // it may be another request's: it is not run again
	}
	return check, nil
}

// withoutJob is a status that no job is behind. A green one that has the name of a job's is forged, or its run was
// removed: it is not counted, and in the end a person is asked.
func (f *Forge) withoutJob(ctx context.Context, s *sdk.Status, check forge.Check) (forge.Check, error) {
	if check.State != forge.ChecksPassed || !likeAJobs.MatchString(s.Context) {
		return check, nil
	}
	tells, err := f.tellsJobs(ctx)
	if err == nil && tells {
		check.State, check.Summary = forge.ChecksPending, "reported as Actions would, but no job says so"
	}
	return check, err
}

// tellsJobs says whether the server tells of every job that its Actions link to: Gitea does from 1.26 on.
func (f *Forge) tellsJobs(ctx context.Context) (bool, error) {
	return f.tells.Get("", func() (bool, error) {
		version, _, err := f.author.at(ctx).ServerVersion()
		if err != nil && !refused(err) {
			return false, fmt.Errorf("ask for the server's version: %w", err)
		}
		var major, minor int
		n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor)
		return n == 2 && (major > 1 || minor >= 26) && !strings.Contains(version, "+gitea-"), nil // that is Forgejo's
	})
}

// over says whether a run is over; one that is not told of is.
func (f *Forge) over(ctx context.Context, run int64) (bool, error) {
	r, _, err := f.author.at(ctx).GetRepoActionRun(f.remote.Owner, f.remote.Name, run)
	if err != nil && !refused(err) {
		return false, fmt.Errorf("read run %d: %w", run, err)
	}
	return err != nil || r.Status == completed, nil
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
	j, _, err := f.author.at(ctx).GetRepoActionJob(f.remote.Owner, f.remote.Name, job)
	if err != nil {
		return nil, fmt.Errorf("read job %d: %w", job, err)
	}
	return j, nil
}

// rerun runs a job again, with those that need it, if it has failed and is still at that attempt. Gitea counts an
// attempt when a runner takes the job, so one that waits for a runner has been run again already; and from 1.27 on each
// attempt is a job of its own, and the run says at which one it is.
func (f *Forge) rerun(ctx context.Context, job int64, attempt int) error {
	j, err := f.job(ctx, job)
	if err != nil || int(j.RunAttempt) != attempt || !failed(j) {
		return err
	}
	c := f.author.at(ctx)
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
