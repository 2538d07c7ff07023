package guard

import (
	"bufio"
	"io"
	"strings"

	"github.com/cco-dev/cco/internal/guard/jsontext"
	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/verdict"
)

const maxLine = 4 << 20

// Batch decides calls that stand on lines as JSON, and writes one verdict for
// each in the same order. A line that can't be read is denied, and the rest
// goes on.
func Batch(policy Policy, links land.Resolver, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 1<<16), maxLine)
	w := bufio.NewWriter(out)
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		if _, err := w.WriteString(batchLine(policy, links, lines.Text()) + "\n"); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return w.Flush()
}

// batchLine answers one line.
func batchLine(policy Policy, links land.Resolver, line string) string {
	id, call, err := batchCall(line)
	if err != nil {
		return batchVerdict(id, Verdict{Rule: verdict.RuleInput}, "the line is not a call: "+err.Error())
	}
	v := Decide(policy, links, call)
	return batchVerdict(id, v, v.Message())
}

// batchCall reads a call that has a name.
func batchCall(line string) (id string, call Call, err error) {
	err = jsontext.Object(line, func(name, value string) (err error) {
		switch name {
		case "id":
			id, err = jsontext.String(value)
		case "tool_name":
			call.Tool, err = jsontext.String(value)
		case "cwd":
			call.Cwd, err = jsontext.String(value)
		case "branch":
			call.Branch, err = jsontext.String(value)
		case "tool_input":
			call.Input = []byte(value)
		}
		return err
	})
	return id, call, err
}

func batchVerdict(id string, v Verdict, reason string) string {
	line := `{"id":` + jsontext.Quote(id)
	if v.Allow {
		return line + `,"verdict":"allow"}`
	}
	line += `,"verdict":"deny"`
	if v.Rule != verdict.RuleNone {
		line += `,"rule":` + jsontext.Quote(string(v.Rule))
	}
	return line + `,"reason":` + jsontext.Quote(reason) + `}`
}
