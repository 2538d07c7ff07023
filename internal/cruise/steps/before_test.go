package steps

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/must"
)

// What is in testdata/before was written by the cco before states were nested, with something in every field.
//
// Guards against an upgrade that loses a phase under way, or a part of what it knows.
func TestAStateOfTheVersionBeforeIsRead(t *testing.T) {
	recorded := needed(t, must.Get(os.ReadFile("testdata/before/state.json"))(t))
	var st cruise.State
	d := json.NewDecoder(bytes.NewReader(recorded))
	d.DisallowUnknownFields()
	must.Do(t, d.Decode(&st))
	sameJSON(t, recorded, must.Get(json.Marshal(st))(t))
}

func TestASealedStateOfTheVersionBeforeIsRead(t *testing.T) {
	var was Shown
	must.Do(t, json.Unmarshal(must.Get(os.ReadFile("testdata/before/phase-state.json"))(t), &was))
	key := must.Get(forge.ParseKey(strings.Repeat("35", 32)))(t)
	st, ok := Unseal(key, was.Sealed, was.Seal)
	if !ok {
		t.Fatal("the seal does not hold")
	}
	again := Show(was.ID, st)
	must.Do(t, again.seal(key, st))
	sameJSON(t, needed(t, must.Get(base64.StdEncoding.DecodeString(was.Sealed))(t)),
		must.Get(base64.StdEncoding.DecodeString(again.Sealed))(t))
	again.SandboxPath, again.BaseCommit = was.SandboxPath, was.BaseCommit // of this machine's workspace
	again.Sealed, again.Seal = was.Sealed, was.Seal
	if !reflect.DeepEqual(again, was) {
		t.Errorf("%+v\n%+v", again, was)
	}
}

// needed is a recorded state without what no state needs any more: what a forge calls an author, and who may have
// pushed, where the forge had not said so yet.
func needed(t *testing.T, state []byte) []byte {
	t.Helper()
	var line bytes.Buffer
	must.Do(t, json.Compact(&line, state))
	return regexp.MustCompile(`"(association|unsure|unsure_since)":"[^"]*",`).ReplaceAll(line.Bytes(), nil)
}

// sameJSON compares values, in whatever order their fields come.
func sameJSON(t *testing.T, want, got []byte) {
	t.Helper()
	var a, b any
	must.Do(t, json.Unmarshal(want, &a))
	must.Do(t, json.Unmarshal(got, &b))
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%s\n%s", want, got)
	}
}
