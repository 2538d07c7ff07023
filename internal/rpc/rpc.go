// Package rpc bounds what the other end of a JSON-RPC connection over lines may write. The libraries behind it see only
// whole lines of valid JSON, of bounded length and depth.
package rpc

import (
	"encoding/json"
	"io"
	"sync"

	"github.com/cco-dev/cco/internal/agent/event"
)

// maxDepth is how deep JSON may be nested: a message of the protocols that we speak needs some twenty levels.
const maxDepth = 64

// parseError is the answer to what can't be read: its request is not known.
const parseError = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}` + "\n"

// Pair is both directions of a connection. What is written to Out comes out as whole lines.
type Pair struct {
	In  io.Reader
	Out io.Writer
}

// Bound gives a connection on which lines that are too long, too deep or no JSON have been answered with an error
// already.
func Bound(in io.Reader, out io.Writer) Pair {
	w := &lines{out: out}
	from, to := io.Pipe()
	go func() { _ = to.CloseWithError(pump(in, to, w)) }()
	return Pair{from, w}
}

// lines writes one line after the other. Each comes in one call.
type lines struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(line)
}

func pump(in io.Reader, to, answers io.Writer) error {
	from := event.NewReader(in)
	for {
		line, cut, err := from.Next()
		switch {
		case err != nil:
			return err
		case len(line) == 0 && !cut:
			continue
		case cut || !from.Whole() || deep(line) || !json.Valid(line):
			if _, err := io.WriteString(answers, parseError); err != nil {
				return err
			}
			continue
		}
		if _, err := to.Write(append(line[:len(line):len(line)], '\n')); err != nil {
			return err
		}
	}
}

// deep says whether a line is nested deeper than is read. Of what is no JSON any answer will do.
func deep(line []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
