package cruising_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/cruise/cruisetest"
	"github.com/cco-dev/cco/internal/must"
)

// Guards against an engine that has no key of a model, because it was started where there was none, and against a key
// that is written down on its way there.
func TestAModelsKeyTravelsWithTheCommand(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, p := range broker.Providers() {
		for _, name := range append(p.KeyVars, p.BaseVar) {
			r.Env = without(r, name)
		}
	}
	r.CCO("box", "create")
	id := r.Start(held(cruisetest.Unsure, "fixer"), "--domains", "Security")
	was := r.Await(id, "watching", watching)
	engine := r.EnginePid()
	const key = "only-the-shell-of-this-command-has-it"
	r.Env = append(r.Env, "ANTHROPIC_API_KEY="+key)
	r.CCO("cruise", "fix", id, "--comment", "go on")
	if !r.Until(func() bool {
		_, err := os.Stat(filepath.Join(r.Workspace(was), ".git", "held"))
		return err == nil
	}) {
		t.Fatal(r.Story(id))
	}
	keepers := 0
	for pid, argv := range r.Left() {
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if keeper := strings.HasPrefix(argv, "keeper "); err == nil && keeper != bytes.Contains(environ, []byte(key)) {
			t.Errorf("%s: it is a keeper: %v, and has the key: %v", argv, keeper, !keeper)
		} else if keeper {
			keepers++
		}
	}
	if keepers == 0 || r.EnginePid() != engine {
		t.Errorf("%d keepers, engines %d and %d", keepers, engine, r.EnginePid())
	}
	release(t, r.Workspace(was))
	r.Await(id, "done with it", fixed(1))
	must.Do(t, filepath.WalkDir(r.Home, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // it is gone, or a socket
		}
		if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, []byte(key)) {
			t.Errorf("the key is in %s", path)
		}
		return nil
	}))
}
