package api

import (
	"time"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/view/patch"
	"github.com/cco-dev/cco/internal/view/words"
)

// Me is who is asking, and what answers.
type Me struct {
	Version string    `json:"version" doc:"of cco"`
	Browser string    `json:"browser,omitempty" doc:"the name of this browser in the log; none for a program"`
	Now     time.Time `json:"now" doc:"the server's clock"`
}

// State is what a person glances at.
type State struct {
	Needs     []Need    `json:"needs" doc:"what waits for a person, the most urgent first"`
	Live      []Session `json:"live" doc:"sessions at work, the newest first"`
	Recent    []Session `json:"recent" doc:"the last 20 that have ended"`
	Phases    []Phase   `json:"phases" doc:"those that live, and the last 10 that have ended"`
	Unwatched int       `json:"unwatched" doc:"how many phases live while no engine runs"`
	Today     Spend     `json:"today" doc:"what all sessions together have used today"`
	Wrong     []string  `json:"wrong" doc:"what could not be read"`
}

// Need is something that gets no further without a person.
type Need struct {
	ID     string       `json:"id" doc:"of the session or phase; the comment's for one to accept"`
	Of     string       `json:"of" doc:"session, phase or engine"`
	Parent string       `json:"parent,omitempty" doc:"the phase that a comment is for"`
	Kind   string       `json:"kind" doc:"answer, limit, mend, decide, look, pull, accept or engine"`
	Since  time.Time    `json:"since" doc:"since when"`
	Title  string       `json:"title" doc:"what it works on"`
	Who    string       `json:"who,omitempty" doc:"the agent, or the stranger"`
	Where  string       `json:"where,omitempty" doc:"the branch"`
	Words  []words.Node `json:"words" doc:"the question, or why it stands still"`
	Next   string       `json:"next" doc:"the command that gets it further"`
	Cause  string       `json:"cause,omitempty" doc:"the limit that is reached"`
	Held   []Group      `json:"held,omitempty" doc:"what the gate holds up until you accept it, with the first findings"`
	Seen   string       `json:"seen,omitempty" doc:"names what it asks, or why it stands still: what answers it says this"`
	Work   string       `json:"work,omitempty" doc:"names the work that the gate holds up, for a pull"`
	Asks   string       `json:"asks,omitempty" doc:"of a phase: push (may the work be pushed?) or side (which goes on?)"`
	Wrong  string       `json:"wrong,omitempty" doc:"why the work could not be examined"`
}

// Session is a session in a listing.
type Session struct {
	ID       string    `json:"id" doc:"8 hex digits"`
	Title    string    `json:"title" doc:"of its plan"`
	State    string    `json:"state" doc:"created, running, idle, waiting, paused, done, failed, killed or pulled"`
	Reason   string    `json:"reason,omitempty" doc:"why it is in that state"`
	Box      string    `json:"box" doc:"its box"`
	Agent    string    `json:"agent" doc:"its agent"`
	Model    string    `json:"model,omitempty" doc:"its model, if one was named"`
	Repo     string    `json:"repo" doc:"the repository that it came from"`
	Branch   string    `json:"branch" doc:"the branch that its work is for"`
	Created  time.Time `json:"created" doc:"when it was pushed"`
	Started  time.Time `json:"started,omitzero" doc:"when its agent was started"`
	Finished time.Time `json:"finished,omitzero" doc:"when that ended"`
	Spent    Spend     `json:"spent" doc:"what it has used"`
	Last     string    `json:"last,omitempty" doc:"the last line that its agent said, while it is at work"`
}

// Spend is what was used of models.
type Spend struct {
	Tokens   int64   `json:"tokens" doc:"of all kinds"`
	Cost     float64 `json:"cost" doc:"dollars, 0 if unknown"`
	Estimate bool    `json:"estimate,omitempty" doc:"the cost is one"`
}

// SessionDetail is all about one session.
type SessionDetail struct {
	Session
	Live     bool         `json:"live" doc:"it has a keeper"`
	Terminal bool         `json:"terminal" doc:"its agent has a terminal"`
	Question []words.Node `json:"question,omitempty" doc:"what its agent asks"`
	Cause    string       `json:"cause,omitempty" doc:"the limit that it has reached"`
	Plan     []words.Node `json:"plan" doc:"the plan that was sent to it"`
	Events   int64        `json:"events" doc:"lines of its transcript"`
	Tip      string       `json:"tip,omitempty" doc:"the commit that was pulled"`
	Seen     string       `json:"seen" doc:"names its run and what it asks: an answer, or what lets it go on, says this"`
	Wrong    []string     `json:"wrong" doc:"what of it could not be read"`

	Limits session.Limits `json:"limits" doc:"of its run; none is none"`
}

// Item is one thing in a transcript.
type Item struct {
	ID    int64        `json:"id" doc:"the offset behind it, which Last-Event-ID and from name"`
	At    time.Time    `json:"at" doc:"when"`
	Kind  string       `json:"kind" doc:"one of those above"`
	Text  string       `json:"text,omitempty" doc:"what to show, as text"`
	Words []words.Node `json:"words,omitempty" doc:"what to show instead of the text, with its parts, if it is Markdown"`
	Tool  string       `json:"tool,omitempty" doc:"of a call, a result or a denial"`
	Call  string       `json:"call,omitempty" doc:"the id that a call and its result share"`
	Input string       `json:"input,omitempty" doc:"of a call"`
	Wrong bool         `json:"wrong,omitempty" doc:"the tool says that it went wrong"`
	Cut   bool         `json:"cut,omitempty" doc:"there was more of it"`
	Spent *Spend       `json:"spent,omitempty" doc:"by the turn that has ended"`
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
	Base    string       `json:"base" doc:"the commit that it began with"`
	Tip     string       `json:"tip" doc:"the last commit"`
	Wip     bool         `json:"wip" doc:"something was left uncommitted; it comes to refs/cco/ID-wip"`
	Pulled  bool         `json:"pulled" doc:"it was taken: all of it is at refs/cco/ID, and it or a part on a branch"`
	Branch  string       `json:"branch" doc:"the session's"`
	Whole   bool         `json:"whole" doc:"the branch has all of it"`
	Seen    string       `json:"seen,omitempty" doc:"names what is shown, so that a pull takes nothing else"`
	Commits []Commit     `json:"commits" doc:"the oldest first"`
	Commit  string       `json:"commit,omitempty" doc:"the one that the files are of; none is all of them"`
	Files   []patch.File `json:"files" doc:"what has changed"`
	Cut     bool         `json:"cut,omitempty" doc:"the change is too long to be shown here"`
	Added   int          `json:"added" doc:"lines, of all commits"`
	Deleted int          `json:"deleted" doc:"lines, of all commits"`
	Groups  []Group      `json:"groups" doc:"what the gate found, the most dangerous first"`
	Notes   []string     `json:"notes" doc:"what the gate did not look at"`
}

// Commit is one commit that came.
type Commit struct {
	ID      string `json:"id" doc:"its hash"`
	Subject string `json:"subject" doc:"its first line"`
	Author  string `json:"author" doc:"who made it"`
}

// Group is what the gate found of a kind.
type Group struct {
	Kind     string   `json:"kind" doc:"as in pull.refuse, pull.ask and pull.tell"`
	Danger   string   `json:"danger" doc:"high, medium or low"`
	Says     string   `json:"says" doc:"what the kind can do"`
	Response string   `json:"response" doc:"tell, ask or refuse: what your settings say"`
	Count    int      `json:"count" doc:"how many"`
	Findings []string `json:"findings" doc:"each in a line, at most 100"`
}

// Phase is a phase in a listing.
type Phase struct {
	ID       string    `json:"id" doc:"of the phase"`
	Title    string    `json:"title" doc:"of the task"`
	Kind     string    `json:"kind" doc:"planning, building or validating"`
	Stage    string    `json:"stage" doc:"where it is"`
	Ended    bool      `json:"ended" doc:"it does nothing more"`
	Branch   string    `json:"branch" doc:"its branch"`
	Repo     string    `json:"repo" doc:"the repository"`
	PR       int       `json:"pr,omitempty" doc:"the pull request's number"`
	URL      string    `json:"url,omitempty" doc:"the pull request"`
	Created  time.Time `json:"created" doc:"when it began"`
	Updated  time.Time `json:"updated" doc:"when it was last written down"`
	Cost     float64   `json:"cost" doc:"dollars"`
	Estimate bool      `json:"estimate,omitempty" doc:"the cost is one"`
}

// PhaseDetail is all about one phase.
type PhaseDetail struct {
	Phase
	Task      string       `json:"task" doc:"what was asked for"`
	Paused    bool         `json:"paused" doc:"by a person"`
	Question  []words.Node `json:"question,omitempty" doc:"what it asks"`
	Asks      string       `json:"asks,omitempty" doc:"push (may the work be pushed?) or side (which of two goes on?)"`
	Seen      string       `json:"seen" doc:"names what it asks and where it stands: what lets it go on says this"`
	Trouble   string       `json:"trouble,omitempty" doc:"what it waits out"`
	Waits     string       `json:"waits,omitempty" doc:"what a merge waits for"`
	Against   []string     `json:"against" doc:"whose requests for changes that are"`
	End       string       `json:"end,omitempty" doc:"why it ended"`
	NextLook  time.Time    `json:"next_look,omitzero" doc:"when it looks at the pull request again"`
	Round     int          `json:"round" doc:"of fixes"`
	MaxRounds int          `json:"max_rounds" doc:"the limit of rounds"`
	MaxCost   float64      `json:"max_cost" doc:"the limit of dollars; 0 is none"`
	Tokens    int64        `json:"tokens" doc:"used"`
	Session   string       `json:"session,omitempty" doc:"in which its author and fixers work, if it is on this machine"`
	Worker    string       `json:"worker,omitempty" doc:"the machine that runs it, where phases are shared"`
	Sessions  []Told       `json:"sessions" doc:"of all machines, where phases are shared"`
	Bars      []Bar        `json:"bars" doc:"its timeline"`
	Log       []store.Line `json:"log" doc:"what it did, the last 500 lines"`
	Findings  []Finding    `json:"findings" doc:"everything that was ever asked for"`
	Verdicts  []Verdict    `json:"verdicts" doc:"of its reviewers"`
	Held      []Comment    `json:"held" doc:"comments of strangers that wait for you"`
	Gate      string       `json:"gate,omitempty" doc:"what a person must know of the change"`
	Wrong     []string     `json:"wrong" doc:"what of it could not be read"`
}

// Told is a session of a phase as the machine that it is on told of it.
type Told struct {
	ID     string  `json:"id" doc:"of the session, on its machine"`
	Worker string  `json:"worker" doc:"its machine"`
	Agent  string  `json:"agent" doc:"who works"`
	State  string  `json:"state" doc:"as it was last told"`
	Silent bool    `json:"silent,omitempty" doc:"its machine is not heard of, so that the state may be an old one"`
	Cost   float64 `json:"cost" doc:"dollars"`
	Tokens int64   `json:"tokens" doc:"used"`
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
	ID       string       `json:"id" doc:"lasts across rounds"`
	Who      string       `json:"who" doc:"who said it: a person, a reviewer with its model and domain, a check"`
	Trust    string       `json:"trust" doc:"why it was taken as work: one of those above"`
	Path     string       `json:"path,omitempty" doc:"the file"`
	Line     int          `json:"line,omitempty" doc:"the line"`
	Severity string       `json:"severity,omitempty" doc:"as its author says"`
	Words    []words.Node `json:"words" doc:"what was said"`
	State    string       `json:"state" doc:"open, fixed, declined, noted, answered or dropped"`
	Reason   string       `json:"reason,omitempty" doc:"why it was declined"`
	Commit   string       `json:"commit,omitempty" doc:"the commit that answers"`
	Round    int          `json:"round" doc:"in which it was last raised"`
	Reopened int          `json:"reopened,omitempty" doc:"how often it came back"`
	URL      string       `json:"url,omitempty" doc:"the comment"`
}

// Verdict is a reviewer's last word.
type Verdict struct {
	Domain  string `json:"domain" doc:"what was reviewed"`
	Verdict string `json:"verdict,omitempty" doc:"none for a review that failed"`
	Head    string `json:"head" doc:"the commit that was reviewed"`
	Failure string `json:"failure,omitempty" doc:"why it failed"`
}

// Comment is a stranger's.
type Comment struct {
	ID    string       `json:"id" doc:"of the comment"`
	Who   string       `json:"who" doc:"its author"`
	Words []words.Node `json:"words" doc:"what it says"`
	URL   string       `json:"url,omitempty" doc:"where it stands"`
	Seen  string       `json:"seen" doc:"names these words: to accept them says this"`
}

// Box is a box in a listing.
type Box struct {
	Name    string    `json:"name" doc:"of the box"`
	Backend string    `json:"backend" doc:"native, container, lima or worktree"`
	State   string    `json:"state" doc:"running, stopped, unfinished or unknown"`
	Detail  string    `json:"detail,omitempty" doc:"why it is so"`
	Created time.Time `json:"created" doc:"when it was made"`
	Network string    `json:"network" doc:"none, allowlist or open"`
	Live    int       `json:"live" doc:"sessions at work in it"`
	Total   int       `json:"total" doc:"sessions of it that there are records of"`
	Bytes   int64     `json:"bytes" doc:"what its directory holds on disk; -1 is not known yet"`
	Spent   Spend     `json:"spent" doc:"by its sessions, ever"`
}

// Safety is what keeps a box shut, and what was tried.
type Safety struct {
	Box     Box          `json:"box" doc:"the box"`
	Layers  []box.Layer  `json:"layers" doc:"what isolates it"`
	Verify  *Verify      `json:"verify,omitempty" doc:"the last verify, if there was one"`
	Allowed []app.Permit `json:"allowed" doc:"what may leave it"`
	Left    []Left       `json:"left" doc:"what left it, the last first"`
	Refused []Left       `json:"refused" doc:"what was refused, the last first"`
	Denials []Denial     `json:"denials" doc:"what the guard denied or noted in it, the last first"`
	Caution string       `json:"caution" doc:"what to know before a host is allowed"`
	Wrong   []string     `json:"wrong" doc:"what of it could not be read"`
}

// Verify is the outcome of an attack on a box.
type Verify struct {
	At     time.Time `json:"at" doc:"when"`
	Held   int       `json:"held" doc:"probes that got nowhere"`
	Total  int       `json:"total" doc:"of so many"`
	Broken []string  `json:"broken" doc:"promises that did not hold"`
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

// Denial is a call that the guard refused, or would have refused where the kernel does not hold the agent.
type Denial struct {
	At      time.Time `json:"at" doc:"when"`
	Session string    `json:"session" doc:"whose"`
	Agent   string    `json:"agent,omitempty" doc:"its agent"`
	Kind    string    `json:"kind" doc:"denial, noted where the kernel holds and nothing is denied, canary or accepted"`
	Rule    string    `json:"rule,omitempty" doc:"that it broke"`
	Tool    string    `json:"tool,omitempty" doc:"that was called"`
	Reason  string    `json:"reason" doc:"why"`
}

// Money is what was spent.
type Money struct {
	Today    Spend          `json:"today" doc:"by all sessions"`
	Limits   session.Limits `json:"limits" doc:"of your settings; none is none"`
	Days     []Sum          `json:"days" doc:"the last 60 days, today last: \"cco cost\""`
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
	Spend
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
	// Pull brings a session's work back.
	Pull struct {
		Accept  []string `json:"accept,omitempty" doc:"kinds of change that you have seen and take"`
		Partial bool     `json:"partial,omitempty" doc:"also what a failed or killed agent did"`
		Seen    string   `json:"seen,omitempty" doc:"of the changes that you have looked at, and no others; accept needs it"`
		Only    []string `json:"only,omitempty" doc:"paths from the top of the repository: one commit of these alone"`
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
