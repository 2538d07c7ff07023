package remote

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/socket"
)

func pair(t *testing.T, most int64) (raw *net.UnixConn, in *conn) {
	t.Helper()
	l := must.Get(socket.Listen(t.TempDir() + "/s"))(t)
	defer func() { _ = l.Close() }()
	raw = must.Get(socket.Dial(t.Context(), l.Addr().String()))(t)
	in = must.Get(newConn(must.Get(l.Accept())(t), most))(t)
	t.Cleanup(func() { _, _ = raw.Close(), in.Close() })
	return raw, in
}

// Guards against a machine that fills our memory with one line, or with many.
func TestLinesAreBounded(t *testing.T) {
	raw, in := pair(t, 100<<10)
	go func() { _, _ = raw.Write([]byte(`{"report":"` + strings.Repeat("x", 200<<10) + "\"}\n")) }()
	var r reply
	if err := in.receive(&r); err == nil {
		t.Error("a line over the limit was read")
	}
}

func TestWhatFollowsALineIsTheStreams(t *testing.T) {
	raw, in := pair(t, 1<<20)
	must.Get(raw.Write([]byte("{\"call\":\"stream\",\"id\":\"x\",\"kind\":\"in\"}\nthe stream")))(t)
	must.Do(t, raw.CloseWrite())
	var r request
	must.Do(t, in.receive(&r))
	buf := make([]byte, 64)
	if n, _ := in.Read(buf); r.Kind != kindIn || string(buf[:n]) != "the stream" {
		t.Errorf("%+v, then %q", r, buf[:n])
	}
}

// Guards against a stream that ends up at a call that it was not made for.
func TestStreamsNeedTheirCall(t *testing.T) {
	l := must.Get(socket.Listen(t.TempDir() + "/s"))(t)
	served := make(chan error, 1)
	go func() { served <- (&Server{Dir: t.TempDir()}).Serve(context.WithoutCancel(t.Context()), l) }()
	t.Cleanup(func() { _ = l.Close(); must.Do(t, <-served) })
	raw := must.Get(socket.Dial(t.Context(), l.Addr().String()))(t)
	defer func() { _ = raw.Close() }()
	must.Get(raw.Write([]byte("{\"call\":\"stream\",\"id\":\"guessed\",\"kind\":\"in\"}\n")))(t)
	if n, err := raw.Read(make([]byte, 1)); err == nil {
		t.Errorf("it was kept, and answered with %d bytes", n)
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
