package remote_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/boxtest"
	"github.com/cco-dev/cco/internal/box/native"
	"github.com/cco-dev/cco/internal/box/remote"
	"github.com/cco-dev/cco/internal/box/verify"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/socket"
)

func TestMain(m *testing.M) {
	os.Exit(boxtest.Main(m, func() box.Driver { return client() }))
}

// socketOf is where the server of a test's box listens.
func socketOf(b *box.Box) string { return filepath.Join(filepath.Dir(filepath.Dir(b.Dir)), "s") }

func client() *remote.Client {
	return &remote.Client{Shared: true, Dial: func(ctx context.Context, b *box.Box) (net.Conn, error) {
		return socket.Dial(ctx, socketOf(b))
	}}
}

// newBox starts a server with a native driver of its own.
func newBox(t *testing.T) *box.Box {
	data := t.TempDir()
	b := &box.Box{Name: "test", Backend: "lima", Dir: filepath.Join(data, "boxes", "test"),
		Exchange: filepath.Join(data, "exchange")}
	server := &remote.Server{
		Driver: native.New(native.Options{Tool: boxtest.Tool(), Path: os.Getenv("PATH")}), Dir: filepath.Dir(b.Dir),
		Exchange: b.Exchange,
		Doors:    shortDir(t), Version: "1", Shared: true,
	}
	l := must.Get(socket.Listen(socketOf(b)))(t)
	served := make(chan error, 1)
	ctx := context.WithoutCancel(t.Context()) // the suite destroys its box after the test has ended
	go func() { served <- server.Serve(ctx, l) }()
	t.Cleanup(func() {
		_ = l.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return b
}

func shortDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "d") //nolint:usetesting // an address of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestConformance(t *testing.T) {
	boxtest.Run(t, boxtest.Setup{Driver: client(), New: newBox})
}

func TestHoldsWhatItPromises(t *testing.T) {
	d, b := client(), newBox(t)
	must.Do(t, d.Create(t.Context(), b, nil))
	t.Cleanup(func() {
		if err := d.Destroy(context.WithoutCancel(t.Context()), b); err != nil {
			t.Error(err)
		}
	})
	n := 0
	results := must.Get(verify.Run(t.Context(), d, b,
		verify.Options{Tool: boxtest.Tool(), ID: func() string { n++; return []string{"", "0000aaaa", "0000bbbb"}[n] }}))(t)
	for _, r := range results {
		if !r.Held {
			t.Errorf("%s: %s", r.Probe, r.Detail)
		}
	}
}
