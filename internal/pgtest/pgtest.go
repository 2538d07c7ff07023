// Package pgtest runs a real PostgreSQL for tests and measurements: a cluster of its own, as an ordinary user, in a
// directory that is removed again.
package pgtest

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// Server is a cluster, with a superuser "cco" whose password every address holds.
type Server struct {
	Dir string // of the cluster; its socket is in there too, open to everybody with the password

	bin, password string
	port          int
	settings      []string
	as            *syscall.Credential // nil for ourselves
	process       *proc.Process
}

// Start starts a cluster that ends with the test. Settings are lines of postgresql.conf, such as "fsync=on".
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	s := must.Get(Run(context.WithoutCancel(t.Context()), settings...))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Run starts a cluster. It is slow to lose power: only settings make it sync what it writes.
func Run(ctx context.Context, settings ...string) (s *Server, err error) {
	s = &Server{password: rand.Text(), settings: append([]string{"fsync=off", "max_connections=200"}, settings...)}
	if s.bin, err = programs(); err != nil {
		return nil, err
	}
	if s.as, err = ordinary(); err != nil {
		return nil, err
	}
	// Not below a test's own directory, which is closed to other users; and short, because sockets have short names.
	if s.Dir, err = os.MkdirTemp("", "pg"); err != nil {
		return nil, err
	}
	if err := errors.Join(s.give(s.Dir, 0o711), s.make(ctx)); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.Dir))
	}
	if err := s.Again(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// programs finds where PostgreSQL's programs are: Debian keeps them off the PATH, a folder for each version.
func programs() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/opt/homebrew/bin") {
		if file := filepath.Join(dir, "initdb"); exists(file) {
			found = append(found, file)
		}
	}
	if len(found) == 0 {
		return "", errors.New("this needs PostgreSQL: apt-get install postgresql, or scripts/tools heavy")
	}
	return filepath.Dir(found[len(found)-1]), nil
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// ordinary gives the user as whom the cluster runs if we are root: PostgreSQL refuses to run as root.
func ordinary() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	who, err := user.Lookup("postgres")
	if err != nil {
		if who, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, uidErr := strconv.ParseUint(who.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(who.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(uidErr, gidErr)
}

func (s *Server) give(path string, mode os.FileMode) error {
	if s.as == nil {
		return os.Chmod(path, mode)
	}
	return errors.Join(os.Chown(path, int(s.as.Uid), int(s.as.Gid)), os.Chmod(path, mode))
}

func (s *Server) cmd(program string, args ...string) proc.Cmd {
	return proc.Cmd{
		Argv: append([]string{filepath.Join(s.bin, program)}, args...), Dir: s.Dir, TiedToUs: true,
		Env:  []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.Dir, "TZ=UTC", "LC_ALL=C"},
		Attr: func(a *syscall.SysProcAttr) { a.Credential = s.as },
	}
}

func (s *Server) data() string { return filepath.Join(s.Dir, "data") }

func (s *Server) make(ctx context.Context) error {
	file := filepath.Join(s.Dir, "password")
	if err := errors.Join(os.WriteFile(file, []byte(s.password), 0o600), s.give(file, 0o600)); err != nil {
		return err
	}
	out, err := proc.Output(ctx, s.cmd("initdb", "--pgdata", s.data(), "--no-sync", "--encoding", "UTF8", "--locale", "C",
		"--username", "cco", "--pwfile", file, "--auth", "scram-sha-256"))
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// Again starts the server, at the same port if it ran before.
func (s *Server) Again(ctx context.Context) error {
	log, err := os.OpenFile(s.Log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	const tries = 30 // somebody else may take the port before the server does, or have the old one for a moment
	for n := range tries {
		if n > 0 {
			time.Sleep(time.Second)
		}
		port := cmp.Or(s.port, free())
		args := []string{"-D", s.data(), "-k", s.Dir, "-h", "127.0.0.1", "-p", strconv.Itoa(port)}
		for _, v := range s.settings {
			args = append(args, "-c", v)
		}
		c := s.cmd("postgres", args...)
		c.Stdout, c.Stderr = log, log
		if s.process, err = proc.Start(context.WithoutCancel(ctx), c); err != nil {
			return err
		}
		if err = s.await(ctx, port); err == nil {
			s.port = port
			return nil
		}
		s.Kill()
	}
	said, _ := os.ReadFile(s.Log())
	return fmt.Errorf("start PostgreSQL: %w\n%s", err, said)
}

// Log is the file in which the server says what it does.
func (s *Server) Log() string { return filepath.Join(s.Dir, "log") }

// await waits until the server answers, or has ended.
func (s *Server) await(ctx context.Context, port int) error {
	db, err := sql.Open("pgx", s.address(port, "postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	patience := time.After(5 * time.Minute)
	for {
		err := db.PingContext(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-s.process.Done():
			return errors.New("it ended at once")
		case <-patience:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Stop ends the server and its connections, as before a restart; the data stays. Again starts it again.
func (s *Server) Stop() error {
	if s.process == nil {
		return nil
	}
	_ = s.process.Signal(syscall.SIGINT) // "fast": it waits for nobody
	select {
	case <-s.process.Done():
	case <-time.After(5 * time.Minute):
		s.Kill()
		return errors.New("stop PostgreSQL: it did not end")
	}
	s.process = nil
	return nil
}

// Kill ends the server as a crash of its machine does: with the processes of its connections, which would live and
// answer for a moment longer. Each of them is a process group of its own.
func (s *Server) Kill() {
	if s.process != nil {
		_ = s.process.Signal(syscall.SIGSTOP) // it makes no more of them
		pids, _ := proc.Output(context.Background(), proc.Cmd{Argv: []string{"pgrep", "-P", strconv.Itoa(s.process.Pid())}})
		for pid := range strings.FieldsSeq(string(pids)) {
			if n, err := strconv.Atoi(pid); err == nil {
				_ = syscall.Kill(n, syscall.SIGKILL)
			}
		}
		_ = s.process.Signal(syscall.SIGKILL)
		<-s.process.Done()
		s.process = nil
	}
}

// Close ends the server and removes everything.
func (s *Server) Close() error { return errors.Join(s.Stop(), os.RemoveAll(s.Dir)) }

// Password is that of the user "cco".
func (s *Server) Password() string { return s.password }

// Address is that of a database, with the password.
func (s *Server) Address(database string) string { return s.address(s.port, database) }

func (s *Server) address(port int, database string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword("cco", s.password), Path: database,
		Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), RawQuery: "sslmode=disable"}
	return u.String()
}

// Database makes a new database and gives its address, with the password.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	address := must.Get(s.Create(t.Context()))(t)
	return address
}

// Create makes a new database and gives its address, with the password.
func (s *Server) Create(ctx context.Context) (address string, err error) {
	db, err := sql.Open("pgx", s.Address("postgres"))
	if err != nil {
		return "", err
	}
	defer func() { _ = db.Close() }()
	name := "d" + strings.ToLower(rand.Text())
	if _, err := db.ExecContext(ctx, `CREATE DATABASE `+name); err != nil {
		return "", err
	}
	return s.Address(name), nil
}

// Open makes a new database and connects to it until the end of the test.
func (s *Server) Open(t testing.TB) *sql.DB {
	t.Helper()
	db := must.Get(sql.Open("pgx", s.Database(t)))(t)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// free gives a port that nobody listens on at this moment.
func free() int {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // ends at once
	if err != nil {
		return 0
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}
