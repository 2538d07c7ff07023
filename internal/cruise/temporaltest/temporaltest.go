// Package temporaltest runs a real Temporal for tests.
package temporaltest

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// Server is a Temporal that was started for a test. It keeps what it was told in a file.
type Server struct {
	Address string

	bin, dir string
	process  *proc.Process
}

// Start starts the Temporal that scripts/temporal has built. It ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{bin: built(t), dir: t.TempDir()}
	t.Cleanup(func() { _ = s.Stop() })
	const tries = 5 // somebody else may take the port before it does
	for range tries {
		l := must.Get(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
		s.Address = l.Addr().String()
		must.Do(t, l.Close())
		if s.Again(t.Context()) == nil {
			return s
		}
	}
	t.Fatal("Temporal does not start")
	return nil
}

// Stop kills it.
func (s *Server) Stop() error {
	if s.process == nil {
		return nil
	}
	err := s.process.Signal(syscall.SIGKILL)
	<-s.process.Done()
	s.process = nil
	return err
}

// Again starts it at its address, with what it knew.
func (s *Server) Again(ctx context.Context) error {
	_, port, err := net.SplitHostPort(s.Address)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "temporal.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	s.process, err = proc.Start(context.WithoutCancel(ctx), proc.Cmd{Argv: []string{filepath.Join(s.bin, "temporal"),
		"server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", port, "--log-level", "error",
		"--db-filename", filepath.Join(s.dir, "temporal.db")},
		Dir: s.dir, Env: append(os.Environ(), "HOME="+s.dir), Stdout: log, Stderr: log, TiedToUs: true})
	if err != nil {
		return err
	}
	return s.answers(ctx)
}

// answers waits until it does.
func (s *Server) answers(ctx context.Context) error {
	const patience = 2 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		_, err := proc.Output(ctx, proc.Cmd{Argv: []string{filepath.Join(s.bin, "temporal"), "operator", "cluster",
			"health", "--address", s.Address}, Env: append(os.Environ(), "HOME="+s.dir)})
		if err == nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-s.process.Done():
			return os.ErrProcessDone
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// built builds Temporal if need be, and gives the folder that it is in.
func built(t testing.TB) string {
	t.Helper()
	mod := must.Get(proc.Output(t.Context(), proc.Cmd{Argv: []string{"go", "env", "GOMOD"}}))(t)
	script := filepath.Join(filepath.Dir(strings.TrimSpace(string(mod))), "scripts", "temporal")
	out, err := proc.Output(t.Context(), proc.Cmd{Argv: []string{script}, Stderr: os.Stderr})
	if err != nil {
		t.Fatalf("build Temporal: %v", err)
	}
	return strings.TrimSpace(string(out))
}
