package guard_test

import (
	"testing"

	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/guard/hook"
)

// Guards against codex, which asks no hook about what it types into a program
// that runs: whatever takes commands there must not be started.
func TestProgramsThatWaitForTyping(t *testing.T) {
	s := newSite(t, false)
	for command, allow := range map[string]bool{
		"bash": false, "sh -s": false, "bash -i": false, "exec zsh": false, "sudo -u nobody bash": false,
		"env -i bash --norc": false, "bash -x -": false,
		"python3": false, "python3 -i": false, "python3 -": false, "node": false, "irb": false, "lua": false, "php -a": false,
		"tclsh":           false,
		"sqlite3 test.db": false, "psql app": false, "mysql -u root app": false, "gdb ./app": false, "vim README.md": false,
		"ed README.md":   false,
		"less README.md": false, "man ls": false, "script -q log": false, "su": false, "ssh localhost": false,
		"make -f -": false, "dc": false,
		"source /dev/stdin": false, "npm test; bash": false, "(python3)": false,

		"bash -c ls": true, "bash scripts/build.sh": true, "bash --version": true, "bash -n scripts/build.sh": true,
		"bash <<< ls": true, "echo ls | bash": true, "bash < /dev/null": true,
		"python3 --version": true, "python3 -c 'print(1)'": true, "python3 -m pytest": true, "python3 a.py": true,
		"python3 - <<'E'⏎print(1)⏎E": true, "node -v": true, "node --test": true, "node a.js": true,
		"sqlite3 test.db 'select 1'": true, "sqlite3 test.db < schema.sql": true, "sqlite3 test.db .tables": true,
		"psql -c 'select 1' app": true, "psql app -f x.sql": true, "psql --version": true, "mysql -e 'select 1'": true,
		"gdb -batch -ex bt ./app": true, "vim --version": true, "vim -es -c wq README.md": true,
		"printf 'w\\nq\\n' | ed README.md": true, "git log | less": true,
		"ssh build.example.com": true, "cat": true, "npm test": true, "git diff": true,
	} {
		call := guard.Command(s.worktree, s.fill(command))
		if v := guard.Decide(s.policy, hook.Links{}, call); !v.Allow && !allow {
			continue // denied to everybody
		} else if !v.Allow {
			t.Errorf("%s: %s", command, v.Message())
		}
		call.Typed = true
		if v := guard.Decide(s.policy, hook.Links{}, call); v.Allow != allow {
			t.Errorf("%s: allow %v, want %v: %s", command, v.Allow, allow, v.Message())
		}
	}
}

// Guards against a clean-up that takes the hook's registration away.
func TestTheHooksRegistrationIsNotSweptAway(t *testing.T) {
	s := newSite(t, false)
	mustWrite(t, s.worktree+"/.claude/settings.local.json", "{}")
	for command, allow := range map[string]bool{
		"git clean -fdx":                         false,
		"git clean -fd .claude":                  false,
		"git stash -u":                           false,
		"git stash push --all -m x":              false,
		"find . -name '*.json' -delete":          false,
		"find . -name 'settings*' -exec rm {} +": false,
		`find .claude -name 'settings.local.json' -exec sed -i s/a/b/ {} \;`: false,

		"git clean -fdx -e .claude":                      true,
		"git clean -nfdx":                                true,
		"git stash":                                      true,
		"git stash push -u -- ':!.claude'":               true,
		"find src -name '*.json' -delete":                true,
		"find . -name '*.json' -exec grep -l hooks {} +": true,
		"git init t && cd t && git clean -fdx":           true,
	} {
		if v := s.decide(command); v.Allow != allow {
			t.Errorf("%s: allow %v, want %v: %s", command, v.Allow, allow, v.Message())
		}
	}
}
