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
		ask("/me", "Who is asking.", (*Desk).me),
		ask("/state", "What needs a person, what runs and what has ended.", (*Desk).state),
		{Method: "GET", Path: "/events", Says: "The state, whole, whenever it has changed. The id of an event names the " +
			"state: a reader who comes back with `Last-Event-ID` gets nothing until there is another.",
			Events: []Event{{"state", State{}}}, do: (*Desk).streamState},
		ask("/bench", "What a run can be started with.", (*Desk).bench),
		act("/runs", "start a run", "Start a run, detached and with a budget: `cco box push --detach`, with several "+
			"agents as `cco run --agents`.", start),
		ask("/sessions", "All sessions, the newest first.", (*Desk).sessionList, Param{"box", "only those of one box"}),
		ask(id, "One session.", (*Desk).session),
		ask(id+"/transcript", "A part of a transcript: its end, or from a line on. Lines that others explain are left out.",
			(*Desk).passage, Param{"first", "the number of the line to begin with"},
			Param{"limit", "how many lines, 200 by default and 1000 at most"}),
		{Method: "GET", Path: id + "/events", Says: "A transcript as it grows. The id of an event is the offset behind it " +
			"in the transcript, which lasts: with `Last-Event-ID` a reader goes on without a gap and without hearing " +
			"anything twice, also after the server was started again.", Events: []Event{{"item", Item{}}},
			Query: []Param{{"from", "the offset to begin with, where there is no Last-Event-ID"}}, do: (*Desk).follow},
		{Method: "GET", Path: id + "/search", Says: "Where something is said in a transcript, from its beginning on, as it " +
			"is found, 200 at most. The event `done` is the last, and its number is how many there were.",
			Events: []Event{{"hit", Hit{}}, {"done", Hit{}}},
			Query:  []Param{{"q", "what is looked for, in any case of letters"}}, do: (*Desk).search},
		ask(id+"/changes", "What a session changed: in quarantine, before it is pulled.", (*Desk).changes,
			Param{"commit", "only what this commit changed"}, Param{"file", "only this file, more of it"}),
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
		act(id+"/answer", "answer", "Answer a question: `cco answer`.", answer),
		act(id+"/continue", "continue", "Let an agent go on: `cco box push --continue`.", goOn),
		act(id+"/say", "say", "Type words into the terminal of an agent: `cco box say`.", sayWords),
		act(id+"/later", "later", "Hide what a session or a phase needs until something about it changes: `cco "+
			"attention --later`.", later),
		act(id+"/discard", "throw away", "Throw away what an agent made: its workspace moves to the graveyard. `cco "+
			"box prune --force`.", discard),
		ask(id+"/network", "What left a session, and what was refused.", (*Desk).network),
		act(id+"/marks", "mark", "Mark a file of the changes as seen.", markSeen),
		act(id+"/remarks", "comment", "Write a comment on a line of the changes. It is kept, and says nothing to an "+
			"agent yet. Its id is what the answer says.", remark),
		act(id+"/unsay", "remove a comment", "Remove a comment.", unsay),
		act(id+"/send", "send comments", "Let an agent go on with comments: `cco box push --continue -m`; one of a "+
			"phase, `cco cruise fix --comment`.", sendRemarks),
		act(id+"/kill", "kill", "End an agent and keep its work: `cco box kill`.", kill),
		act(id+"/pull", "pull", "Bring the work back: `cco box pull`. What the gate holds up is refused with 409, "+
			"and `held` names the kinds.", pull),
		ask("/phases", "All phases, the living first.", (*Desk).phaseList),
		ask("/phases/{id}", "One phase.", (*Desk).phase),
		act("/phases/{id}/pause", "pause", "Pause a phase: `cco cruise pause`.", pause),
		act("/phases/{id}/resume", "resume", "Let a phase go on: `cco cruise resume`.", resumePhase),
		act("/phases/{id}/fix", "fix", "Say something to the fixer, or look for comments now: `cco cruise fix`.", fix),
		act("/phases/{id}/accept", "accept", "Take a stranger's comment: `cco cruise fix --accept`.", accept),
		act("/phases/{id}/cleanup", "cleanup", "End a phase and remove its workspace: `cco cruise cleanup`. The answer "+
			"does not wait for it.", cleanup),
		act("/phases/watch", "start an engine", "Start an engine if none runs: phases go on, but for those that were "+
			"paused or ask.", watchPhases),
		ask("/boxes", "All boxes.", (*Desk).boxes),
		ask("/boxes/{name}", "What keeps a box shut, and what was tried.", (*Desk).safety),
		act("/boxes/{name}/allow", "allow", "Let a box reach a host: `cco box net allow`.", allow),
		act("/boxes/{name}/verify", "verify", "Try to break out of a box: `cco box verify`.", verifyBox),
		act("/boxes/{name}/start", "start", "Start a box: `cco box start`.", startBox),
		act("/boxes/{name}/stop", "stop", "Kill the sessions of a box, keep their work, and stop it: `cco box kill` "+
			"and `cco box stop`.", stopBox),
		act("/stop", "stop everything", "Stop everything: pause all phases, kill all sessions, keep their work, and "+
			"stop all boxes.", stopAll),
		ask("/money", "What was spent.", (*Desk).money),
		act("/limits", "limit", "Set a limit in your settings: `cco config set`. No other setting can be written here: "+
			"some name programs.", setLimit),
		ask("/log", "What was done on the page, the last first.", (*Desk).deeds),
	}
}

func (d *Desk) me(ctx context.Context, _ *http.Request) (Me, error) {
	return Me{Version: d.Version, Browser: entry.From(ctx).Browser, Now: d.Now().UTC()}, nil
}

func (d *Desk) ticket(w http.ResponseWriter, r *http.Request) {
	reply(w, http.StatusOK, Ticket{d.Ticket(entry.From(r.Context()).Browser)})
}
