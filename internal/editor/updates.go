package editor

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// words are what the agent, or cco in its place, says.
func words(text string) sdk.SessionUpdate { return sdk.UpdateAgentMessageText(safetext.Text(text)) }

// Calls that are told of are remembered, and entries of a plan told, so many; longer titles are cut.
const (
	maxCalls = 4096
	maxPlan  = 100
	maxTitle = 160
)

// teller makes updates of what a session's agent does. It is hostile: every text is cleaned and nothing else is passed
// on.
type teller struct {
	top      string          // of the user's repository
	inside   []string        // where the agent has its workspace
	protocol bool            // it speaks the protocol itself, and its words come as it says them
	limit    int64           // of tokens
	last     event.Kind      // what was said last: words, thoughts or neither
	calls    map[string]bool // those under way, and whether they show a change
}

func (t *talk) teller(ctx context.Context, rec store.Session) *teller {
	limit := int64(0)
	if o, err := t.s.ReadOrder(rec.ID); err == nil {
		limit = o.Limits.RunTokens
	}
	return &teller{top: t.top, inside: []string{"/workspace/" + rec.ID, t.s.WorkspacePath(ctx, rec)},
		protocol: t.agent.Protocol, limit: limit, calls: map[string]bool{}}
}

// of gives the updates for an event of a session.
func (t *teller) of(e session.Event) []sdk.SessionUpdate {
	switch e.Kind {
	case session.KindEvent:
		if e.Agent != nil {
			return t.agent(*e.Agent)
		}
	case session.KindOut:
		if !e.Raw {
			return t.say(event.KindText, e.Text+"\n", false)
		}
		if t.protocol {
			return t.own(e.Text)
		}
	case session.KindStep, session.KindDoor:
		return t.say(event.KindThinking, e.Text, true)
	}
	return nil
}

// say says something, apart from what was said before if it is a message of its own.
func (t *teller) say(kind event.Kind, text string, apart bool) []sdk.SessionUpdate {
	if text == "" || apart && strings.TrimSpace(text) == "" {
		return nil
	}
	if apart && t.last == kind {
		text = "\n\n" + text
	}
	t.last = kind
	if kind == event.KindText {
		return []sdk.SessionUpdate{words(text)}
	}
	return []sdk.SessionUpdate{sdk.UpdateAgentThoughtText(safetext.Text(text))}
}

// agent gives the updates for what the agent did.
func (t *teller) agent(e event.Event) []sdk.SessionUpdate {
	switch {
	case e.Kind == event.KindText && (e.Aside || e.IsError):
		return t.say(event.KindThinking, e.Text, true)
	case e.Kind == event.KindText || e.Kind == event.KindThinking:
		if !t.protocol { // which says them as they come
			return t.say(e.Kind, e.Text, true)
		}
	case e.Kind == event.KindToolCall:
		return t.call(e)
	case e.Kind == event.KindToolResult || e.Kind == event.KindDenied:
		return t.result(e)
	case e.Kind == event.KindRetry:
		return t.say(event.KindThinking, "the model did not answer, it is asked again: "+e.Text, true)
	case e.Kind == event.KindUsage && e.Usage != nil:
		// What the run has used of the tokens that it may use.
		used := max(0, e.Usage.Tokens())
		u := sdk.SessionUsageUpdate{Used: int(used), Size: int(max(used, t.limit))}
		if e.Usage.Cost > 0 {
			u.Cost = &sdk.Cost{Amount: e.Usage.Cost, Currency: "USD"}
		}
		return []sdk.SessionUpdate{{UsageUpdate: &u}}
	}
	return nil // said in other words, or by nobody
}

// own passes on what an agent that speaks the protocol says as it says it: words, its plan, and what it has used of its
// model's context. The rest are events.
func (t *teller) own(line string) []sdk.SessionUpdate {
	var m struct{ Params sdk.SessionNotification }
	if json.Unmarshal([]byte(line), &m) != nil {
		return nil
	}
	switch u := m.Params.Update; {
	case u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.Text != nil:
		return t.say(event.KindText, u.AgentMessageChunk.Content.Text.Text, false)
	case u.AgentThoughtChunk != nil && u.AgentThoughtChunk.Content.Text != nil:
		return t.say(event.KindThinking, u.AgentThoughtChunk.Content.Text.Text, false)
	case u.Plan != nil:
		return plan(u.Plan.Entries)
	case u.UsageUpdate != nil:
		return []sdk.SessionUpdate{{UsageUpdate: &sdk.SessionUsageUpdate{Used: max(0, u.UsageUpdate.Used),
			Size: max(0, u.UsageUpdate.Size)}}}
	}
	return nil
}

func plan(list []sdk.PlanEntry) []sdk.SessionUpdate {
	var kept []sdk.PlanEntry
	for _, e := range list[:min(len(list), maxPlan)] {
		e = sdk.PlanEntry{Content: safetext.Line(safetext.Cut(e.Content, 4*maxTitle)), Status: e.Status,
			Priority: sdk.PlanEntryPriorityMedium}
		if e.Status != sdk.PlanEntryStatusInProgress && e.Status != sdk.PlanEntryStatusCompleted {
			e.Status = sdk.PlanEntryStatusPending
		}
		if e.Content != "" {
			kept = append(kept, e)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return []sdk.SessionUpdate{sdk.UpdatePlan(kept...)}
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
func (in input) plan() (list []sdk.PlanEntry) {
	var items []struct {
		sdk.PlanEntry
		Step string `json:"step"`
		Text string `json:"description"`
	}
	if json.Unmarshal(in["todos"], &items) != nil {
		_ = json.Unmarshal(in["plan"], &items) // then it is none
	}
	for _, i := range items {
		i.Content = cmp.Or(i.Content, i.Step, i.Text)
		list = append(list, i.PlanEntry)
	}
	return list
}

// call tells that a tool is used: what for is read from what it is given.
func (t *teller) call(e event.Event) []sdk.SessionUpdate {
	var in input
	_ = json.Unmarshal(e.Input, &in) // then only its name is known
	if list := plan(in.plan()); list != nil {
		return list
	}
	u := sdk.SessionUpdateToolCall{ToolCallId: sdk.ToolCallId(safetext.Line(e.ID)), Kind: sdk.ToolKindOther,
		Status: sdk.ToolCallStatusInProgress}
	path, named := in.text("file_path", "filePath", "path", "absolute_path", "target_file")
	about, _ := in.text("description", "pattern", "query", "url")
	if command := in.command(); command != "" {
		u.Kind, about = sdk.ToolKindExecute, command
	} else if named {
		about = path
		if here := t.here(path); here != "" {
			u.Locations = []sdk.ToolCallLocation{{Path: here}}
			u.Content = in.change(here)
		}
	}
	if u.Content != nil {
		u.Kind = sdk.ToolKindEdit
	}
	u.Title = title(e.Tool, about)
	t.last = e.Kind
	if len(t.calls) < maxCalls {
		t.calls[string(u.ToolCallId)] = u.Content != nil
	}
	return []sdk.SessionUpdate{{ToolCall: &u}}
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

// change is what a call changes in a file.
func (in input) change(here string) []sdk.ToolCallContent {
	is, ok := in.text("new_string", "newString", "new_str", "content", "file_text")
	if !ok {
		return nil
	}
	var old []string
	if was, had := in.text("old_string", "oldString", "old_str"); had {
		old = []string{safetext.Text(was)}
	}
	return []sdk.ToolCallContent{sdk.ToolDiffContent(here, safetext.Text(is), old...)}
}

// here is where a file of the agent's workspace is for the user, "" for any other.
func (t *teller) here(path string) string {
	if safetext.Line(path) != path {
		return ""
	}
	for _, dir := range t.inside {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsAbs(path) && filepath.IsLocal(rel) {
			path = rel
		}
	}
	if !filepath.IsLocal(path) {
		return ""
	}
	return filepath.Join(t.top, path)
}

// result tells how a call ended.
func (t *teller) result(e event.Event) []sdk.SessionUpdate {
	id := safetext.Line(e.ID)
	shows, known := t.calls[id]
	if !known { // a list of things to do, or one too many
		if e.Kind == event.KindDenied {
			return t.say(event.KindThinking, e.Text, true)
		}
		return nil
	}
	delete(t.calls, id)
	status := sdk.ToolCallStatusCompleted
	if e.IsError || e.Kind == event.KindDenied {
		status = sdk.ToolCallStatusFailed
	}
	u := sdk.UpdateToolCall(sdk.ToolCallId(id), sdk.WithUpdateStatus(status))
	if e.Text != "" && (!shows || status == sdk.ToolCallStatusFailed) {
		u.ToolCallUpdate.Content = []sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(safetext.Text(e.Text)))}
	}
	t.last = e.Kind
	return []sdk.SessionUpdate{u}
}

// broken gives the updates that end what was under way, when its agent is gone.
func (t *teller) broken() (list []sdk.SessionUpdate) {
	for _, id := range slices.Sorted(maps.Keys(t.calls)) {
		list = append(list, sdk.UpdateToolCall(sdk.ToolCallId(id), sdk.WithUpdateStatus(sdk.ToolCallStatusFailed)))
	}
	clear(t.calls)
	return list
}
