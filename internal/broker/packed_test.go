package broker

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

func packed(t *testing.T, text string, with func(io.Writer) io.WriteCloser) string {
	t.Helper()
	var b bytes.Buffer
	w := with(&b)
	_, err := io.WriteString(w, text)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func gzipped(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }
func zlibbed(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }
func deflated(w io.Writer) io.WriteCloser {
	d, _ := flate.NewWriter(w, flate.BestCompression)
	return d
}

// Guards against a key that a packed answer carries past the mask: a model's host that packs although identity was
// asked for is unpacked, or does not come through.
func TestPackedAnswersAreMaskedToo(t *testing.T) {
	answer := `{"id":"msg_1","model":"claude-sonnet-4-5","echo":"` + theKey +
		`","usage":{"input_tokens":10,"output_tokens":20}}`
	once := packed(t, answer, gzipped)
	// The same text as a brotli stream and a zstd frame that say it as it is, without packing it.
	brotli := "\x21" + string([]byte{byte(len(answer)-1) << 3, byte((len(answer) - 1) >> 5)}) + answer + "\x03"
	zstd := "\x28\xb5\x2f\xfd\x60" + string([]byte{byte(len(answer) - 256), 0, byte(len(answer)<<3) | 1,
		byte(len(answer) >> 5), 0}) + answer
	for _, c := range []struct {
		name   string
		coding []string
		body   string
		clear  bool // it comes through, and can be read
	}{
		{"plain", []string{""}, answer, true},
		{"gzip", []string{"gzip"}, once, true},
		{"x-gzip", []string{"x-gzip"}, once, true},
		{"gzip in capitals", []string{"GZIP"}, once, true},
		{"gzip and what is none", []string{"identity, gzip", ""}, once, true},
		{"gzip in two members", []string{"gzip"}, packed(t, answer[:70], gzipped) + packed(t, answer[70:], gzipped), true},
		{"gzip and more", []string{"gzip"}, once + theKey, false},
		{"gzip cut short", []string{"gzip"}, once[:len(once)-12], false},
		{"gzip inside gzip", []string{"gzip"}, packed(t, once, gzipped), false},
		{"twice", []string{"gzip, gzip"}, packed(t, once, gzipped), false},
		{"twice in two lines", []string{"gzip", "gzip"}, packed(t, once, gzipped), false},
		{"deflate", []string{"deflate"}, packed(t, answer, zlibbed), false},
		{"raw deflate", []string{"deflate"}, packed(t, answer, deflated), false},
		{"br", []string{"br"}, brotli, false},
		{"zstd", []string{"zstd"}, zstd, false},
		{"gzip that is none", []string{"gzip"}, answer, false},
		{"something odd", []string{"rot13"}, answer, false},
		{"gzip without a label", nil, once, false},
		{"gzip under identity", []string{"identity"}, once, false},
		{"zlib without a label", nil, packed(t, answer, zlibbed), false},
		{"deflate without a label", nil, packed(t, answer, deflated), false},
		{"UTF-16", nil, strings.Join(strings.Split(answer, ""), "\x00"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			u, _ := upstream(t, "anthropic", func(w http.ResponseWriter, r *http.Request) {
				if got := r.Header.Get("Accept-Encoding"); got != "identity" {
					t.Errorf("the model is asked for %q", got)
				}
				w.Header()["Content-Encoding"] = c.coding
				_, _ = io.WriteString(w, c.body)
			})
			tr := open(t, Config{Models: []Upstream{u}})
			status, text := tr.cutOff("POST /anthropic/v1/messages HTTP/1.1\r\nHost: x\r\nX-Api-Key: " + theToken +
				"\r\nAccept-Encoding: gzip\r\nContent-Length: 30\r\nConnection: close\r\n\r\n" + `{"model":"claude-sonnet-4-5" }`)
			for name, plain := range map[string]string{"": text, "gzip ": unpack(gzip.NewReader(strings.NewReader(text))),
				"zlib ":    unpack(zlib.NewReader(strings.NewReader(text))),
				"deflate ": unpack(flate.NewReader(strings.NewReader(text)), nil),
				"wide ":    strings.ReplaceAll(text, "\x00", "")} {
				if strings.Contains(plain, theKey) {
					t.Errorf("the box has the key in %s%q", name, plain)
				}
			}
			if c.clear && (status != 200 || text != strings.ReplaceAll(answer, theKey, strings.Repeat("*", len(theKey)))) {
				t.Errorf("it got %d %q", status, text)
			}
			e := tr.entry(1)
			if c.clear != (e.Error == "") || c.coding == nil && !strings.Contains(e.Error, "not text") {
				t.Errorf("the record has %+v", e)
			}
			if e.Spend == nil || e.Spend.Requests != 1 || c.clear && e.Spend.Estimated > 0 {
				t.Errorf("it is charged with %+v", e.Spend)
			}
		})
	}
}

// cutOff is raw for answers that may end at any byte.
func (tr *trial) cutOff(request string) (int, string) {
	c := tr.dial()
	_, _ = io.WriteString(c, request)
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, ""
	}
	defer func() { _ = res.Body.Close() }()
	body, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(body)
}

func unpack[R io.Reader](r R, err error) string {
	if err != nil {
		return ""
	}
	text, _ := io.ReadAll(r)
	return string(text)
}

// A packed stream is not held back until its end.
func TestPackedStreamsArriveAsTheyCome(t *testing.T) {
	read := make(chan struct{})
	done := sync.OnceFunc(func() { close(read) })
	u, _ := upstream(t, "anthropic", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, "event: ping\ndata: {\"type\": \"ping\"}\n\n")
		_ = z.Flush()
		w.(http.Flusher).Flush()
		<-read
		_, _ = io.WriteString(z, "data: "+theKey+"\n\n")
		_ = z.Close()
	})
	t.Cleanup(done) // before the server is closed
	tr := open(t, Config{Models: []Upstream{u}})
	c := tr.dial()
	_, _ = fmt.Fprintf(c, "POST /anthropic/v1/messages HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\nContent-Length: "+
		"2\r\nConnection: close\r\n\r\n{}", theToken)
	var got []byte
	for buf := make([]byte, 4096); !bytes.Contains(got, []byte("ping\"}")); {
		n, err := c.Read(buf)
		if got = append(got, buf[:n]...); err != nil {
			t.Fatalf("%v after %q", err, got)
		}
	}
	done()
	rest, _ := io.ReadAll(c)
	if strings.Contains(string(rest), theKey) || !strings.Contains(string(rest), "data: ****") {
		t.Errorf("the rest is %q", rest)
	}
}

// Guards against what a host says behind its answer, where nobody masks, and against a packing of the transfer.
func TestTrailersDoNotComeBack(t *testing.T) {
	for name, answer := range map[string]string{
		"a trailer": "HTTP/1.1 200 OK\r\nTrailer: X-Key\r\nTransfer-Encoding: " +
			"chunked\r\n\r\n2\r\n{}\r\n0\r\nX-Key: " + theKey + "\r\n\r\n",
		"an unannounced trailer": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-Key: " + theKey +
			"\r\n\r\n",
		"a packed transfer": "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"an early hint": "HTTP/1.1 103 Early Hints\r\nLink: " + theKey +
			"\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
	} {
		u, _ := upstream(t, "anthropic", func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(conn, answer)
			_ = conn.Close()
		})
		tr := open(t, Config{Models: []Upstream{u}})
		c := tr.dial()
		_, _ = fmt.Fprintf(c, "POST /anthropic/v1/messages HTTP/1.1\r\nHost: x\r\nTE: trailers\r\nX-Api-Key: "+
			"%s\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}", theToken)
		got, _ := io.ReadAll(c)
		if len(got) == 0 || strings.Contains(string(got), theKey) {
			t.Errorf("%s: the box has %q", name, got)
		}
	}
}

// Text may be cut anywhere, in the middle of a character too; what is no text is found however it is cut.
func TestWhatIsNoTextIsFound(t *testing.T) {
	for _, c := range []struct {
		body string
		text bool
	}{
		{"", true}, {"plain", true}, {"für 漢字 and 😀 at the end 😀", true}, {"\ufeffbom", true},
		{"\x1f\x8b", false}, {"\x28\xb5\x2f\xfd", false}, {"a\x00b", false}, {"ends in \xe6\xbc", false}, {"\xc0\x80", false},
		{"\xf8\x88\x80\x80\x80", false}, {"a\x80", false}, {"😀\xff", false},
	} {
		for size := 1; size <= 7; size++ {
			r := &text{ReadCloser: io.NopCloser(&dribble{[]byte(c.body), size})}
			got, err := io.ReadAll(r)
			if (err == nil) != c.text || c.text && string(got) != c.body {
				t.Errorf("%q in pieces of %d: %q, %v", c.body, size, got, err)
			}
		}
	}
}

type dribble struct {
	rest []byte
	size int
}

func (d *dribble) Read(p []byte) (int, error) {
	if len(d.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, d.rest[:min(d.size, len(d.rest))])
	d.rest = d.rest[n:]
	return n, nil
}
