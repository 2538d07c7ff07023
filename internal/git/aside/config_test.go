package aside_test

import (
	"crypto/rand"
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/aside"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

// randomText is text that can't be compressed to nothing.
func randomText(n int) (string, error) {
	b := make([]byte, n)
	_, err := rand.Read(b)
	return base64.StdEncoding.EncodeToString(b), err
}

func TestConfigIsCleaned(t *testing.T) {
	r := newRig(t, "linked")
	r.end()
	for key, value := range map[string]string{
		"core.hooksPath": "/x", "core.fsmonitor": "secret", "core.editor": "program", "core.sshCommand": "secret",
		"gpg.program": "secret", "commit.gpgSign": "true", "user.signingKey": "secret", "credential.helper": "secret",
		"http.https://x.org/.extraHeader": "secret", "http.cookieFile": "secret", "http.sslKey": "secret",
		"remote.a.url": "https://me:secret@x.org/a?token=secret", "remote.a.uploadpack": "program",
		"remote.b.url": "ssh://git:secret@x.org/b", "remote.c.url": "git@x.org:c", "remote.d.url": "ext::secret",
		"url.https://me:secret@x.org/.insteadOf": "x:", "url.https://x.org/.insteadOf": "y:",
		"diff.p.textconv": "program", "merge.p.driver": "program", "filter.p.clean": "program",
		"filter.lfs.clean": "git-lfs clean -- %f",
		"alias.x":          "!secret", "include.path": "secret", "includeIf.gitdir:/.path": "secret",
		"remote.e.url": "https://me:sec@ret@x.org/e", "remote.f.url": "https://me:secret/secret@x.org/f",
		"lfs.url": "https://me:secret@x.org/lfs", "remote.a.proxy": "http://me:secret@x.org/", "github.token": "secret",
		"protocol.ext.allow": "always", "uploadpack.packObjectsHook": "secret", "core.askPass": "secret",
		"user.name": "A \"quoted\" name\\", "branch.we.ird.description": "two\nlines", "core.autocrlf": "input",
		"core.worktree": "/elsewhere", "diff.algorithm": "patience",
	} {
		r.main.Git("config", key, value)
	}
	r.main.Git("config", "extensions.worktreeConfig", "true")
	r.main.Git("config", "--unset", "core.worktree")
	r.user.Git("config", "--worktree", "pull.rebase", "true")
	must.Do(t, os.WriteFile(r.main.Path(".git/config"), append(must.Get(os.ReadFile(r.main.Path(".git/config")))(t),
		"[merge]\n\tlog\n"...), 0o600))
	r.open()
	must.Do(t, r.repo.Refresh(t.Context()))
	all := r.git("config", "--list", "--local", "-z")
	for _, bad := range []string{"secret", "sec@", "ret@", "hookspath", "signing", "gpg", "alias", "include", "/elsewhere",
		"ext:"} {
		if strings.Contains(all, bad) {
			t.Errorf("the agent sees %s in\n%q", bad, all)
		}
	}
	for _, good := range []string{"remote.a.url\nhttps://x.org/a", "remote.b.url\nssh://git@x.org/b",
		"remote.c.url\ngit@x.org:c", "url.https://x.org/.insteadof\ny:", "user.name\nA \"quoted\" name\\",
		"branch.we.ird.description\ntwo\nlines", "filter.lfs.clean\ngit-lfs clean -- %f", "pull.rebase\ntrue",
		"core.autocrlf\ninput", "merge.log\ntrue", "diff.algorithm\npatience", "core.bare\nfalse",
		"remote.e.url\nhttps://x.org/e", "lfs.url\nhttps://x.org/lfs", "diff.p.textconv\nprogram"} {
		if !strings.Contains("\x00"+all+"\x00", "\x00"+good+"\x00") {
			t.Errorf("the agent misses %q in\n%q", good, all)
		}
	}
	r.end()
	r.main.Git("config", "extensions.unheardOf", "true")
	r.open()
	if err := r.repo.Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), "unheardof") {
		t.Errorf("Refresh: %v", err)
	}
}

// Guards against a login or a hook of the user's own settings in a cage, and against settings that are lost there.
func TestPersonalSettings(t *testing.T) {
	home := gittest.Home(t)
	for name, text := range map[string]string{
		".gitconfig": "[user]\n\tname = Ada\n[alias]\n\tst = status\n[include]\n\tpath = more\n" +
			"[core]\n\thooksPath = ~/hooks\n\texcludesFile = ~/ignored\n[credential]\n\thelper = store\n" +
			"[http]\n\textraHeader = \"Authorization: secret\"\n" +
			"[url \"https://u:secret@host/\"]\n\tinsteadOf = x:\n[commit]\n\ttemplate = ~/gone\n\tgpgSign = true\n",
		"more": "[pull]\n\trebase = true\n[remote \"x\"]\n\turl = https://u:secret@host/r\n", "ignored": "*.o\n",
	} {
		must.Do(t, os.WriteFile(filepath.Join(home, name), []byte(text), 0o600))
	}
	config, files, err := aside.Personal(must.Get(git.UserSettings(t.Context()))(t), home, false)
	want := "[user]\n\tname = \"Ada\"\n[alias]\n\tst = \"status\"\n[pull]\n\trebase = \"true\"\n" +
		"[remote \"x\"]\n\turl = \"https://host/r\"\n[core]\n\texcludesfile = \"" + home + "/ignored\"\n"
	if err != nil || string(config) != want || !slices.Equal(files, []string{home + "/ignored"}) {
		t.Errorf("%v, %q\n%s\nwant\n%s", err, files, config, want)
	}
	config, _, err = aside.Personal(must.Get(git.UserSettings(t.Context()))(t), home, true)
	if text := string(config); err != nil || !strings.Contains(text, "helper") || strings.Contains(text, "hooks") {
		t.Errorf("%v\n%s", err, text)
	}
	must.Do(t, os.Remove(filepath.Join(home, ".gitconfig")))
	config, files, err = aside.Personal(must.Get(git.UserSettings(t.Context()))(t), home, false)
	if err != nil || len(config)+len(files) > 0 {
		t.Errorf("without settings: %v, %q, %s", err, files, config)
	}
}
