package broker

import (
	"time"

	"github.com/cco-dev/cco/internal/safetext"
)

// Decision is the outcome of a connection or request.
type Decision string

// The decisions in an Entry.
const (
	Allowed Decision = "allowed" // it was let through
	Refused Decision = "refused" // because of a rule, the lack of one, or the request itself
	Limited Decision = "limited" // a limit of the session was reached
	Failed  Decision = "failed"  // allowed, but it failed outside
	Lost    Decision = "lost"    // no request: the record lacks Count entries here
)

// KindModel is the kind of a request to a model.
const KindModel = "model"

// Entry is the record of one connection or request. It never has a key or a body in it.
type Entry struct {
	Time     time.Time `json:"time"` // when it began
	Session  string    `json:"session"`
	Kind     string    `json:"kind"` // "connect", "http", KindModel, or "garbage" for what was no request at all
	Host     string    `json:"host,omitempty"`
	Port     int       `json:"port,omitempty"`
	Method   string    `json:"method,omitempty"`
	Path     string    `json:"path,omitempty"` // model routes only
	Decision Decision  `json:"decision"`
	Rule     string    `json:"rule,omitempty"`   // the rule that allowed it
	Reason   string    `json:"reason,omitempty"` // why it was refused
	Allow    string    `json:"allow,omitempty"`  // the rule that would have allowed it
	Status   int       `json:"status,omitempty"`
	In       int64     `json:"in"`  // bytes from the box
	Out      int64     `json:"out"` // bytes to the box
	Model    string    `json:"model,omitempty"`
	Spend    *Spend    `json:"spend,omitempty"`
	Estimate bool      `json:"estimate,omitempty"` // the cost in Spend is an estimate
	Millis   int64     `json:"ms"`
	Error    string    `json:"error,omitempty"`
	Calls    bool      `json:"-"`               // the answer calls a tool
	Billed   bool      `json:"-"`               // it asked a model for an answer
	Count    int       `json:"count,omitempty"` // how many it stands for, where the same was refused again
}

// printable makes text from the box safe for a terminal and a log, and bounds it.
func printable(s string, most int) string { return safetext.Cut(safetext.Line(s), most) }
