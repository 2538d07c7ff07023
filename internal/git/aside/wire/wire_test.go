package wire_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/git/aside/wire"
	"github.com/cco-dev/cco/internal/must"
)

const some = "0123456789012345678901234567890123456789"

func sample() wire.Said {
	return wire.Said{Symref: []byte("refs/heads/main"), Head: some, Index: some,
		Refs: []wire.Ref{{Name: []byte("refs/heads/größe/\xff"), OID: some}, {Name: []byte("refs/stash"), OID: some}}}
}

func TestWhatIsSaidComesThrough(t *testing.T) {
	var b bytes.Buffer
	must.Do(t, wire.Write(&b, sample()))
	size := int64(b.Len())
	b.WriteString("PACK")
	got, n, err := wire.Read(bytes.NewReader(b.Bytes()), 40)
	if err != nil || n != size || !reflect.DeepEqual(got, sample()) {
		t.Errorf("%+v, %d of %d, %v", got, n, size, err)
	}
}

func TestNonsenseIsRefused(t *testing.T) {
	for _, text := range []string{
		"", "7\n", "{}\n", `{"head":"x"}`, `{"head":"--help"}`, `{"head":"` + some + `","index":"HEAD"}`,
		`{"head":"` + some + `","more":1}`, `{"head":"` + some + `"`, `{"head":"` + strings.ToUpper(some[:39]) + `A"}`,
		`{"head":"` + some + `","refs":[{"name":"eA==","oid":"main"}]}`,
		`{"head":"` + some + `","refs":[{"name":"eA==","oid":"` + some[1:] + `"}]}`,
		`{"left":"` + strings.Repeat("x", wire.MaxHeader) + `","head":"` + some + `"}`,
	} {
		if got, _, err := wire.Read(strings.NewReader(text), 40); err == nil {
			t.Errorf("%.80s: %+v", text, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	must.Do(f, wire.Write(&b, sample()))
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		s, n, err := wire.Read(bytes.NewReader(data), 40)
		if err == nil && (n > int64(len(data))+1 || len(s.Head)%40 != 0) {
			t.Errorf("%d of %d bytes, %+v", n, len(data), s)
		}
	})
}
