//go:build heavy

package real

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/proc"
)

// eachBox runs a test with every agent in a native box, which all tests share, and in one of containers.
func eachBox(t *testing.T, names []string, test func(t *testing.T, agent, box string)) {
	t.Helper()
	for _, backend := range []struct {
		name string
		box  func(*testing.T) string
	}{
		{"native", func(*testing.T) string { return "" }},
		{"container", containerBox},
	} {
		t.Run(backend.name, func(t *testing.T) {
			box := backend.box(t)
			each(t, names, func(t *testing.T, agent string) { test(t, agent, box) })
		})
	}
}

// containerBox makes a box of the image that scripts/box-root makes, for as long as a test runs.
func containerBox(t *testing.T) string {
	t.Helper()
	tar, err := filepath.Abs(filepath.Join("..", "..", "..", ".cache", "box-root.tar"))
	if named := os.Getenv("CCO_TEST_ROOT_TAR"); named != "" {
		tar, err = filepath.Abs(named)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(tar); err != nil {
		t.Fatalf("%v: make it with scripts/box-root", err)
	}
	const name = "contained"
	t.Cleanup(func() {
		if out, err := shared.cco(context.WithoutCancel(t.Context()), shared.dir, nil, "box", "destroy", name,
			"--force"); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	if out, err := shared.cco(t.Context(), shared.dir, nil, "box", "create", name, "--backend", "container", "--image-tar",
		tar); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return name
}

// images has an ordinary user's podman keep its images where it always does. Below the stage's home they would be taken
// anew each time, and belong to users that nobody else can remove them as.
func (s *stage) images(ctx context.Context) error {
	if os.Getuid() == 0 {
		return nil
	}
	const format = "driver = \"{{.Store.GraphDriverName}}\"\ngraphroot = \"{{.Store.GraphRoot}}\"\n" +
		"rootless_storage_path = \"{{.Store.GraphRoot}}\"\nrunroot = \"{{.Store.RunRoot}}\"\n"
	out, err := proc.Output(ctx, proc.Cmd{Argv: []string{"podman", "info", "--format", format}})
	if err != nil {
		return fmt.Errorf("podman is needed: %w", err)
	}
	conf := filepath.Join(s.dir, "storage.conf")
	s.env = append(s.env, "CONTAINERS_STORAGE_CONF="+conf)
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		s.env = append(s.env, "XDG_RUNTIME_DIR="+dir)
	}
	return os.WriteFile(conf, []byte("[storage]\n"+strings.TrimSpace(string(out))+"\n"), 0o644)
}
