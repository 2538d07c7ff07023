package remote

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

func pair(t *testing.T) (caller, called *mux) {
	t.Helper()
	a, b := net.Pipe()
	caller, called = newMux(a, true), newMux(b, false)
	t.Cleanup(func() { _ = caller.Close(); _ = called.Close() })
	return caller, called
}

// Guards against one stream that nobody reads holding up the others.
func TestFullStreamHoldsUpNoOther(t *testing.T) {
	caller, called := pair(t)
	full := must.Get(caller.open("full"))(t)
	big := bytes.Repeat([]byte("x"), 3*window)
	written := make(chan error, 1)
	go func() { _, err := full.Write(big); written <- err }()
	other := must.Get(caller.open("other"))(t)
	go func() { _, _ = other.Write([]byte("hello")); _ = other.CloseWrite() }()
	there, err := called.accept()
	if err != nil || there.kind != "full" {
		t.Fatal(err)
	}
	second := must.Get(called.accept())(t)
	if text, err := io.ReadAll(second); err != nil || string(text) != "hello" {
		t.Errorf("%q, %v", text, err)
	}
	go func() { <-written; _ = full.CloseWrite() }()
	if text, err := io.ReadAll(there); err != nil || !bytes.Equal(text, big) {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

func TestEndsReachTheOtherSide(t *testing.T) {
	caller, called := pair(t)
	s := must.Get(caller.open("s"))(t)
	there := must.Get(called.accept())(t)
	_ = there.Close()
	if _, err := s.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("read: %v", err)
	}
	if _, err := s.Write([]byte("x")); !errors.Is(err, errReset) {
		t.Errorf("write: %v", err)
	}
	s = must.Get(caller.open("s"))(t)
	_ = called.Close()
	if _, err := s.Read(make([]byte, 1)); err == nil {
		t.Error("a broken connection is no error")
	}
	<-caller.Over()
}

// Guards against a machine that an agent controls and that sends more than it may.
func TestHostileFramesEndTheConnection(t *testing.T) {
	frame := func(kind byte, id, size uint32, payload ...byte) []byte {
		head := binary.BigEndian.AppendUint32([]byte{kind}, id)
		return append(binary.BigEndian.AppendUint32(head, size), payload...)
	}
	flood := frame(frameOpen, 1, 1, 'x')
	for range window/maxFrame + 1 {
		flood = append(flood, frame(frameData, 1, maxFrame, make([]byte, maxFrame)...)...)
	}
	var many []byte
	for i := range uint32(200) {
		many = append(many, frame(frameOpen, 2*i+1, 0)...)
	}
	for name, data := range map[string][]byte{
		"huge":       frame(frameData, 1, 1<<30),
		"own number": frame(frameOpen, 2, 0),
		"twice":      append(frame(frameOpen, 1, 0), frame(frameOpen, 1, 0)...),
		"unknown":    append(frame(frameOpen, 1, 0), frame(77, 1, 0)...),
		"credit":     append(frame(frameOpen, 1, 0), frame(frameCredit, 1, 4, 0xff, 0xff, 0xff, 0xff)...),
		"no credit":  append(frame(frameOpen, 1, 0), frame(frameCredit, 1, 1, 1)...),
		"flood":      flood,
		"many":       many,
	} {
		t.Run(name, func(t *testing.T) {
			a, b := net.Pipe()
			m := newMux(b, false)
			go func() { _, _ = a.Write(data) }()
			<-m.Over()
			_ = m.Close()
			_ = a.Close()
		})
	}
}

func TestErrorsTravel(t *testing.T) {
	for _, err := range []error{
		&box.Unavailable{What: "w", Why: "y", Mend: "m"}, &box.LimitError{What: "time", Limit: "1s"}, box.ErrNotRunning,
		&proc.ExitError{Argv: []string{"sh"}, Code: 137, Signal: 9, Stderr: "words"}, errors.New("other"),
	} {
		if got := newFault(err).err([]string{"sh"}); got == nil || got.Error() != err.Error() {
			t.Errorf("%v became %v", err, got)
		}
	}
	if newFault(nil).err(nil) != nil {
		t.Error("no error became one")
	}
}

func TestTreesTravel(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "a", "b")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(from, "bin"), 0o755), os.WriteFile(filepath.Join(from, "bin", "tool"), []byte("x"), 0o755),
		os.Symlink("bin/tool", filepath.Join(from, "link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		var packed bytes.Buffer
		must.Do(t, errors.Join(packTree(&packed, from), unpackTree(&packed, to)))
	}
	if st, err := os.Stat(filepath.Join(to, "link")); err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", st, err)
	}
	one := must.Get(treeMark(from))(t)
	must.Do(t, os.WriteFile(filepath.Join(from, "more"), nil, 0o600))
	if two, err := treeMark(from); err != nil || one == two {
		t.Errorf("%q, %q, %v", one, two, err)
	}
}
