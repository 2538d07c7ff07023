package editor

import (
	"cmp"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
)

// update is one of the protocol's updates of a session, with the fields of all kinds.
type update struct {
	Kind      string     `json:"sessionUpdate"`
	Content   any        `json:"content,omitempty"` // of a chunk a block, of a call a list of parts
	ID        string     `json:"toolCallId,omitempty"`
	Title     string     `json:"title,omitempty"`
	Tool      string     `json:"kind,omitempty"`
	Status    string     `json:"status,omitempty"`
	Locations []location `json:"locations,omitempty"`
	Entries   []entry    `json:"entries,omitempty"`
	Commands  []slash    `json:"availableCommands,omitempty"`
	Used      *int64     `json:"used,omitempty"`
	Size      *int64     `json:"size,omitempty"`
	Cost      *cost      `json:"cost,omitempty"`
}

type (
	block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	// part is what a call shows: words, or a change of a file.
	part struct {
		Type    string  `json:"type"`
		Content *block  `json:"content,omitempty"`
		Path    string  `json:"path,omitempty"`
		Old     *string `json:"oldText,omitempty"`
		New     *string `json:"newText,omitempty"`
	}
	location struct {
		Path string `json:"path"`
	}
	entry struct {
		Content  string `json:"content"`
		Priority string `json:"priority"`
		Status   string `json:"status"`
	}
	slash struct {
		Name  string `json:"name"`
		About string `json:"description"`
	}
	cost struct {
		Amount   float64 `json:"amount"`
		Currency string  `json:"currency"`
	}
)

// The kinds of chunks.
const (
	words   = "agent_message_chunk"
	thought = "agent_thought_chunk"
	asked   = "user_message_chunk"
)

func chunk(kind, text string) update {
	return update{Kind: kind, Content: block{"text", safetext.Text(text)}}
}

// Calls that are told of are remembered, so many; longer titles are cut.
const (
	maxCalls = 4096
	maxTitle = 160
)

// teller makes updates of what a session's agent does. It is hostile: every text is cleaned and nothing else is passed
// on.
type teller struct {
	top      string          // of the user's repository
	inside   []string        // where the agent has its workspace
	protocol bool            // it speaks the protocol itself, and its words come as it says them
	limit    int64           // of tokens
	last     string          // the kind of chunk that was told last
	calls    map[string]bool // those under way, and whether they show a change
}

// of gives the updates for an event of a session.
func (t *teller) of(e session.Event) []update {
	switch e.Kind {
	case session.KindEvent:
		if e.Agent != nil {
			return t.agent(*e.Agent)
		}
	case session.KindOut:
		if !e.Raw {
			return t.chunk(words, e.Text+"\n", false)
		}
		if t.protocol {
			return t.own(e.Text)
		}
	case session.KindStep, session.KindDoor:
		return t.chunk(thought, e.Text, true)
	}
	return nil
}

// chunk says something, apart from what was said before if it is a message of its own.
func (t *teller) chunk(kind, text string, apart bool) []update {
	if strings.TrimSpace(text) == "" && apart {
		return nil
	}
	if apart && t.last == kind {
		text = "\n\n" + text
	}
	t.last = kind
	return []update{chunk(kind, text)}
}

// agent gives the updates for what the agent did.
func (t *teller) agent(e event.Event) []update {
	switch e.Kind {
	case event.KindText:
		switch {
		case e.Aside || e.IsError:
			return t.chunk(thought, e.Text, true)
		case !t.protocol:
			return t.chunk(words, e.Text, true)
		}
	case event.KindThinking:
		if !t.protocol {
			return t.chunk(thought, e.Text, true)
		}
	case event.KindToolCall:
		return t.call(e)
	case event.KindToolResult, event.KindDenied:
		return t.result(e)
	case event.KindRetry:
		return t.chunk(thought, "the model did not answer, it is asked again: "+e.Text, true)
	case event.KindUsage:
		return t.usage(e.Usage)
	case event.KindStarted, event.KindQuestion, event.KindFinished, event.KindRaw: // said in other words, or by nobody
	}
	return nil
}

// usage tells what the run has used of the tokens that it may use.
func (t *teller) usage(u *event.Usage) []update {
	if u == nil {
		return nil
	}
	used := max(0, u.Tokens())
	size := max(used, t.limit)
	up := update{Kind: "usage_update", Used: &used, Size: &size}
	if u.Cost > 0 {
		up.Cost = &cost{u.Cost, "USD"}
	}
	return []update{up}
}

// own passes on what an agent that speaks the protocol says as it says it: words and its plan. The rest comes as events.
func (t *teller) own(line string) []update {
	var m struct {
		Params struct {
			Update struct {
				Kind    string          `json:"sessionUpdate"`
				Content json.RawMessage `json:"content"`
				Entries []entry         `json:"entries"`
			} `json:"update"`
		} `json:"params"`
	}
	if json.Unmarshal([]byte(line), &m) != nil {
		return nil
	}
	switch u := m.Params.Update; u.Kind {
	case words, thought:
		var b block
		if json.Unmarshal(u.Content, &b) == nil && b.Text != "" {
			return t.chunk(u.Kind, b.Text, false)
		}
	case "plan":
		return plan(u.Entries)
	}
	return nil
}

// maxPlan bounds an agent's plan.
const maxPlan = 100

func plan(list []entry) []update {
	var kept []entry
	for _, e := range list[:min(len(list), maxPlan)] {
		if e.Content = safetext.Line(safetext.Cut(e.Content, 4*maxTitle)); e.Content == "" {
			continue
		}
		if e.Status != "in_progress" && e.Status != "completed" {
			e.Status = "pending"
		}
		e.Priority = "medium"
		kept = append(kept, e)
	}
	if len(kept) == 0 {
		return nil
	}
	return []update{{Kind: "plan", Entries: kept}}
}

// input is what agents give their tools, by the names that they have for it.
type input map[string]json.RawMessage

// text is the first of several fields that is a text.
func (in input) text(names ...string) (value string, ok bool) {
	for _, name := range names {
		if json.Unmarshal(in[name], &value) == nil && in[name] != nil {
			return value, true
		}
	}
	return "", false
}

func (in input) command() string {
	one, ok := in.text("command", "cmd")
	var argv []string
	if !ok && json.Unmarshal(in["command"], &argv) == nil {
		one = strings.Join(argv, " ")
	}
	return one
}

// plan is a list of things to do, which agents write down with a tool.
func (in input) plan() (list []entry) {
	var items []struct {
		entry
		Step string `json:"step"`
		Text string `json:"description"`
	}
	for _, name := range []string{"todos", "plan"} {
		if json.Unmarshal(in[name], &items) == nil {
			break
		}
	}
	for _, i := range items {
		i.Content = cmp.Or(i.Content, i.Step, i.Text)
		list = append(list, i.entry)
	}
	return list
}

// call tells that a tool is used: what for is read from what it is given.
func (t *teller) call(e event.Event) []update {
	var in input
	_ = json.Unmarshal(e.Input, &in) // then only its name is known
	if list := plan(in.plan()); list != nil {
		return list
	}
	u := update{Kind: "tool_call", ID: safetext.Line(e.ID), Tool: "other", Status: "in_progress"}
	path, named := in.text("file_path", "filePath", "path", "absolute_path", "target_file")
	about, _ := in.text("description", "pattern", "query", "url")
	var parts []part
	switch command := in.command(); {
	case command != "":
		u.Tool, about = "execute", command
	case named:
		about = path
		here := t.here(path)
		if here != "" {
			u.Locations = []location{{here}}
		}
		if p := changed(in, here); p != nil {
			u.Tool, parts = "edit", []part{*p}
		}
	}
	u.Title = title(e.Tool, about)
	if len(parts) > 0 {
		u.Content = parts
	}
	t.last = u.Kind
	if len(t.calls) < maxCalls {
		t.calls[u.ID] = len(parts) > 0
	}
	return []update{u}
}

// title is what a call is called: its tool, and what it is about.
func title(tool, about string) string {
	first, _, more := strings.Cut(strings.TrimSpace(about), "\n")
	if more {
		first += " …"
	}
	words := strings.Trim(safetext.Cut(tool, maxTitle)+": "+first, ": ")
	return cmp.Or(safetext.Fit(safetext.Line(words), maxTitle), "tool")
}

// changed is what a call changes in a file.
func changed(in input, here string) *part {
	was, had := in.text("old_string", "oldString", "old_str")
	is, ok := in.text("new_string", "newString", "new_str", "content", "file_text")
	if !ok || here == "" {
		return nil
	}
	is = safetext.Text(is)
	p := &part{Type: "diff", Path: here, New: &is}
	if had {
		was = safetext.Text(was)
		p.Old = &was
	}
	return p
}

// here is where a file of the agent's workspace is for the user, "" for any other.
func (t *teller) here(path string) string {
	if safetext.Line(path) != path {
		return ""
	}
	for _, dir := range t.inside {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsAbs(path) && filepath.IsLocal(rel) {
			return filepath.Join(t.top, rel)
		}
	}
	if filepath.IsLocal(path) {
		return filepath.Join(t.top, path)
	}
	return ""
}

// result tells how a call ended.
func (t *teller) result(e event.Event) []update {
	id := safetext.Line(e.ID)
	shows, known := t.calls[id]
	if !known { // a list of things to do, or one too many
		if e.Kind == event.KindDenied {
			return t.chunk(thought, e.Text, true)
		}
		return nil
	}
	delete(t.calls, id)
	u := update{Kind: "tool_call_update", ID: id, Status: "completed"}
	if e.IsError || e.Kind == event.KindDenied {
		u.Status = "failed"
	}
	if e.Text != "" && (!shows || u.Status == "failed") {
		u.Content = []part{{Type: "content", Content: &block{"text", safetext.Text(e.Text)}}}
	}
	t.last = u.Kind
	return []update{u}
}

// broken gives the updates that end what was under way, when its agent is gone.
func (t *teller) broken() (list []update) {
	for _, id := range slices.Sorted(maps.Keys(t.calls)) {
		list = append(list, update{Kind: "tool_call_update", ID: id, Status: "failed"})
	}
	clear(t.calls)
	return list
}
