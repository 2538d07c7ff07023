//go:build heavy

package real

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/agent/agenttest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// edited are agents under `cco acp`: those that have adapters of their own, and one that speaks the protocol itself.
var edited = []string{"claude", "codex", "copilot", "gemini", "opencode"}

// tickets is a server of the editor's, by the Model Context Protocol. It writes down which token it has, and
// where it is.
const tickets = `echo "it has $TICKETS_TOKEN$AWS_KEY in $PWD" >>"$HOME/tickets"
while read -r line; do
	id=${line#*\"id\":}; id=${id%%[,\}]*}
	version=${line#*protocolVersion\":\"}; version=${version%%\"*}
	case $line in
	*\"initialize\"*) result='{"protocolVersion":"'$version'","capabilities":{"tools":{}},
		"serverInfo":{"name":"t","version":"1"}}' ;;
	*\"tools/list\"*) result='{"tools":[{"name":"count","description":"counts",
		"inputSchema":{"type":"object","properties":{}}}]}' ;;
	*\"id\"*) result='{}' ;;
	*) continue ;;
	esac
	printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "${result//$'\n'/}"
done`

// answer is what cco says to an editor in the end.
type answer struct {
	Result struct{ SessionID, StopReason string }
	Error  *struct{ Message string }
}

// edit has an editor prompt an agent, one prompt after the other, and gives all that was said and the last answer. Who
// asks whether to take the work hears yes.
func (w *work) edit(prompts ...string) (said string, last answer) {
	w.t.Helper()
	theirs, in, err := os.Pipe()
	must.Do(w.t, err)
	from, out, err := os.Pipe()
	must.Do(w.t, err)
	argv := []string{filepath.Join(w.bin, "cco"), "acp", "--agent", w.agent}
	p := must.Get(proc.Start(w.t.Context(), proc.Cmd{Argv: argv, Dir: w.repo,
		Env: append(append([]string{}, w.stage.env...), w.env...), Stdin: theirs, Stdout: out,
		Stderr: os.Stderr}))(w.t)
	_, _ = theirs.Close(), out.Close()
	defer func() { _, _ = in.Close(), p.Wait() }()
	lines := bufio.NewReader(from)
	var words strings.Builder // which come in pieces
	call := func(method, params string) {
		_, err := fmt.Fprintf(in, `{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`+"\n", method, params)
		must.Do(w.t, err)
		for {
			line := must.Get(lines.ReadString('\n'))(w.t)
			said += line
			var m struct {
				answer
				ID     json.RawMessage
				Method string
				Params struct {
					Update struct{ Content json.RawMessage }
				}
			}
			must.Do(w.t, json.Unmarshal([]byte(line), &m))
			var chunk struct{ Text string }
			if json.Unmarshal(m.Params.Update.Content, &chunk) == nil {
				words.WriteString(chunk.Text)
			}
			switch m.Method {
			case "":
				last = m.answer
				return
			case "session/request_permission":
				_, err := fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"selected",`+
					`"optionId":"Take it"}}}`+"\n", m.ID)
				must.Do(w.t, err)
			}
		}
	}
	call("initialize", `{"protocolVersion":1,"clientCapabilities":{}}`)
	server := fmt.Sprintf(`"command":"bash","args":["-c",%s],"env":[{"name":"TICKETS_TOKEN","value":"t0ken"},`+
		`{"name":"AWS_KEY","value":"aws"}]`, must.Get(json.Marshal(tickets))(w.t))
	call("session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[{"name":"tickets",%s},{"name":"spy",%s}]}`, w.repo, server,
		server))
	id := last.Result.SessionID
	for _, text := range prompts {
		call("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}`, id, text))
	}
	return said + words.String(), last
}

// Two prompts are two turns of one conversation, whose words, thoughts and calls the editor sees, and whose work comes.
func TestAnAgentInAnEditor(t *testing.T) {
	each(t, edited, func(t *testing.T, agent string) {
		w := newWork(t, agent, agenttest.Step{Text: "I begin.", Calls: commit("hello.txt", "hello").Calls},
			agenttest.Say("The lamp is lit."), agenttest.Shell("cat ~/tickets; echo more > more.txt && git add more.txt && "+
				"git commit -q -m more"), agenttest.Say("And another."))
		said, last := w.edit("Light the lamp.", "And another lamp.")
		if last.Result.StopReason != "end_turn" {
			t.Errorf("it stopped: %+v", last)
		}
		for _, words := range []string{"I begin.", `"tool_call"`, `"kind":"execute"`, "hello.txt", `"status":"completed"`,
			"The lamp is lit.", "And another.", `"usage_update"`} {
			if !strings.Contains(said, words) {
				t.Errorf("%s is not shown:\n%s", words, said)
			}
		}
		if heard := w.model.Heard(); agent != "copilot" && !strings.Contains(heard, "it has t0ken in /workspace/") ||
			strings.Contains(heard, "t0kenaws") { // copilot starts none
			t.Errorf("the editor's server did not run in the box as the settings say:\n%s", heard)
		}
		if strings.Contains(said, w.key) {
			t.Error("the key is among the words")
		}
		w.pulled("hello.txt", "hello")
		w.pulled("more.txt", "more")
		if w.git(w.repo, "rev-list", "--count", "HEAD") != "3" {
			t.Error("something was done twice: the conversation was not resumed")
		}
	})
}

// A model that refuses is an error in the editor, and no end of a turn. Claude asks again for three minutes first.
func TestAnAgentInAnEditorWhoseModelRefuses(t *testing.T) {
	each(t, edited[1:3], func(t *testing.T, agent string) {
		w := newWork(t, agent, commit("hello.txt", "hello"), agenttest.Say("done"))
		w.model.Fail(1, agenttest.Storm(agenttest.Fault{Status: 401}, 50)...)
		if said, last := w.edit("Light the lamp."); last.Error == nil || !strings.Contains(last.Error.Message, "401") {
			t.Errorf("it ended with %+v\n%s", last, said)
		}
	})
}

// A model that is overloaded for a while costs time and nothing else.
func TestAnAgentInAnEditorWhoseModelIsOverloaded(t *testing.T) {
	each(t, edited[:1], func(t *testing.T, agent string) {
		w := newWork(t, agent, commit("hello.txt", "hello"), agenttest.Say("done"))
		w.model.Fail(1, agenttest.Storm(agenttest.Fault{Status: 529}, 2)...)
		if said, last := w.edit("Light the lamp."); last.Result.StopReason != "end_turn" {
			t.Errorf("it ended with %+v\n%s", last, said)
		}
		w.pulled("hello.txt", "hello")
	})
}
