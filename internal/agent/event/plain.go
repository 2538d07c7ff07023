package event

import "strings"

// plain reads a program that has no protocol: every line is text, and the exit status is all that there is to know.
type plain struct{}

// NewPlain reads an agent that writes for people.
func NewPlain(Start) Decoder { return plain{} }

// AsideMark begins a line of the script agent's own, among the output of a plan's commands.
const AsideMark = "==> "

func (plain) Line(line []byte) []Event {
	events := plainText(line)
	for i := range events {
		events[i].Aside = strings.HasPrefix(events[i].Text, AsideMark)
	}
	return events
}

// ErrLine finds nothing: the line itself is all that there is.
func (plain) ErrLine([]byte) []Event { return nil }

func (plain) End(exit int) Event { return finished(byStatus(exit)) }

func finished(f Finished) Event { return Event{Kind: KindFinished, Session: f.Session, Finished: &f} }

// byStatus judges an end by the exit status alone.
func byStatus(exit int) Finished {
	switch {
	case exit == 0:
		return Finished{Outcome: OK}
	case exit >= 128:
		return Finished{Outcome: Killed, Error: signalWords(exit)}
	default:
		return Finished{Outcome: Failed, Error: statusWords(exit), Silent: true}
	}
}

// unfinished is the end of a run without a result. The status says nothing: some agents exit with 0 on an interrupt.
const unfinished = "it ended before it was done"
