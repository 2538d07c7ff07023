package app

import (
	"io"

	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/git/quarantine"
	"github.com/cco-dev/cco/internal/session"
)

// PullOptions are those of `cco box pull` in the repository of a session, with nobody there to consent.
func PullOptions(cfg config.Config, repo string) session.PullOptions {
	return session.PullOptions{Dir: repo, Bundle: cfg.Pull.MaxBundle, Timeout: cfg.Pull.Timeout,
		Interval: cfg.Pull.Interval,
		Limits:   quarantine.Limits{PackBytes: cfg.Pull.MaxBundle, ObjectBytes: cfg.Pull.MaxBlob},
		Gate:     session.Gate{Policy: cfg.Pull.Policy}}
}

// Bounded passes on so many bytes, and says if there were more.
type Bounded struct {
	To   io.Writer
	Left int
	Over bool
}

func (b *Bounded) Write(p []byte) (int, error) {
	n, err := b.To.Write(p[:min(len(p), b.Left)])
	b.Left -= n
	if err == nil && n < len(p) {
		b.Over, err = true, io.ErrShortWrite
	}
	return n, err
}
