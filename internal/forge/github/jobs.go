package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/cco-dev/cco/internal/forge"
)

// Attempt reads which attempt of its run a job belongs to.
func (f *Forge) Attempt(ctx context.Context, job int64) (int, error) {
	j, _, err := f.author.rest.Actions.GetWorkflowJobByID(ctx, f.remote.Owner, f.remote.Name, job)
	if err != nil {
		return 0, fmt.Errorf("read job %d: %w", job, err)
	}
	return int(j.GetRunAttempt()), nil
}

// rerun runs a job again, if its run is still at that attempt: it may have been run again already.
func (f *Forge) rerun(ctx context.Context, job int64, attempt int) error {
	j, _, err := f.author.rest.Actions.GetWorkflowJobByID(ctx, f.remote.Owner, f.remote.Name, job)
	if err != nil {
		return fmt.Errorf("read job %d: %w", job, err)
	}
	run, _, err := f.author.rest.Actions.GetWorkflowRunByID(ctx, f.remote.Owner, f.remote.Name, j.GetRunID())
	if err != nil {
		return fmt.Errorf("read run %d: %w", j.GetRunID(), err)
	}
	if run.GetRunAttempt() != attempt {
		return nil
	}
	if _, err = f.author.rest.Actions.RerunJobByID(ctx, f.remote.Owner, f.remote.Name, job); err != nil {
		return fmt.Errorf("run job %d again: %w", job, err)
	}
	return nil
}

// JobLog reads the end of a job's log. GitHub says where it is; the token does not go there.
func (f *Forge) JobLog(ctx context.Context, job int64) (string, error) {
	rest, _ := endpoints(f.remote)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%srepos/%s/%s/actions/jobs/%d/logs", rest,
		f.remote.Owner, f.remote.Name, job), nil)
	if err != nil {
		return "", err
	}
	resp, err := f.author.transport.RoundTrip(req)
	if _, gone := errors.AsType[*forge.NotFoundError](err); gone {
		return "", nil // logs are removed after a while
	}
	if err != nil {
		return "", fmt.Errorf("read the log of job %d: %w", job, err)
	}
	_ = resp.Body.Close()
	to, err := url.Parse(resp.Header.Get("Location"))
	if err != nil || resp.StatusCode/100 != 3 || to.Scheme != f.remote.Scheme {
		return "", fmt.Errorf("read the log of job %d: GitHub does not say where it is (%d)", job, resp.StatusCode)
	}
	return f.plainly(ctx, to)
}

// plainly reads the end of a text without a token.
func (f *Forge) plainly(ctx context.Context, at *url.URL) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return "", err
	}
	resp, err := f.author.transport.Base.RoundTrip(req)
	if err != nil {
		return "", &forge.UnavailableError{Host: at.Host, Err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return "", &forge.UnavailableError{Host: at.Host, Status: resp.StatusCode}
	}
	log, err := forge.LogEnd(resp.Body, false)
	if err != nil {
		return "", &forge.UnavailableError{Host: at.Host, Err: err}
	}
	return log, nil
}
