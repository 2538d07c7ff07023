package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

// Guards against a key that is typed for nothing: where it can be kept is found out, and agreed on, before it is asked
// for.
func TestAPlaceIsFoundBeforeAKeyIsAskedFor(t *testing.T) {
	d := newDesk(t, nil)
	must.Do(t, os.Mkdir(filepath.Join(d.dir, "tools"), 0o755))
	for _, name := range []string{"secret-tool", "security"} { // a desktop's programs without a keyring
		must.Program(t, filepath.Join(d.dir, "tools", name), "#!/bin/sh\necho no D-Bus >&2; exit 1\n")
	}
	d.types("PATH=" + filepath.Join(d.dir, "tools") + ":$PATH")
	file := filepath.Join(d.dir, "config/cco/keys/gemini")
	for _, answer := range []string{"n", "y"} {
		d.clear()
		d.types("cco keys set gemini")
		d.await("the question", d.shows("which only you can read? [y/N]"))
		if d.shows("Key for")() {
			t.Errorf("it asks for the key first:\n%s", d.screen())
		}
		d.types(answer)
		if answer == "n" {
			d.await("why not", d.shows("finds no keyring"))
			d.await("a prompt", d.atPrompt)
			continue
		}
		d.await("that it asks for the key", d.shows("Key for gemini:"))
		d.types("a-key-of-gemini")
		d.await("where it is", d.shows("the key for gemini is in"))
	}
	if d.shows("a-key-of-gemini")() {
		t.Errorf("the key is shown:\n%s", d.screen())
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v", file, info, err)
	}
	if got := string(must.Get(os.ReadFile(file))(t)); got != "a-key-of-gemini\n" {
		t.Errorf("it is %q", got)
	}
}
