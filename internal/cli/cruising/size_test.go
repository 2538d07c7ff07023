package cruising_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

// Guards against a program in which the linker keeps every exported method, because a template could call any of them
// by name: cco was 14 % larger with them, and each keeper had a megabyte more in memory. Temporal's SDK, in cco-cruise
// alone, has them all kept.
func TestNoTemplatesAreLinked(t *testing.T) {
	data := must.Get(os.ReadFile(filepath.Join(build(t), "cco")))(t)
	if bytes.Contains(data, []byte("text/template.(*Template).Execute")) {
		t.Error("cco has text/template in it: fill in by hand, see internal/box/lima/template.go")
	}
}
