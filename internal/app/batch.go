package app

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"

	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/guard/hook"
	"github.com/cco-dev/cco/internal/term"
)

// maxCall bounds a line of a batch.
const maxCall = 4 << 20

// answer is the verdict on one line of a batch.
type answer struct {
	ID      string     `json:"id"`
	Verdict string     `json:"verdict"`
	Rule    guard.Rule `json:"rule,omitempty"`
	Reason  string     `json:"reason,omitempty"`
}

// decideLines decides calls that stand on lines as JSON, and writes one verdict for each in the same order. A line that
// can't be read is denied, and the rest goes on.
func decideLines(policy guard.Policy, in io.Reader, out *term.Streams) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 1<<16), maxCall)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if err := out.JSONLine(decideLine(policy, lines.Bytes())); err != nil {
			return err
		}
	}
	return lines.Err()
}

// decideLine answers one line: a call and its id.
func decideLine(policy guard.Policy, line []byte) answer {
	var given struct{ ID string }
	_ = json.Unmarshal(line, &given) // what isn't text in it counts as missing
	call, err := guard.ParseCall(line)
	if err != nil {
		return answer{given.ID, "deny", guard.RuleInput, "the line is not a call: " + err.Error()}
	}
	v := guard.Decide(policy, hook.Links{}, call)
	if v.Allow {
		return answer{ID: given.ID, Verdict: "allow"}
	}
	return answer{given.ID, "deny", v.Rule, v.Message()}
}
