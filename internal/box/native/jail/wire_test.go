package jail

import (
	"reflect"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

// Guards against forgetting a new field of Plan on the wire: every field is set, and must come back.
func TestPlanSurvivesTheWire(t *testing.T) {
	var p Plan
	n := 0
	fill(reflect.ValueOf(&p).Elem(), &n)
	var got Plan
	must.Do(t, got.decode(p.Encode()[4:]))
	if !reflect.DeepEqual(got, p) {
		t.Errorf("got  %+v\nwant %+v", got, p)
	}
}

// fill gives every field a distinct value. Flags alternate, so that two that changed places are noticed.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 3, 3))
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.String:
		v.SetString(string([]byte{0xff, byte(*n), 0, 'x'}))
	case reflect.Bool:
		v.SetBool(*n%2 == 0)
	case reflect.Uint8, reflect.Uint32:
		v.SetUint(uint64(*n % 256))
	default:
		v.SetInt(int64(*n))
	}
}

func TestDecodeRefusesWhatIsCutOff(t *testing.T) {
	var p Plan
	n := 0
	fill(reflect.ValueOf(&p).Elem(), &n)
	data := p.Encode()[4:]
	for i := range data {
		var got Plan
		if got.decode(data[:i]) == nil {
			t.Fatalf("%d of %d bytes were enough", i, len(data))
		}
	}
	var got Plan
	if got.decode(append(data, 0)) == nil {
		t.Error("a byte too many was accepted")
	}
}
