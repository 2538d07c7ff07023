package event

import (
	"bytes"
	"encoding/json"
	"errors"
)

// names remembers which tool a call was for, so that its result can say so. It forgets all when it has too many: an
// agent must not be able to fill our memory with calls that never end.
type names map[string]string

const maxNames = 4096

func (n names) put(id, name string) {
	if len(n) >= maxNames {
		clear(n)
	}
	n[clipName(id)] = clipName(name)
}

func (n names) take(id string) string {
	name := n[clipName(id)]
	delete(n, clipName(id))
	return name
}

func clipName(s string) string { return s[:min(len(s), 256)] }

// tally sums usage that comes several times for the same message, the last time being right.
type tally struct {
	sum  Usage
	seen [64]struct {
		id string
		Usage
	}
	next int
}

// note says whether the sum has changed.
func (t *tally) note(id string, u Usage) bool {
	id = clipName(id)
	for i := range t.seen {
		if s := &t.seen[i]; id != "" && s.id == id {
			if s.Usage == u {
				return false
			}
			t.sum = t.sum.Add(u)
			t.sum = minus(t.sum, s.Usage)
			s.Usage = u
			return true
		}
	}
	t.seen[t.next].id, t.seen[t.next].Usage = id, u
	t.next = (t.next + 1) % len(t.seen)
	t.sum = t.sum.Add(u)
	t.sum.Turns++
	return true
}

func minus(a, b Usage) Usage {
	return Usage{a.Input - b.Input, a.Output - b.Output, a.CacheRead - b.CacheRead, a.CacheWrite - b.CacheWrite,
		a.Cost - b.Cost, a.Turns - b.Turns}
}

// sessionID is an id that is safe on a command line: it comes from a stream that anything in the box may have written.
func sessionID(s string) string {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if i >= 128 || !letter && (i == 0 || r != '-' && r != '_') {
			return ""
		}
	}
	return s
}

// parse reads an object's known fields, and says whether it was an object. It leaves out a field whose type has
// changed: the rest is still of use.
func parse(line []byte, to any) bool {
	trimmed := bytes.TrimLeft(line, " \t")
	if len(trimmed) == 0 || trimmed[0] != '{' {
		return false
	}
	err := json.Unmarshal(line, to)
	_, other := errors.AsType[*json.UnmarshalTypeError](err)
	return err == nil || other
}
