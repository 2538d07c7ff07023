package cruising_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/cruise/cruisetest"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// standIn is claude as far as the document needs it: it greets, builds, and approves.
const standIn = `#!/bin/sh
if test "$1" = --version; then echo 2.9.9; exit; fi
say() {
	session='"session_id":"11111111-2222-4333-8444-555555555555"'
	echo '{"type":"system","subtype":"init",'$session',"model":"claude-stand-in"}'
	echo '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"'"$1"'",'$session','\
'"total_cost_usd":0.25,"usage":{"input_tokens":1000,"output_tokens":200}}'
}
case "$CCO_ROLE" in
reviewer) say '{\"verdict\":\"APPROVED\",\"findings\":[]}' ;;
"") echo 'echo hello' >greet.sh; git add greet.sh; git commit -qm 'Write a greeting'; say done ;;
*) echo 'echo hello "$1"' >greet.sh; git add greet.sh; git commit -qm 'Greet a name'; say done ;;
esac
`

// registry is npm: it puts the stand-in where the real package has its program.
const registry = `#!/bin/sh
p=$3/node_modules/@anthropic-ai/claude-code-MACHINE/claude
mkdir -p "$(dirname "$p")"
cp "$STAND_IN" "$p"
echo '{"packages":{"node_modules/@anthropic-ai/claude-code":{"version":"2.0.0","integrity":"sha512-sum"}}}' \
	>"$3/package-lock.json"
`

// keyring is the desktop's program.
const keyring = `#!/bin/sh
case $1 in
store) cat >"$HOME/kept" ;;
lookup) test -e "$HOME/kept" && cat "$HOME/kept" ;;
esac
`

// Guards against a beginning that does not work: every line of docs/first-hour.md is run, as it is, up to a pull
// request that is merged. The forge, npm, the keyring and the agent are stand-ins; the heavy tests have the real ones.
func TestTheFirstHour(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	repo := gittest.At(t, r.Repo)
	repo.Git("reset", "-q", "--hard")
	repo.Git("clean", "-qfd")
	repo.Git("config", "credential.helper", "!f() { echo username=ada; echo password="+cruisetest.Token+"; }; f")
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `{"content":[{"type":"text",`+
			`"text":"{\"pr_title\":\"Greet a name\",\"branch_name\":\"greet\"}"}]}`)
	}))
	t.Cleanup(model.Close)
	machine := runtime.GOOS + "-" + map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	tools := filepath.Join(r.Home, "tools")
	must.Do(t, os.Mkdir(tools, 0o755))
	for name, text := range map[string]string{"npm": strings.ReplaceAll(registry, "MACHINE", machine), "claude": standIn,
		"secret-tool": keyring, "security": keyring} {
		must.Program(t, filepath.Join(tools, name), text)
	}
	must.Do(t, os.Rename(filepath.Join(tools, "claude"), filepath.Join(r.Home, "claude")))
	env := append(r.Env, "PATH="+tools+":"+os.Getenv("PATH"), "STAND_IN="+filepath.Join(r.Home, "claude"),
		"ANTHROPIC_BASE_URL="+model.URL, "ANTHROPIC_API_KEY=", "LANG=C.UTF-8")
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOFLAGS", "GOPROXY"} {
		value := must.Get(proc.Output(t.Context(), proc.Cmd{Argv: []string{"go", "env", name}}))(t)
		env = append(env, name+"="+strings.TrimSpace(string(value)))
	}
	lines := cruisetest.Lines(t, "../../../docs/first-hour.md")
	var out strings.Builder
	err := proc.Run(t.Context(), proc.Cmd{
		Argv: []string{"bash", "-euxo", "pipefail", "-c", lines}, Dir: "../../..", Env: env, Stdout: &out, Stderr: &out,
		Stdin: strings.NewReader("sk-ant-a-key-of-the-first-hour\n"), Grace: time.Minute,
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if got := repo.Git("show", "HEAD:greet.sh"); got != `echo hello "$1"` {
		t.Errorf("greet.sh is %q\n%s", got, out.String())
	}
	var pulls []struct{ Merged bool }
	r.Call(cruisetest.Token, http.MethodGet, "pulls?state=all", nil, &pulls)
	if len(pulls) != 1 {
		t.Errorf("%d pull requests\n%s", len(pulls), out.String())
	}
	if strings.Contains(out.String(), "sk-ant-a-key") {
		t.Error("the key was shown")
	}
}
