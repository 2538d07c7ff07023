package api

import (
	"context"
	"net/http"

	"github.com/cco-dev/cco/internal/view/entry"
)

// Routes is everything that can be asked for, in the order of its document.
func Routes() []Route {
	id := "/sessions/{id}"
	return []Route{
		{Method: "GET", Path: "/openapi.json", Says: "This document.", Out: object{}, do: (*Desk).document},
		{Method: "GET", Path: "/me", Says: "Who is asking.", Out: Me{}, do: get((*Desk).me)},
		{Method: "GET", Path: "/state", Says: "What needs a person, what runs and what has ended.", Out: State{},
			do: get(func(d *Desk, ctx context.Context, _ *http.Request) (State, error) { return d.state(ctx) })},
		{Method: "GET", Path: "/events", Says: "The state, whole, whenever it has changed. The id of an event names the " +
			"state: a reader who comes back with `Last-Event-ID` gets nothing until there is another.",
			Events: []Event{{"state", State{}}}, do: (*Desk).streamState},
		{Method: "GET", Path: "/bench", Says: "What a run can be started with.", Out: Bench{}, do: get((*Desk).bench)},
		{Method: "POST", Path: "/runs", Says: "Start a run, detached and with a budget: `cco box push --detach`, with " +
			"several agents as `cco run --agents`.", In: Start{}, Out: Done{}, do: own("start a run", (*Desk).start)},
		{Method: "GET", Path: "/sessions", Says: "All sessions, the newest first.", Out: []Session{},
			Query: []Param{{"box", "only those of one box"}}, do: get((*Desk).sessionList)},
		{Method: "GET", Path: id, Says: "One session.", Out: SessionDetail{}, do: get((*Desk).session)},
		{Method: "GET", Path: id + "/transcript", Says: "A part of a transcript: its end, or from a line on. Lines that " +
			"others explain are left out.", Out: Passage{}, Query: []Param{{"first", "the number of the line to begin with"},
			{"limit", "how many lines, 200 by default and 1000 at most"}}, do: get((*Desk).passage)},
		{Method: "GET", Path: id + "/events", Says: "A transcript as it grows. The id of an event is the offset behind it " +
			"in the transcript, which lasts: with `Last-Event-ID` a reader goes on without a gap and without hearing " +
			"anything twice, also after the server was started again.", Events: []Event{{"item", Item{}}},
			Query: []Param{{"from", "the offset to begin with, where there is no Last-Event-ID"}}, do: (*Desk).follow},
		{Method: "GET", Path: id + "/search", Says: "Where something is said in a transcript, from its beginning on, as it " +
			"is found, 200 at most. The event `done` is the last, and its number is how many there were.",
			Events: []Event{{"hit", Hit{}}, {"done", Hit{}}},
			Query:  []Param{{"q", "what is looked for, in any case of letters"}}, do: (*Desk).search},
		{Method: "GET", Path: id + "/changes", Says: "What a session changed: in quarantine, before it is pulled.",
			Out: Changes{}, Query: []Param{{"commit", "only what this commit changed"}, {"file", "only this file, more of it"}},
			do: get((*Desk).changes)},
		{Method: "GET", Path: id + "/patch", Says: "The same as a text, whole, however long it is.", Text: true,
			Query: []Param{{"commit", "only what this commit changed"}, {"file", "only this file"}}, do: (*Desk).patch},
		{Method: "GET", Path: id + "/terminal", Says: "The terminal of a session, as a WebSocket. Binary messages are what " +
			"is drawn on it; nothing else of an agent's passes. Text messages of both sides are JSON. A page reads until " +
			"it takes the keyboard. One page or `cco box attach` has it at a time; the other is told.",
			In: Keys{}, Out: Screen{}, Socket: true, do: (*Desk).terminal},
		{Method: "POST", Path: "/tickets", Says: "Make a ticket, with which a browser opens one WebSocket: it offers the " +
			"protocols `cco` and `ticket.` with the ticket behind it. Browsers don't say which site a WebSocket is of, " +
			"so its page asks for this first. A program with the token needs none.", In: Nothing{}, Out: Ticket{},
			do: (*Desk).ticket},
		{Method: "POST", Path: id + "/answer", Says: "Answer a question: `cco answer`.", In: Words{}, Out: Done{},
			do: post("answer", answer)},
		{Method: "POST", Path: id + "/continue", Says: "Let an agent go on: `cco box push --continue`.", In: GoOn{},
			Out: Done{}, do: post("continue", goOn)},
		{Method: "POST", Path: id + "/say", Says: "Type words into the terminal of an agent: `cco box say`.", In: Words{},
			Out: Done{}, do: post("say", sayWords)},
		{Method: "POST", Path: id + "/later", Says: "Hide what a session or a phase needs until something about it " +
			"changes: `cco attention --later`.", In: Seen{}, Out: Done{}, do: post("later", later)},
		{Method: "POST", Path: id + "/discard", Says: "Throw away what an agent made: its workspace moves to the " +
			"graveyard. `cco box prune --force`.", In: Seen{}, Out: Done{}, do: post("throw away", discard)},
		{Method: "GET", Path: id + "/network", Says: "What left a session, and what was refused.", Out: Network{},
			do: get((*Desk).network)},
		{Method: "POST", Path: id + "/marks", Says: "Mark a file of the changes as seen.", In: Mark{}, Out: Done{},
			do: own("mark", (*Desk).markSeen)},
		{Method: "POST", Path: id + "/remarks", Says: "Write a comment on a line of the changes. It is kept, and says " +
			"nothing to an agent yet. Its id is what the answer says.", In: Remark{}, Out: Done{},
			do: own("comment", (*Desk).remark)},
		{Method: "POST", Path: id + "/unsay", Says: "Remove a comment.", In: Unsay{}, Out: Done{},
			do: own("remove a comment", (*Desk).unsay)},
		{Method: "POST", Path: id + "/send", Says: "Let an agent go on with comments: `cco box push --continue -m`; one of " +
			"a phase, `cco cruise fix --comment`.", In: Send{}, Out: Done{}, do: own("send comments", (*Desk).sendRemarks)},
		{Method: "POST", Path: id + "/kill", Says: "End an agent and keep its work: `cco box kill`.", In: Nothing{},
			Out: Done{}, do: post("kill", kill)},
		{Method: "POST", Path: id + "/pull", Says: "Bring the work back: `cco box pull`. What the gate holds up is refused " +
			"with 409, and `held` names the kinds.", In: Pull{}, Out: Done{}, do: post("pull", pull)},
		{Method: "GET", Path: "/phases", Says: "All phases, the living first.", Out: []Phase{}, do: get((*Desk).phaseList)},
		{Method: "GET", Path: "/phases/{id}", Says: "One phase.", Out: PhaseDetail{}, do: get((*Desk).phase)},
		{Method: "POST", Path: "/phases/{id}/pause", Says: "Pause a phase: `cco cruise pause`.", In: Nothing{}, Out: Done{},
			do: post("pause", pause)},
		{Method: "POST", Path: "/phases/{id}/resume", Says: "Let a phase go on: `cco cruise resume`.", In: Resume{},
			Out: Done{}, do: post("resume", resumePhase)},
		{Method: "POST", Path: "/phases/{id}/fix",
			Says: "Say something to the fixer, or look for comments now: `cco cruise " +
				"fix`.", In: Fix{}, Out: Done{}, do: post("fix", fix)},
		{Method: "POST", Path: "/phases/{id}/accept", Says: "Take a stranger's comment: `cco cruise fix --accept`.",
			In: Accept{}, Out: Done{}, do: post("accept", accept)},
		{Method: "POST", Path: "/phases/{id}/cleanup", Says: "End a phase and remove its workspace: `cco cruise cleanup`. " +
			"The answer does not wait for it.", In: Cleanup{}, Out: Done{}, do: post("cleanup", cleanup)},
		{Method: "POST", Path: "/phases/watch", Says: "Start an engine if none runs: phases go on, but for those that were " +
			"paused or ask.", In: Nothing{}, Out: Done{}, do: post("start an engine", watchPhases)},
		{Method: "GET", Path: "/boxes", Says: "All boxes.", Out: []Box{}, do: get((*Desk).boxes)},
		{Method: "GET", Path: "/boxes/{name}", Says: "What keeps a box shut, and what was tried.", Out: Safety{},
			do: get((*Desk).safety)},
		{Method: "POST", Path: "/boxes/{name}/allow", Says: "Let a box reach a host: `cco box net allow`.", In: Allow{},
			Out: Done{}, do: post("allow", allow)},
		{Method: "POST", Path: "/boxes/{name}/verify", Says: "Try to break out of a box: `cco box verify`.", In: Nothing{},
			Out: Done{}, do: post("verify", verifyBox)},
		{Method: "POST", Path: "/boxes/{name}/start", Says: "Start a box: `cco box start`.", In: Nothing{}, Out: Done{},
			do: post("start", startBox)},
		{Method: "POST", Path: "/boxes/{name}/stop", Says: "Kill the sessions of a box, keep their work, and stop it: `cco " +
			"box kill` and `cco box stop`.", In: Nothing{}, Out: Done{}, do: post("stop", stopBox)},
		{Method: "POST", Path: "/stop", Says: "Stop everything: pause all phases, kill all sessions, keep their work, and " +
			"stop all boxes.", In: Nothing{}, Out: Done{}, do: post("stop everything", stopAll)},
		{Method: "GET", Path: "/money", Says: "What was spent.", Out: Money{}, do: get((*Desk).money)},
		{Method: "POST", Path: "/limits", Says: "Set a limit in your settings: `cco config set`. No other setting can be " +
			"written here: some name programs.", In: Limit{}, Out: Done{}, do: post("limit", setLimit)},
		{Method: "GET", Path: "/log", Says: "What was done on the page, the last first.", Out: []Deed{},
			do: get((*Desk).deeds)},
	}
}

func (d *Desk) me(ctx context.Context, _ *http.Request) (Me, error) {
	return Me{Version: d.Version, Browser: entry.From(ctx).Browser, Now: d.Now().UTC()}, nil
}

func (d *Desk) ticket(w http.ResponseWriter, r *http.Request) {
	reply(w, http.StatusOK, Ticket{d.Ticket(entry.From(r.Context()).Browser)})
}
