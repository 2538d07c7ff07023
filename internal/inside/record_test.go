package inside

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

// Guards against lines that are told twice, in part, or of an earlier run, and against an agent that holds up or ends
// what reads its files: a pipe, a link, a directory and a line without an end stand among them.
func TestOnlyWhatIsAddedIsCopied(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		f := must.Get(os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600))(t)
		_, err := f.WriteString(text)
		must.Do(t, err)
		must.Do(t, f.Close())
	}
	write("a.jsonl", "old\n")
	write("secret", "secret\n")
	must.Do(t, os.Symlink(filepath.Join(dir, "secret"), filepath.Join(dir, "b.jsonl")))
	must.Do(t, syscall.Mkfifo(filepath.Join(dir, "c.jsonl"), 0o600))
	must.Do(t, os.Mkdir(filepath.Join(dir, "d.jsonl"), 0o700))
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := Record(ctx, filepath.Join(dir, "*.jsonl"), in)
		_ = in.Close()
		done <- err
	}()
	began := make([]byte, 1)
	_ = must.Get(io.ReadFull(out, began))(t)
	write("a.jsonl", "new\nhal")
	write("e.jsonl", strings.Repeat("x", recordChunk+10)+"\n")
	all := make(chan []byte, 1)
	seen := make(chan struct{})
	go func() {
		var got bytes.Buffer
		for buf := make([]byte, 4096); ; {
			n, err := out.Read(buf)
			got.Write(buf[:n])
			if strings.HasSuffix(got.String(), "x\n") && seen != nil {
				close(seen)
				seen = nil
			}
			if err != nil {
				all <- got.Bytes()
				return
			}
		}
	}()
	<-seen
	write("a.jsonl", "f\nlast\n")
	stop() // and what was written last is still copied
	got := string(<-all)
	must.Do(t, <-done)
	if string(began) != "\n" || strings.Count(got, "new\n") != 1 || !strings.HasSuffix(got, "half\nlast\n") ||
		strings.Contains(got, "old") || strings.Contains(got, "secret") {
		t.Errorf("copied is %.80q…%.80q", got, got[max(0, len(got)-80):])
	}
}
