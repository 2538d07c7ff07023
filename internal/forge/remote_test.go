package forge_test

import (
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/must"
)

func TestRemotesNameTheirRepository(t *testing.T) {
	for in, want := range map[string]string{
		"git@github.com:acme/demo.git":                      "https://github.com acme demo",
		"git@github.com:acme/demo":                          "https://github.com acme demo",
		"github.com:acme/demo.git":                          "https://github.com acme demo",
		"ssh://git@github.com/acme/demo.git":                "https://github.com acme demo",
		"ssh://git@ssh.github.com:443/acme/demo.git":        "https://github.com acme demo",
		"ssh://git@git.example.org:2222/acme/demo.git":      "https://git.example.org acme demo",
		"https://github.com/acme/demo.git":                  "https://github.com acme demo",
		"https://github.com/acme/demo/":                     "https://github.com acme demo",
		"https://GitHub.com/acme/demo":                      "https://github.com acme demo",
		"https://user:ghp_secret@github.com/acme/demo":      "https://github.com acme demo",
		"https://github.com:443/acme/demo":                  "https://github.com acme demo",
		"https://git.example.org:8443/acme/demo.js.git":     "https://git.example.org:8443 acme demo.js",
		"http://127.0.0.1:3000/acme/demo.git":               "http://127.0.0.1:3000 acme demo",
		"https://example.org/tools/gitea/acme/demo.git":     "https://example.org/tools/gitea acme demo",
		"git://github.com/acme/demo.git":                    "https://github.com acme demo",
		"org-123@github.com:acme/my-repo_1.git":             "https://github.com acme my-repo_1",
		"https://acme.ghe.com/acme/demo":                    "https://acme.ghe.com acme demo",
		"git+ssh://git@github.example.com:22/acme/demo.git": "https://github.example.com acme demo",
	} {
		r, err := forge.ParseRemote(in)
		if got := r.Base() + " " + r.Owner + " " + r.Name; err != nil || got != want {
			t.Errorf("%s: %s %v, want %s", in, got, err, want)
		}
	}
}

func TestRemotesThatAreNowhereSaySo(t *testing.T) {
	for _, in := range []string{"/srv/git/demo.git", "../demo", "file:///srv/demo.git", "C:/demo", "https://github.com/",
		"https://github.com/demo",
		"https://github.com/a/..", "https://ghp_secret@github.com/", "https://github.com/a%2fb/c d", "", "https:///a/b",
		"ext::sh -c 'x'", "git@git hub.com:a/b", "https://[::1/a/b?ghp_secret"} {
		r, err := forge.ParseRemote(in)
		if err == nil {
			t.Errorf("%q is %+v", in, r)
		} else if !strings.Contains(err.Error(), "--repo") || strings.Contains(err.Error(), "ghp_secret") {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// Guards against groups within groups that are taken for a path below which the forge lives.
func TestGroupsWithinGroups(t *testing.T) {
	nested, flat := forge.Row{Nested: true}, forge.Row{}
	for in, want := range map[string]string{
		"https://git.example.org/group/sub/deep/demo.git": "https://git.example.org group/sub/deep demo",
		"git@git.example.org:group/sub/demo.git":          "https://git.example.org group/sub demo",
		"ssh://git@git.example.org:2222/group/sub/demo":   "https://git.example.org group/sub demo",
		"https://git.example.org/acme/demo":               "https://git.example.org acme demo",
	} {
		r, err := forge.ParseRemote(in)
		r = nested.Place(r)
		if got := r.Base() + " " + r.Owner + " " + r.Name; err != nil || got != want {
			t.Errorf("%s: %s %v, want %s", in, got, err, want)
		}
	}
	r := must.Get(forge.ParseRemote("https://git.example.org/forge/group/sub/demo"))(t)
	if got := flat.Place(r); got != r {
		t.Errorf("a forge without groups: %+v", got)
	}
}

func TestPlainHTTPIsForThisMachineAlone(t *testing.T) {
	for base, plain := range map[string]bool{"http://127.0.0.1:3000/a/b": false, "http://localhost/a/b": false,
		"http://[::1]:3000/a/b":      false,
		"http://git.example.org/a/b": true, "http://10.0.0.1/a/b": true, "https://git.example.org/a/b": false} {
		r, err := forge.ParseRemote(base)
		if err != nil || r.Plain() != plain {
			t.Errorf("%s: %v %v", base, r.Plain(), err)
		}
	}
}
