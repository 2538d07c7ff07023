package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

// sitting is a stand-in for claude on a terminal: it calls the hooks of its turns as its managed settings say.
const sitting = `#!/bin/bash
if test "$1" = --version; then echo 2.1.325; exit; fi
trap 'exit 130' INT
turn() {
	echo '{"hook_event_name":"x"}' | sh -c "$(grep -o '"command":"[^"]*--turn '$1'"' \
		/etc/claude-code/managed-settings.json | cut -d'"' -f4)" || echo "the hook failed: $?"
}
for n in 1 2 3; do
	turn begun; echo "WORKING $n"; read -r line
	turn ended; echo "RESTING $n"; read -r line
	test "$line" = /exit && exit 0
done
`

// Guards against a run that sits at its prompt and looks as if it worked, and against one that was left there and
// counts as killed.
func TestAnAgentAtItsPromptIsIdle(t *testing.T) {
	d := newDesk(t, map[string]string{"a.md": "true"})
	d.write("home/.local/bin/claude", sitting)
	must.Do(t, os.Chmod(filepath.Join(d.dir, "home/.local/bin/claude"), 0o755))
	d.types("export ANTHROPIC_API_KEY=sk-none PATH=$HOME/.local/bin:$PATH")
	push := func() (id string) {
		d.clear()
		d.types("cco box push a.md --agent claude")
		d.await("its first turn", d.shows("WORKING 1"))
		id, state := d.newest()
		if state != "running" {
			t.Errorf("at work it is %s", state)
		}
		return id
	}
	is := func(want string) {
		t.Helper()
		d.await("state "+want, func() bool { _, state := d.newest(); return state == want })
	}
	rest := func() { d.types("go"); d.await("its prompt", d.shows("RESTING 1")); is("idle") }

	id := push()
	rest()
	out, err := d.command("cco", "box", "pull", id, "--timeout", "10ms").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "sits at its prompt: leave it there (`cco box attach "+id+"`)") {
		t.Errorf("pull: %v: %s", err, out)
	}
	d.types("more")
	d.await("its second turn", d.shows("WORKING 2"))
	is("running")
	d.types("go")
	d.await("its prompt", d.shows("RESTING 2"))
	is("idle")
	d.types("/exit")
	is("done")

	push()
	rest()
	d.presses("\x03")
	is("done")

	push()
	d.presses("\x03")
	is("killed")
}
