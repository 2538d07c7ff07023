// Package rpc bounds what the other end of a JSON-RPC connection over lines may write. The libraries behind it see only
// whole lines of valid JSON, of bounded length; how deep that may be nested encoding/json bounds.
package rpc

import (
	"encoding/json"
	"io"

	"github.com/cco-dev/cco/internal/agent/event"
)

// parseError is the answer to what can't be read: its request is not known.
const parseError = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}` + "\n"

// Bound gives the lines of a connection, of which those that are too long, half or no JSON have been answered with an
// error already. Whole lines are written to out, also by others: it must not mix them, as a file does not.
func Bound(in io.Reader, out io.Writer) *io.PipeReader {
	from, to := io.Pipe()
	go func() { _ = to.CloseWithError(pump(in, to, out)) }()
	return from
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
		case cut || !from.Whole() || !json.Valid(line):
			_, err = io.WriteString(answers, parseError)
		default:
			_, err = to.Write(append(line[:len(line):len(line)], '\n'))
		}
		if err != nil {
			return err
		}
	}
}
