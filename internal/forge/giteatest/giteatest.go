// Package giteatest runs a real Gitea for tests.
package giteatest

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// Server is a Gitea that was started for a test.
type Server struct {
	URL string
	// Dir is where it keeps everything that it was told.
	Dir    string
	Tokens map[string]string // by user

	bin string
	env []string
}

// Start starts the Gitea that scripts/gitea has built, with these users, as the user of the test. It ends with the
// test.
func Start(t testing.TB, users ...string) *Server {
	t.Helper()
	home := built(t)
	s := &Server{bin: filepath.Join(home, "gitea"), Dir: t.TempDir(), Tokens: map[string]string{}}
	s.at(t, home)
	// Every push starts it three times as a hook, which takes a quarter less without collecting garbage.
	s.env = append(os.Environ(), "HOME="+s.Dir, "GITEA_WORK_DIR="+s.Dir, "GOGC=400")
	s.run(t, "migrate")
	for _, who := range users {
		s.run(t, "admin", "user", "create", "--username", who, "--password", "pass-of-"+who, "--email", who+"@example.org",
			"--must-change-password=false")
		said := s.run(t, "admin", "user", "generate-access-token", "--username", who, "--token-name", "test",
			"--scopes", "all", "--raw")
		if s.Tokens[who] = token.FindString(said); s.Tokens[who] == "" {
			t.Fatalf("Gitea made no token: %q", said)
		}
	}
	const tries = 5 // somebody else may take the port before Gitea does
	for range tries {
		if s.at(t, home); s.serve(t) {
			return s
		}
	}
	t.Fatalf("Gitea did not start")
	return nil
}

// at has Gitea listen at an address that nobody listens on at this moment.
func (s *Server) at(t testing.TB, home string) {
	t.Helper()
	addr := free(t)
	s.URL = "http://" + addr
	host, port, _ := net.SplitHostPort(addr)
	ini := fmt.Sprintf(settings, s.Dir, host, port, s.URL, filepath.Join(home, "src"))
	must.Do(t, os.WriteFile(filepath.Join(s.Dir, "app.ini"), []byte(ini), 0o600))
}

// token is a line beside which Gitea may log something.
var token = regexp.MustCompile(`(?m)^[0-9a-f]{40}$`)

const settings = `I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
RUN_MODE = prod
WORK_PATH = %[1]s
[server]
HTTP_ADDR = %[2]s
HTTP_PORT = %[3]s
ROOT_URL = %[4]s/
STATIC_ROOT_PATH = %[5]s
APP_DATA_PATH = %[1]s/data
DISABLE_SSH = false
START_SSH_SERVER = false
SSH_ROOT_PATH = %[1]s/ssh
SSH_CREATE_AUTHORIZED_KEYS_FILE = false
OFFLINE_MODE = true
LFS_START_SERVER = false
[database]
DB_TYPE = sqlite3
PATH = %[1]s/gitea.db
[repository]
ROOT = %[1]s/repos
[security]
INSTALL_LOCK = true
SECRET_KEY = of-a-test
PASSWORD_HASH_ALGO = pbkdf2
[service]
DISABLE_REGISTRATION = true
[webhook]
ALLOWED_HOST_LIST = loopback
[log]
LEVEL = Error
[indexer]
ISSUE_INDEXER_TYPE = db
[cron]
ENABLED = false
`

// built builds Gitea if need be, and gives the folder that it is in.
func built(t testing.TB) string {
	t.Helper()
	mod := must.Get(proc.Output(t.Context(), proc.Cmd{Argv: []string{"go", "env", "GOMOD"}}))(t)
	script := filepath.Join(filepath.Dir(strings.TrimSpace(string(mod))), "scripts", "gitea")
	out, err := proc.Output(t.Context(), proc.Cmd{Argv: []string{script}, Stderr: os.Stderr})
	if err != nil {
		t.Fatalf("build Gitea: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// free gives an address that nobody listens on at this moment.
func free(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // ends at once
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func (s *Server) cmd(args ...string) proc.Cmd {
	return proc.Cmd{Argv: append([]string{s.bin, "--config", filepath.Join(s.Dir, "app.ini")}, args...),
		Dir: s.Dir, Env: s.env}
}

func (s *Server) run(t testing.TB, args ...string) string {
	t.Helper()
	out, err := proc.Output(t.Context(), s.cmd(args...))
	if err != nil {
		t.Fatalf("gitea %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// serve starts Gitea, and says whether it did not end at once.
func (s *Server) serve(t testing.TB) bool {
	t.Helper()
	c := s.cmd("web")
	c.TiedToUs = true
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	p := must.Get(proc.Start(context.WithoutCancel(t.Context()), c))(t)
	t.Cleanup(func() {
		_ = p.Signal(syscall.SIGTERM)
		select {
		case <-p.Done():
		case <-time.After(2 * time.Minute):
			_ = p.Signal(syscall.SIGKILL)
			_ = p.Wait()
		}
	})
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); {
		select {
		case <-p.Done():
			return false
		case <-time.After(100 * time.Millisecond):
		}
		if s.healthy(t.Context()) {
			return true
		}
	}
	t.Fatal("Gitea did not start within five minutes")
	return false
}

func (s *Server) healthy(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/api/healthz", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// As speaks to it as one of its users.
func (s *Server) As(t testing.TB, who string) *sdk.Client {
	t.Helper()
	c := must.Get(sdk.NewClient(s.URL, sdk.SetToken(s.Tokens[who]), sdk.SetContext(t.Context())))(t)
	return c
}

// NewRepo makes a repository with a first commit, and lets some users write to it.
func (s *Server) NewRepo(t testing.TB, owner, name string, writers ...string) {
	t.Helper()
	c := s.As(t, owner)
	if _, _, err := c.CreateRepo(sdk.CreateRepoOption{Name: name, DefaultBranch: "main", AutoInit: true}); err != nil {
		t.Fatal(err)
	}
	for _, who := range writers {
		write := sdk.AccessModeWrite
		must.Get(c.AddCollaborator(owner, name, who, sdk.AddCollaboratorOption{Permission: &write}))(t)
	}
}

// DeployKey makes a deploy key of a repository, and gives what has to stand after git to push with it, but for the
// branch. Gitea is run as a server of SSH runs it that knows the key.
func (s *Server) DeployKey(t testing.TB, owner, name string, readOnly bool) (push []string) {
	t.Helper()
	public, _, err := ed25519.GenerateKey(nil)
	must.Do(t, err)
	blob := append([]byte("\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20"), public...) // as RFC 8709 writes it
	key, _, err := s.As(t, owner).CreateDeployKey(owner, name, sdk.CreateKeyOption{ReadOnly: readOnly,
		Title: fmt.Sprintf("%x", public), Key: "ssh-ed25519 " + base64.StdEncoding.EncodeToString(blob)})
	must.Do(t, err)
	at := filepath.Join(t.TempDir(), "ssh")
	must.Do(t, os.WriteFile(at, fmt.Appendf(nil, "#!/bin/sh\nshift\nSSH_ORIGINAL_COMMAND=\"$*\" GITEA_WORK_DIR=%[1]s "+
		"HOME=%[1]s exec %[2]s --config %[1]s/app.ini serv key-%[3]d\n", s.Dir, s.bin, key.KeyID), 0o700))
	return []string{"-c", "core.sshCommand=" + at, "-c", "ssh.variant=simple", "push", "-q",
		"git@gitea:" + owner + "/" + name + ".git"}
}
