package bash

import (
	"mvdan.cc/sh/v3/syntax"
	"strconv"
)

// sequence lists {a..z} and {1..9..2}, at most as many as are followed.
func sequence(b *syntax.BraceExp) []string {
	var ends []string
	for _, e := range b.Elems {
		ends = append(ends, e.Lit())
	}
	if len(ends) < 2 {
		return []string{""}
	}
	from, errFrom := strconv.Atoi(ends[0])
	to, errTo := strconv.Atoi(ends[1])
	letters := errFrom != nil || errTo != nil
	if letters {
		if ends[0] == "" || ends[1] == "" {
			return []string{""}
		}
		from, to = int(ends[0][0]), int(ends[1][0])
	}
	step := 1
	if len(ends) > 2 {
		if n, err := strconv.Atoi(ends[2]); err == nil && n != 0 {
			step = max(n, -n)
		}
	}
	if from > to {
		step = -step
	}
	var out []string
	for i := from; (i <= to) == (step > 0) || i == to; i += step {
		if letters {
			out = append(out, string(rune(i)))
		} else {
			out = append(out, strconv.Itoa(i))
		}
		if i == to || len(out) >= MaxRounds {
			break
		}
	}
	return out
}
