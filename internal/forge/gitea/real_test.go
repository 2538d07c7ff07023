//go:build heavy

package gitea_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/forgetest"
	"github.com/cco-dev/cco/internal/forge/gitea"
	"github.com/cco-dev/cco/internal/proc"
)

// real is a Gitea that was started for a test.
type real struct {
	bin, dir, url string
	env           []string
	tokens        map[string]string
}

const owner = "acme"

// start starts the Gitea that scripts/gitea has built, as whoever runs the test.
func start(t *testing.T) *real {
	t.Helper()
	out, err := proc.Output(t.Context(), proc.Cmd{Argv: []string{"../../../scripts/gitea"}, Stderr: os.Stderr})
	if err != nil {
		t.Fatalf("build Gitea: %v", err)
	}
	home := strings.TrimSpace(string(out))
	g := &real{bin: filepath.Join(home, "gitea"), dir: t.TempDir(), tokens: map[string]string{}}
	addr := free(t)
	g.url = "http://" + addr
	host, port, _ := net.SplitHostPort(addr)
	ini := fmt.Sprintf(`I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
RUN_MODE = prod
WORK_PATH = %[1]s
[server]
HTTP_ADDR = %[2]s
HTTP_PORT = %[3]s
ROOT_URL = %[4]s/
STATIC_ROOT_PATH = %[5]s
APP_DATA_PATH = %[1]s/data
DISABLE_SSH = true
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
PASSWORD_HASH_ALGO = pbkdf2_hi
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
`, g.dir, host, port, g.url, filepath.Join(home, "src"))
	if err := os.WriteFile(filepath.Join(g.dir, "app.ini"), []byte(ini), 0o600); err != nil {
		t.Fatal(err)
	}
	g.env = append(os.Environ(), "HOME="+g.dir, "GITEA_WORK_DIR="+g.dir)
	g.run(t, "migrate")
	for _, who := range []string{owner, forgetest.Ada, forgetest.Rob, forgetest.Eve} {
		g.run(t, "admin", "user", "create", "--username", who, "--password", "pass-of-"+who, "--email", who+"@example.org", "--must-change-password=false")
		g.tokens[who] = g.run(t, "admin", "user", "generate-access-token", "--username", who, "--token-name", "test", "--scopes", "all", "--raw")
	}
	g.serve(t)
	return g
}

// free gives an address that nobody listens on at this moment.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func (g *real) cmd(args ...string) proc.Cmd {
	return proc.Cmd{Argv: append([]string{g.bin, "--config", filepath.Join(g.dir, "app.ini")}, args...), Dir: g.dir, Env: g.env}
}

func (g *real) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := proc.Output(t.Context(), g.cmd(args...))
	if err != nil {
		t.Fatalf("gitea %v: %v\n%s", args, err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

func (g *real) serve(t *testing.T) {
	t.Helper()
	c := g.cmd("web")
	c.TiedToUs = true
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	p, err := proc.Start(context.WithoutCancel(t.Context()), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Signal(syscall.SIGTERM)
		select {
		case <-p.Done():
		case <-time.After(30 * time.Second):
			_ = p.Signal(syscall.SIGKILL)
			_ = p.Wait()
		}
	})
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		resp, err := http.Get(g.url + "/api/healthz") //nolint:gosec // our own server
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
	}
	t.Fatal("Gitea did not start within two minutes")
}

func (g *real) as(t *testing.T, who string) *sdk.Client {
	t.Helper()
	c, err := sdk.NewClient(g.url, sdk.SetToken(g.tokens[who]), sdk.SetContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (g *real) server() forgetest.Server {
	var repos atomic.Int64
	return forgetest.Server{
		URL: g.url, Token: func(who string) string { return g.tokens[who] },
		NewRepo: func(t *testing.T) (string, string) {
			t.Helper()
			name := fmt.Sprintf("repo%d", repos.Add(1))
			c := g.as(t, owner)
			if _, _, err := c.CreateRepo(sdk.CreateRepoOption{Name: name, DefaultBranch: "main", AutoInit: true}); err != nil {
				t.Fatal(err)
			}
			for _, who := range []string{forgetest.Ada, forgetest.Rob} {
				write := sdk.AccessModeWrite
				if _, err := c.AddCollaborator(owner, name, who, sdk.AddCollaboratorOption{Permission: &write}); err != nil {
					t.Fatal(err)
				}
			}
			return owner, name
		},
		Connect: func(t *testing.T, r forge.Remote, as forgetest.As) forgetest.Forge {
			t.Helper()
			o := gitea.Options{Remote: r, Author: gitea.Identity{Source: "a test", Token: forge.Secret(g.tokens[as.Who])}, Journal: as.Journal,
				Clock: as.Clock, Timeout: as.Timeout, MaxWait: as.MaxWait}
			if as.Reviewer != "" {
				o.Reviewer = &gitea.Identity{Source: "a test", Token: forge.Secret(g.tokens[as.Reviewer])}
			}
			f, err := gitea.New(o)
			if err != nil {
				t.Fatal(err)
			}
			return f
		},
		Change: func(t *testing.T, r forge.Remote, who, id, body string) {
			t.Helper()
			_, n, err := forge.ParseID(id)
			if err == nil && body == "" {
				_, err = g.as(t, who).DeleteIssueComment(r.Owner, r.Name, n)
			} else if err == nil {
				_, _, err = g.as(t, who).EditIssueComment(r.Owner, r.Name, n, sdk.EditIssueCommentOption{Body: body})
			}
			if err != nil {
				t.Fatal(err)
			}
		},
		Hook: func(t *testing.T, r forge.Remote, url, key string) {
			t.Helper()
			_, _, err := g.as(t, owner).CreateRepoHook(r.Owner, r.Name, sdk.CreateHookOption{Type: sdk.HookTypeGitea, Active: true,
				Config: map[string]string{"url": url, "content_type": "json", "secret": key},
				Events: []string{"issue_comment", "pull_request", "pull_request_comment", "pull_request_review_comment"}})
			if err != nil {
				t.Fatal(err)
			}
		},
	}
}

func TestRealGiteaPassesTheSuite(t *testing.T) {
	forgetest.Run(t, start(t).server())
}
