package cruising_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

// Guards against programs in which the linker keeps every exported method, because a template could call any of them by
// name: cco was 14 % larger with them, cco-cruise 30 %, and each keeper had a megabyte more in memory.
func TestNoTemplatesAreLinked(t *testing.T) {
	for _, name := range []string{"cco", "cco-cruise"} {
		data := must.Get(os.ReadFile(filepath.Join(build(t), name)))(t)
		if bytes.Contains(data, []byte("text/template.(*Template).Execute")) {
			t.Errorf("%s has text/template in it: fill in by hand, see internal/box/lima/template.go", name)
		}
	}
}
