package event

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
)

// Turn is what an agent that takes its task on its standard input is told.
type Turn struct {
	Dir     string
	Prompt  string
	Resume  string // the conversation to go on with
	Mode    string
	Model   string // that the user has named
	Servers Servers
}

// Servers are programs that offer tools to an agent by the Model Context Protocol, by their names. They run in its box.
type Servers map[string]Server

// Server is one of them.
type Server struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
}

type object = map[string]any

// acpAsk is a request to the agent. One is asked after the other.
type acpAsk struct {
	method string
	params object
}

const promptMethod = "session/prompt"

// acpMessage is one of the agent's, with the fields of all that are read. What can be chosen may stand in groups: only
// the names count.
type acpMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Update   acpUpdate `json:"update"`
		Message  string    `json:"message"`
		ToolCall struct {
			Title string `json:"title"`
		} `json:"toolCall"`
		Options []struct {
			ID   string `json:"optionId"`
			Kind string `json:"kind"`
			Name string `json:"name"`
		} `json:"options"`
	} `json:"params"`
	Error  json.RawMessage `json:"error"`
	Result struct {
		Session string          `json:"sessionId"`
		Modes   json.RawMessage `json:"modes"`
		Options []struct {
			ID       string          `json:"id"`
			Category string          `json:"category"`
			Choices  json.RawMessage `json:"options"`
		} `json:"configOptions"`
		Stop string `json:"stopReason"`
	} `json:"result"`
}

// Cancel asks the agent to end its turn. What was not begun can't be lost, and ends at once.
func (a *ACP) Cancel() {
	if !a.prompted() {
		a.end()
		return
	}
	a.say(object{"method": "session/cancel", "params": object{"sessionId": a.session}})
}

func (a *ACP) prompted() bool { return len(a.asks) > 0 && a.asks[0].method == promptMethod }

func (a *ACP) end() {
	if !a.Over {
		a.Over = true
		close(a.Says)
	}
}

// say never waits: who is to read it may be waiting for us. One that leaves a thousand messages unread misses others.
func (a *ACP) say(message object) {
	message["jsonrpc"] = "2.0"
	line, err := json.Marshal(message)
	if err != nil || a.Over {
		return
	}
	select {
	case a.Says <- append(line, '\n'):
	default:
	}
}

// ask adds to what the agent is asked for.
func (a *ACP) ask(method string, params object) {
	if a.session != "" {
		params["sessionId"] = a.session
	}
	a.asks = append(a.asks, acpAsk{method, params})
}

// next asks for the first of it. After the last answer there is nothing more to say.
func (a *ACP) next() {
	if len(a.asks) == 0 {
		a.end()
		return
	}
	a.id++
	a.say(object{"id": a.id, "method": a.asks[0].method, "params": a.asks[0].params})
}

// answered goes on after an answer.
func (a *ACP) answered(m acpMessage) (told []Event) {
	if len(a.asks) == 0 || string(m.ID) != fmt.Sprint(a.id) {
		return nil
	}
	asked := a.asks[0].method
	a.asks = a.asks[1:]
	var err error
	switch {
	case m.Error != nil:
		err = fmt.Errorf("%s: %s", asked, m.Error)
	case asked == "initialize":
		a.open()
	case asked == promptMethod:
		told, a.stop = a.flush(), m.Result.Stop
	case asked == "session/new" || asked == "session/load":
		a.session = cmp.Or(a.session, m.Result.Session)
		told = []Event{{Kind: KindStarted, Session: sessionID(a.session)}}
		err = a.choose(m, "mode", a.turn.Mode)
		_ = a.choose(m, "model", a.turn.Model) // one that it doesn't offer it has by its environment
		a.ask(promptMethod, object{"prompt": []object{{"type": "text", "text": a.turn.Prompt}}})
	}
	if err != nil {
		a.failure = clip(err.Error())
		a.asks = nil
		told = append(told, Event{Kind: KindText, Text: a.failure, IsError: true})
	}
	a.next()
	return told
}

// open asks for a session: a new one, or one that there was.
func (a *ACP) open() {
	servers := []object{}
	for name, s := range a.turn.Servers {
		env := []object{}
		for k, v := range s.Env {
			env = append(env, object{"name": k, "value": v})
		}
		servers = append(servers, object{"name": name, "command": s.Command, "args": s.Args, "env": env})
	}
	method := "session/new"
	if a.session != "" {
		method = "session/load"
	}
	a.ask(method, object{"cwd": a.turn.Dir, "mcpServers": servers})
}

// choose asks for the mode or the model: as the agent's mode, or as one of its options.
func (a *ACP) choose(m acpMessage, what, value string) error {
	if value == "" {
		return nil
	}
	there, name := m.Result.Modes, fmt.Appendf(nil, "%q", value)
	if what == "mode" && bytes.Contains(there, name) {
		a.ask("session/set_mode", object{"modeId": value})
		return nil
	}
	for _, o := range m.Result.Options {
		if o.Category != what && o.ID != what {
			continue
		}
		if there = o.Choices; bytes.Contains(there, name) {
			a.ask("session/set_config_option", object{"configId": o.ID, "value": value})
			return nil
		}
	}
	return fmt.Errorf("it has no %s %q; there are %s", what, value, there)
}

// answer answers what the agent asks of us. Permission it has: the box is what holds it. What is no question about
// permission is one for a person.
func (a *ACP) answer(m acpMessage) []Event {
	reply, question := object{"id": m.ID}, m.Params.Message
	switch m.Method {
	case "session/request_permission":
		outcome := object{"outcome": "cancelled"}
		question = m.Params.ToolCall.Title
		for _, o := range m.Params.Options {
			question += "\n- " + o.Name
			if o.Kind == "allow_once" || o.Kind == "allow_always" && outcome["optionId"] == nil {
				outcome = object{"outcome": "selected", "optionId": o.ID}
			}
		}
		reply["result"] = object{"outcome": outcome}
		if outcome["optionId"] != nil {
			a.say(reply)
			return nil
		}
	case "elicitation/create":
		reply["result"] = object{"action": "cancel"}
	default:
		reply["error"] = object{"code": -32601, "message": "Method not found"}
		a.say(reply)
		return nil
	}
	a.say(reply)
	a.asked = true
	return append(a.flush(), Event{Kind: KindQuestion, Text: clip(question)})
}
