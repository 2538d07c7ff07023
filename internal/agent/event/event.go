// Package event is what an agent does while it works, in one form for all of them. It reads streams that a hostile
// program may have written: nothing in them is trusted, everything is bounded, and unknown data does not end the
// reading.
package event

import (
	"encoding/json"
	"time"

	"github.com/cco-dev/cco/internal/unit"
)

// Kind says what happened.
type Kind string

// The kinds of events, each with its fields.
const (
	KindStarted    Kind = "started"     // Session, Model
	KindPrompt     Kind = "prompt"      // Text: what a person said, in a CLI's own record
	KindText       Kind = "text"        // Text: what the agent says, or a line that isn't part of its protocol
	KindThinking   Kind = "thinking"    // Text
	KindToolCall   Kind = "tool_call"   // ID, Tool, Input
	KindToolResult Kind = "tool_result" // ID, Text; IsError if the tool says that it went wrong
	KindDenied     Kind = "denied"      // ID, Tool and Text: the guard refused a call
	KindRetry      Kind = "retry"       // Text, Retry: the model didn't answer, and the agent asks it again
	KindQuestion   Kind = "question"    // ID, Text: the agent wants to know something from the user
	KindUsage      Kind = "usage"       // Usage: of this run, so far
	KindFinished   Kind = "finished"    // Finished
	KindRaw        Kind = "raw"         // Raw: something that this version of cco doesn't know
)

// Event is one thing that an agent did.
type Event struct {
	Kind     Kind            `json:"kind"`
	Text     string          `json:"text,omitempty"`
	Aside    bool            `json:"aside,omitempty"` // Text is about the work, not part of an answer
	Tool     string          `json:"tool,omitempty"`
	Input    json.RawMessage `json:"input,omitempty"`  // a tool's input, as the model gave it
	ID       string          `json:"id,omitempty"`     // the tool call's own
	Parent   string          `json:"parent,omitempty"` // the tool call in which a subagent did this
	IsError  bool            `json:"is_error,omitempty"`
	Session  string          `json:"session,omitempty"` // the CLI's own session id, by which it can be resumed
	Model    string          `json:"model,omitempty"`
	Retry    *Retry          `json:"retry,omitempty"`
	Usage    *Usage          `json:"usage,omitempty"`
	Finished *Finished       `json:"finished,omitempty"`
	Raw      string          `json:"raw,omitempty"`
	Cut      bool            `json:"cut,omitempty"` // a part of Text, Input or Raw was too long to keep
}

// Retry is an attempt of the agent's own to get an answer from its model.
type Retry struct {
	Attempt int          `json:"attempt,omitempty"`
	Max     int          `json:"max,omitempty"`
	Bound   bool         `json:"bound,omitempty"` // it may give up before Max, which is the most there can be
	Delay   unit.Seconds `json:"delay_seconds,omitempty"`
	Status  int          `json:"status,omitempty"` // the HTTP status, 0 if there was no answer at all
}

// Usage is what a run cost. Where an agent doesn't report money, Cost is zero and limits are on tokens.
type Usage struct {
	Input      int64   `json:"input,omitempty"` // without what came from the cache
	Output     int64   `json:"output,omitempty"`
	CacheRead  int64   `json:"cache_read,omitempty"`
	CacheWrite int64   `json:"cache_write,omitempty"`
	Cost       float64 `json:"cost,omitempty"` // US dollars, as the agent calculates them
	Turns      int     `json:"turns,omitempty"`
}

// Tokens is everything that a limit counts.
func (u Usage) Tokens() int64 { return u.Input + u.Output + u.CacheRead + u.CacheWrite }

// Add sums two runs.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite,
		u.Cost + v.Cost, u.Turns + v.Turns}
}

// since is what was used after an earlier total. An agent that restarts its count gives less than that: then its own
// figure is the better one.
func (u Usage) since(before Usage) Usage {
	if u.Input < before.Input || u.Output < before.Output || u.CacheRead < before.CacheRead ||
		u.CacheWrite < before.CacheWrite {
		return u
	}
	d := Usage{u.Input - before.Input, u.Output - before.Output, u.CacheRead - before.CacheRead,
		u.CacheWrite - before.CacheWrite,
		u.Cost - before.Cost, u.Turns}
	if d.Cost < 0 {
		d.Cost = u.Cost
	}
	return d
}

// Outcome is how a run ended.
type Outcome string

// The outcomes. The zero value is none of them, so that it can't be taken for success.
const (
	OK     Outcome = "ok"
	Failed Outcome = "failed"
	Limit  Outcome = "limit"  // of turns or money, the agent's own or the one that cco's door enforces
	Killed Outcome = "killed" // it ended without a result
)

// Finished is the end of a run.
type Finished struct {
	Outcome Outcome `json:"outcome"`
	Session string  `json:"session,omitempty"`
	Text    string  `json:"text,omitempty"` // the agent's last words
	Error   string  `json:"error,omitempty"`
	// Transient says that the same may work later, by resuming Session; ResetAt, if known, says when.
	Transient bool      `json:"transient,omitempty"`
	ResetAt   time.Time `json:"reset_at,omitzero"`
	Usage     Usage     `json:"usage,omitzero"` // of this run alone
	// Total is the CLI's own count at the end, which some carry over to the next run of the same session. It is what the
	// next run's decoder has to be given.
	Total Usage `json:"total,omitzero"`
	// Silent says that the agent reported no error: Error holds only the exit status of its program.
	Silent bool `json:"-"`
	// Asked says that the run ended with a question to the user that nobody has answered.
	Asked bool `json:"asked,omitempty"`
}

// Decoder reads the output of one run. It is not for use by several goroutines.
type Decoder interface {
	// Line reads one line, without its end, and keeps no reference to it. Most lines give one event, some none.
	Line(line []byte) []Event
	// ErrLine reads a line of its standard error, where some agents report things that their stream lacks.
	ErrLine(line []byte) []Event
	// End gets the exit status (128 + signal for a signal) after the last line and gives the one KindFinished of the run.
	End(exit int) Event
}

// Start is what a decoder must know from before its run.
type Start struct {
	Before Usage // Finished.Total of the last run of this CLI session, zero for a new one
	Now    func() time.Time
	Turn   *Turn // for an agent that is spoken with
}
