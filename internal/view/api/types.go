package api

import (
	"time"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/audit"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/session/attention"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/view/patch"
)

// Me is who is asking, and what answers.
type Me struct {
	Version string    `json:"version" doc:"of cco"`
	Browser string    `json:"browser,omitempty" doc:"the name of this browser in the log; none for a program"`
	Now     time.Time `json:"now" doc:"the server's clock"`
}

// State is what a person glances at.
type State struct {
	Needs     []Need      `json:"needs" doc:"what waits for a person, the most urgent first"`
	Live      []Session   `json:"live" doc:"sessions at work, the newest first"`
	Recent    []Session   `json:"recent" doc:"the last 200 that have ended, and those that need somebody"`
	Phases    []Phase     `json:"phases" doc:"those that live, and the last 10 that have ended"`
	Unwatched int         `json:"unwatched" doc:"how many phases live while no engine runs"`
	Today     store.Spend `json:"today" doc:"what all sessions together have used today"`
	Day       float64     `json:"day,omitempty" doc:"the limit of a day's dollars; 0 is none"`
	Wrong     []string    `json:"wrong" doc:"what could not be read"`
}

// Need is something that gets no further without a person: a session, a phase, a stranger's comment or the engine. Of
// a comment, the id is its own, and the agent is its author.
type Need struct {
	attention.Need
	Of     string  `json:"of" doc:"session, phase or engine; the kind can be decide, accept and engine too"`
	Parent string  `json:"parent,omitempty" doc:"the phase that a comment is for"`
	Words  string  `json:"words" doc:"the question, or why it stands still"`
	Cause  string  `json:"cause,omitempty" doc:"the limit that is reached"`
	Held   []Group `json:"held,omitempty" doc:"what the gate holds up until you accept it, with the first findings"`
	Seen   string  `json:"seen,omitempty" doc:"names what it asks, or why it stands still: what answers it says this"`
	Work   string  `json:"work,omitempty" doc:"names the work as the gate has examined it, for a pull"`
	Asks   string  `json:"asks,omitempty" doc:"of a phase: push (may the work be pushed?) or side (which goes on?)"`
	Wrong  string  `json:"wrong,omitempty" doc:"why the work could not be examined"`
}

// Session is a session in a listing.
type Session struct {
	store.Session
	Last string `json:"last,omitempty" doc:"the last line that its agent said, while it is at work"`
	Size *Size  `json:"size,omitempty" doc:"of its work, where that was looked at"`
}

// Size says how much was changed.
type Size struct {
	Files   int `json:"files" doc:"how many"`
	Added   int `json:"added" doc:"lines"`
	Deleted int `json:"deleted" doc:"lines"`
}

// SessionDetail is all about one session.
type SessionDetail struct {
	Session
	Live     bool     `json:"live" doc:"it has a keeper"`
	Terminal bool     `json:"terminal" doc:"its agent has a terminal"`
	Question string   `json:"question,omitempty" doc:"what its agent asks"`
	Cause    string   `json:"cause,omitempty" doc:"the limit that it has reached"`
	Plan     string   `json:"plan" doc:"the plan that was sent to it, in Markdown"`
	Events   int64    `json:"events" doc:"lines of its transcript"`
	Phase    string   `json:"phase,omitempty" doc:"the phase that it works for"`
	Seen     string   `json:"seen" doc:"names its run and what it asks: an answer, or what lets it go on, says this"`
	Wrong    []string `json:"wrong" doc:"what of it could not be read"`

	Limits session.Limits `json:"limits" doc:"of its run; none is none"`
}

// Item is one thing in a transcript.
type Item struct {
	ID    int64        `json:"id" doc:"the offset behind it, which Last-Event-ID and from name"`
	At    time.Time    `json:"at" doc:"when"`
	Kind  string       `json:"kind" doc:"one of those above"`
	Text  string       `json:"text,omitempty" doc:"what to show; Markdown of what its agent says or asks"`
	Tool  string       `json:"tool,omitempty" doc:"of a call, a result or a denial"`
	Call  string       `json:"call,omitempty" doc:"the id that a call and its result share"`
	Input string       `json:"input,omitempty" doc:"of a call"`
	Wrong bool         `json:"wrong,omitempty" doc:"the tool says that it went wrong"`
	Cut   bool         `json:"cut,omitempty" doc:"there was more of it"`
	Spent *event.Usage `json:"spent,omitempty" doc:"by the turn that has ended"`
}

// Passage is a part of a transcript.
type Passage struct {
	Items []Item `json:"items" doc:"in order"`
	First int64  `json:"first" doc:"the number of the line that was begun with"`
	End   int64  `json:"end" doc:"the number of the line behind the last that is here"`
	Total int64  `json:"total" doc:"how many lines there are"`
	From  int64  `json:"from" doc:"the offset that was begun with"`
	Next  int64  `json:"next" doc:"the offset to go on with, also as a stream"`
}

// Hit is where something was found in a transcript.
type Hit struct {
	Number int64     `json:"number" doc:"the line's number: a passage can begin there"`
	At     time.Time `json:"at" doc:"when"`
	Kind   string    `json:"kind" doc:"of the item"`
	Text   string    `json:"text" doc:"the words around it"`
}

// Changes is what a session changed.
type Changes struct {
	Base      string           `json:"base" doc:"the commit that it began with"`
	Tip       string           `json:"tip" doc:"the last commit"`
	Wip       bool             `json:"wip" doc:"something was left uncommitted; it comes to refs/cco/ID-wip"`
	Pulled    bool             `json:"pulled" doc:"it was taken: all of it is at refs/cco/ID, it or a part on a branch"`
	Branch    string           `json:"branch" doc:"the session's"`
	Whole     bool             `json:"whole" doc:"the branch has all of it"`
	Seen      string           `json:"seen,omitempty" doc:"names what is shown, so that a pull takes nothing else"`
	Commits   []git.CommitLine `json:"commits" doc:"the oldest first"`
	Commit    string           `json:"commit,omitempty" doc:"the one that the files are of; none is all of them"`
	Files     []patch.File     `json:"files" doc:"what has changed"`
	Cut       bool             `json:"cut,omitempty" doc:"the change is too long to be shown here"`
	Added     int              `json:"added" doc:"lines, of all commits"`
	Deleted   int              `json:"deleted" doc:"lines, of all commits"`
	Examining bool             `json:"examining,omitempty" doc:"the gate still looks at it: ask again"`
	Groups    []Group          `json:"groups" doc:"what the gate found, the most dangerous first"`
	Notes     []string         `json:"notes" doc:"what the gate did not look at"`
	Marked    []string         `json:"marked" doc:"files that were marked as seen, and are as they were then"`
	Remarks   []Remark         `json:"remarks" doc:"comments that wait to be sent"`

	names  []git.FileStat // of all files
	policy gate.Policy
}

// Group is what the gate found of a kind.
type Group struct {
	Kind     string   `json:"kind" doc:"as in pull.refuse, pull.ask and pull.tell"`
	Danger   string   `json:"danger" doc:"high, medium or low"`
	Says     string   `json:"says" doc:"what the kind can do"`
	Response string   `json:"response" doc:"tell, ask or refuse: what your settings say"`
	Count    int      `json:"count" doc:"how many"`
	Findings []string `json:"findings" doc:"the first 100 at most, each with its lines"`
}

// Phase is a phase in a listing.
type Phase = store.Phase

// PhaseDetail is all about one phase.
type PhaseDetail struct {
	store.Phase
	Task      string             `json:"task" doc:"what was asked for"`
	Paused    bool               `json:"paused" doc:"by a person"`
	Question  string             `json:"question,omitempty" doc:"what it asks"`
	Asks      string             `json:"asks,omitempty" doc:"push (may the work be pushed?) or side (which goes on?)"`
	Seen      string             `json:"seen" doc:"names what it asks and where it stands: what lets it go on says this"`
	Trouble   string             `json:"trouble,omitempty" doc:"what it waits out"`
	Waits     string             `json:"waits,omitempty" doc:"what a merge waits for"`
	Against   []string           `json:"against" doc:"whose requests for changes that are"`
	End       string             `json:"end,omitempty" doc:"why it ended"`
	Round     int                `json:"round" doc:"of fixes"`
	MaxRounds int                `json:"max_rounds" doc:"the limit of rounds"`
	MaxCost   float64            `json:"max_cost" doc:"the limit of dollars; 0 is none"`
	Tokens    int64              `json:"tokens" doc:"used"`
	Session   string             `json:"session,omitempty" doc:"in which author and fixers work, if it is on this machine"`
	Worker    string             `json:"worker,omitempty" doc:"the machine that runs it, where phases are shared"`
	Bars      []Bar              `json:"bars" doc:"its timeline"`
	Log       []store.Line       `json:"log" doc:"what it did, the last 500 lines"`
	Findings  []Finding          `json:"findings" doc:"everything that was ever asked for"`
	Verdicts  []cruise.Judgement `json:"verdicts" doc:"of its reviewers"`
	Held      []Comment          `json:"held" doc:"comments of strangers that wait for you"`
	Gate      string             `json:"gate,omitempty" doc:"what a person must know of the change"`
	Wrong     []string           `json:"wrong" doc:"what of it could not be read"`
}

// Bar is a stretch of a phase's time.
type Bar struct {
	Kind  string    `json:"kind" doc:"one of those above"`
	Name  string    `json:"name" doc:"the stage, or what it waits for"`
	Round int       `json:"round" doc:"the round that it is part of"`
	From  time.Time `json:"from" doc:"its beginning"`
	To    time.Time `json:"to" doc:"its end; the present for the last one of a phase that lives"`
}

// Finding is something that a reviewer or a person asked for.
type Finding struct {
	cruise.Finding
	Who   string `json:"who" doc:"who said it: a person, a reviewer with its model and domain, a check"`
	Trust string `json:"trust" doc:"why it was taken as work: you, named, accepted, writer, reviewer, check or cco"`
	Words string `json:"words" doc:"what was said"`
}

// Comment is a stranger's.
type Comment struct {
	ID    string `json:"id" doc:"of the comment"`
	Who   string `json:"who" doc:"its author"`
	Words string `json:"words" doc:"what it says"`
	URL   string `json:"url,omitempty" doc:"where it stands"`
	Seen  string `json:"seen" doc:"names these words: to accept them says this"`
}

// Box is a box in a listing.
type Box struct {
	Name    string      `json:"name" doc:"of the box"`
	Backend string      `json:"backend" doc:"native, container, lima or worktree"`
	State   string      `json:"state" doc:"running, stopped, unfinished or unknown"`
	Detail  string      `json:"detail,omitempty" doc:"why it is so"`
	Created time.Time   `json:"created" doc:"when it was made"`
	Network string      `json:"network" doc:"none, allowlist or open"`
	Live    int         `json:"live" doc:"sessions at work in it"`
	Total   int         `json:"total" doc:"sessions of it that there are records of"`
	Spent   store.Spend `json:"spent" doc:"by its sessions, ever"`
}

// Safety is what keeps a box shut, and what was tried.
type Safety struct {
	Box     Box           `json:"box" doc:"the box"`
	Layers  []box.Layer   `json:"layers" doc:"what isolates it"`
	Verify  *app.Verified `json:"verify,omitempty" doc:"the last verify, if there was one"`
	Allowed []app.Permit  `json:"allowed" doc:"what may leave it"`
	Left    []Left        `json:"left" doc:"what left it, the last first"`
	Refused []Left        `json:"refused" doc:"what was refused, the last first"`
	Denials []audit.Entry `json:"denials" doc:"what the guard denied or noted in it, the last first"`
	Caution string        `json:"caution" doc:"what to know before a host is allowed"`
	Wrong   []string      `json:"wrong" doc:"what of it could not be read"`
}

// Left is what went to one host, or tried to.
type Left struct {
	Host    string    `json:"host" doc:"name and port"`
	Session string    `json:"session" doc:"which did it last"`
	Rule    string    `json:"rule,omitempty" doc:"that let it out"`
	Reason  string    `json:"reason,omitempty" doc:"why it was refused"`
	Allow   string    `json:"allow,omitempty" doc:"the rule that would let it out"`
	Count   int       `json:"count" doc:"how often"`
	Out     int64     `json:"out" doc:"bytes that left the box"`
	In      int64     `json:"in" doc:"bytes that came back"`
	Last    time.Time `json:"last" doc:"when it was last"`
}

// Network is what left one session, and what was refused.
type Network struct {
	Left    []Left `json:"left" doc:"what left it, the last first"`
	Refused []Left `json:"refused" doc:"what was refused, the last first"`
}

// Money is what was spent.
type Money struct {
	Today    store.Spend    `json:"today" doc:"by all sessions"`
	Limits   session.Limits `json:"limits" doc:"of your settings; none is none"`
	Days     []Sum          `json:"days" doc:"the last 60 days, today last: \"cco cost\""`
	By       []DaySum       `json:"by" doc:"the same days by agent; none where nothing was spent"`
	Agents   []Sum          `json:"agents" doc:"by agent, of those days, the dearest first"`
	Models   []Sum          `json:"models" doc:"by model, likewise"`
	Repos    []Sum          `json:"repos" doc:"by repository, likewise"`
	Sessions []Session      `json:"sessions" doc:"the 30 dearest"`
	Phases   []Phase        `json:"phases" doc:"the 30 dearest"`
	Wrong    []string       `json:"wrong" doc:"what could not be read"`
}

// Sum is what something cost.
type Sum struct {
	Name string `json:"name" doc:"what"`
	store.Spend
}

// DaySum is what an agent cost on a day.
type DaySum struct {
	Day   string `json:"day" doc:"which"`
	Agent string `json:"agent" doc:"which"`
	store.Spend
}

// Deed is something that was done on the page.
type Deed struct {
	At      time.Time `json:"at" doc:"when"`
	What    string    `json:"what" doc:"the action"`
	On      string    `json:"on" doc:"the session, phase or box"`
	Decided string    `json:"decided,omitempty" doc:"what was said with it, as JSON: host, value, commit, files, kinds"`
	Browser string    `json:"browser" doc:"which one, and what it calls itself"`
	Result  string    `json:"result" doc:"asked before it is done; then done and what came of it, or the error"`
}

// Done is the answer to an action.
type Done struct {
	Says []string `json:"says" doc:"what the command would have said"`
}

// Failure is the answer where something went wrong.
type Failure struct {
	Error string   `json:"error" doc:"what went wrong"`
	Held  []string `json:"held,omitempty" doc:"kinds of change that the gate holds up; accept takes them"`
}

// The bodies of actions.
type (
	// Nothing is the body of an action that needs none.
	Nothing struct{}
	// Words is something said to an agent.
	Words struct {
		Text string `json:"text" doc:"what to say"`
		Seen string `json:"seen" doc:"of the question that this answers, and no other"`
	}
	// GoOn lets a session go on.
	GoOn struct {
		Text      string  `json:"text,omitempty" doc:"what to do now; without it the plan goes on"`
		MaxCost   float64 `json:"max_cost,omitempty" doc:"dollars of this run, in place of your settings'"`
		MaxTokens int64   `json:"max_tokens,omitempty" doc:"tokens of this run, in place of your settings'"`
		Seen      string  `json:"seen" doc:"of the session as it was looked at"`
	}
	// Seen is the body of an action on something that was looked at.
	Seen struct {
		Seen string `json:"seen" doc:"of what it is done to, as it was looked at"`
	}
	// Pull brings a session's work back.
	Pull struct {
		Accept  []string `json:"accept,omitempty" doc:"kinds of change that you have seen and take"`
		Partial bool     `json:"partial,omitempty" doc:"also what a failed or killed agent did"`
		Seen    string   `json:"seen,omitempty" doc:"of the changes that you have looked at, and no others; accept needs it"`
		Only    []string `json:"only,omitempty" doc:"paths from the top of the repository: one commit of these alone"`
		Merge   bool     `json:"merge,omitempty" doc:"where the branch has moved on, with a commit that joins both"`
	}
	// Fix is for a phase.
	Fix struct {
		Comment string `json:"comment,omitempty" doc:"what to say to the fixer; without it the phase looks for comments now"`
		Seen    string `json:"seen,omitempty" doc:"of the phase as it was looked at; what answers a question needs it"`
	}
	// Accept takes a stranger's comment.
	Accept struct {
		Comment string `json:"comment" doc:"the id of the comment"`
		Seen    string `json:"seen" doc:"of the comment as it was read"`
	}
	// Resume lets a phase go on.
	Resume struct {
		MoreRounds int     `json:"more_rounds,omitempty" doc:"for one that ran out of them"`
		MoreCost   float64 `json:"more_cost,omitempty" doc:"dollars, for one that ran out of them"`
		Seen       string  `json:"seen" doc:"of the phase as it was looked at: this is the answer to what it asks there"`
		Take       string  `json:"take,omitempty" doc:"theirs or ours, for one that asks which side goes on"`
		Over       string  `json:"over,omitempty" doc:"merge although this one requested changes; it is said there"`
	}
	// Cleanup ends a phase.
	Cleanup struct {
		Force bool `json:"force,omitempty" doc:"also what is not merged; unsaved work goes to the graveyard"`
	}
	// Allow opens a box to a host.
	Allow struct {
		Host string `json:"host" doc:"a name or address, with a port if need be; not a set, and not a range"`
	}
	// Limit raises or lowers a limit of your settings.
	Limit struct {
		Name  string  `json:"name" doc:"limits.run_cost, limits.run_tokens, limits.day_cost or limits.day_tokens"`
		Value string  `json:"value" doc:"dollars, or tokens like 500k or 20M, or none"`
		Was   float64 `json:"was" doc:"what it was where you looked; 0 is none"`
	}
	// Ticket is what a browser opens a WebSocket with.
	Ticket struct {
		Ticket string `json:"ticket" doc:"lives a minute, and once, for this browser"`
	}
)
