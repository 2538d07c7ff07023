package fleet

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/must"
)

// What is in testdata/before is what the service has given to a life of a phase of the version before, which had a
// machine before and has something in every field.
//
// Guards against an upgrade after which a living phase can't be read, or loses a part of what it knows.
func TestALifeOfTheVersionBeforeIsRead(t *testing.T) {
	recorded := must.Get(os.ReadFile("testdata/before/begin.json"))(t)
	k := must.Get(NewKey(must.Get(forge.ParseKey(strings.Repeat("35", 32)))(t)))(t)
	var in Begin
	d := json.NewDecoder(bytes.NewReader(recorded))
	d.DisallowUnknownFields()
	must.Do(t, d.Decode(&in))
	var raw json.RawMessage
	var st cruise.State
	must.Do(t, k.open(in.State, kindState, phase, &raw))
	must.Do(t, json.Unmarshal(raw, &st))
	// No state needs any more what a forge calls an author, and who may have pushed, where it had not said so yet.
	needed := regexp.MustCompile(`"(association|unsure|unsure_since)":"[^"]*",`).ReplaceAll(raw, nil)
	if st.Life.Home == "" || st.Spec.Remote == "" || !sameJSON(t, needed, must.Get(json.Marshal(st))(t)) {
		t.Errorf("a part of it is lost:\n%s\n%+v", raw, st)
	}
	var doing []string
	must.Do(t, k.open(*in.Doing, kindDoing, phase, &doing))
	var ev cruise.Event
	must.Do(t, k.open(in.Events[0], kindEvent, phase, &ev))
	if !slices.Equal(doing, []string{"say 0123456789abcdef"}) || ev.Text != "words" || in.Life != 3 || !in.Ask ||
		!sameJSON(t, recorded, must.Get(json.Marshal(in))(t)) {
		t.Errorf("%q, %+v, %+v", doing, ev, in)
	}
}

// sameJSON compares values, in whatever order their fields come.
func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var one, other any
	must.Do(t, json.Unmarshal(a, &one))
	must.Do(t, json.Unmarshal(b, &other))
	return reflect.DeepEqual(one, other)
}
