package guard

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
)

// BatchCall is one line of a batch: a call with a name.
type BatchCall struct {
	ID string `json:"id"`
	Call
}

// BatchVerdict is the answer to a BatchCall.
type BatchVerdict struct {
	ID      string `json:"id"`
	Verdict string `json:"verdict"` // allow or deny
	Rule    Rule   `json:"rule,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

const maxLine = 4 << 20

// Batch decides calls that stand on lines as JSON, and writes one verdict for
// each in the same order. A line that can't be read is denied, and the rest
// goes on.
func Batch(policy Policy, links Resolver, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 1<<16), maxLine)
	w := bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		if err := enc.Encode(batchLine(policy, links, lines.Bytes())); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return w.Flush()
}

func batchLine(policy Policy, links Resolver, line []byte) BatchVerdict {
	var c BatchCall
	if err := json.Unmarshal(line, &c); err != nil {
		return BatchVerdict{ID: c.ID, Verdict: "deny", Rule: RuleInput, Reason: "the line is not a call: " + err.Error()}
	}
	v := Decide(policy, links, c.Call)
	if v.Allow {
		return BatchVerdict{ID: c.ID, Verdict: "allow"}
	}
	return BatchVerdict{ID: c.ID, Verdict: "deny", Rule: v.Rule, Reason: v.Message()}
}
