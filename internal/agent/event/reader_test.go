package event

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

type readLine struct {
	text string
	cut  bool
}

func readAll(t testing.TB, r *Reader) (lines []readLine) {
	t.Helper()
	for {
		line, cut, err := r.Next()
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, readLine{string(line), cut})
	}
}

func TestReaderSplitsLines(t *testing.T) {
	tests := []struct {
		in   string
		want []readLine
	}{
		{"", nil},
		{"a", []readLine{{"a", false}}},
		{"a\n", []readLine{{"a", false}}},
		{"a\r\n\nb", []readLine{{"a", false}, {"", false}, {"b", false}}},
		{"12345678\n123456789\n1", []readLine{{"12345678", false}, {"12345678", true}, {"1", false}}},
		{"123456789", []readLine{{"12345678", true}}},
	}
	for _, tt := range tests {
		for _, wrap := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, iotest.OneByteReader,
			iotest.DataErrReader} {
			got := readAll(t, newReader(wrap(strings.NewReader(tt.in)), 8))
			if len(got) != len(tt.want) {
				t.Fatalf("%q: %+v", tt.in, got)
			}
			for i := range got {
				if got[i] != tt.want[i] {
					t.Errorf("%q: %+v, want %+v", tt.in, got, tt.want)
				}
			}
		}
	}
}

func TestReaderGivesErrors(t *testing.T) {
	broken := errors.New("broken")
	r := NewReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)))
	for range 2 {
		if _, _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := r.Next(); !errors.Is(err, broken) {
		t.Errorf("err = %v", err)
	}
}

// same repeats one byte.
type same byte

func (s same) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(s)
	}
	return len(p), nil
}

// Guards against a line that fills the memory.
func TestALineOf50MBIsCutAndKept(t *testing.T) {
	in := io.MultiReader(strings.NewReader(`{"type":"user","x":"`), io.LimitReader(same('x'), 50<<20),
		strings.NewReader("\"}\n{\"type\":\"other\"}\n"))
	r := NewReader(in)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	line, cut, err := r.Next()
	if err != nil || !cut || len(line) != MaxLine {
		t.Fatalf("%d bytes, cut %v, %v", len(line), cut, err)
	}
	line, cut, err = r.Next()
	if err != nil || cut || string(line) != `{"type":"other"}` {
		t.Errorf("then %q, %v, %v", line, cut, err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 24<<20 {
		t.Errorf("it took %d MB of memory", took>>20)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("a\nb\r\n\nc"), 3)
	f.Add(bytes.Repeat([]byte("x"), 100), 10)
	f.Fuzz(func(t *testing.T, data []byte, most int) {
		most = 1 + (most&0x7fffffff)%1000
		var joined []byte
		lines := readAll(t, newReader(bytes.NewReader(data), most))
		whole := true
		for _, l := range lines {
			if len(l.text) > most || strings.Contains(l.text, "\n") {
				t.Fatalf("line %q with at most %d", l.text, most)
			}
			whole = whole && !l.cut
			joined = append(append(joined, l.text...), '\n')
		}
		if plain := bytes.ReplaceAll(data, []byte("\r"), nil); whole && !bytes.Contains(data, []byte("\r")) &&
			!bytes.Equal(bytes.TrimSuffix(joined, []byte("\n")), bytes.TrimSuffix(plain, []byte("\n"))) {
			t.Fatalf("%q became %q", data, joined)
		}
	})
}
