// Command cco-guard is the guard's hook alone. Agents start it for every tool
// call, so that it links as little as it can.
package main

import (
	"os"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/guard/hook"
)

func main() {
	h := hook.Hook{
		Socket: func() string { return os.Getenv("CCO_GUARD_SOCK") },
		In:     hook.Input(os.Stdin, hook.MaxTime), Out: os.Stdout, Err: os.Stderr, Now: time.Now,
	}
	if !parse(os.Args[1:], &h) {
		_, _ = os.Stderr.WriteString("usage: cco-guard --agent NAME [--policy FILE]\n")
		os.Exit(2) // also what denies
	}
	os.Exit(h.Run())
}

// parse reads the options by hand; package flag costs more than that.
func parse(args []string, h *hook.Hook) bool {
	for len(args) > 0 {
		name, value, glued := strings.Cut(args[0], "=")
		args = args[1:]
		if !glued {
			if len(args) == 0 {
				return false
			}
			value, args = args[0], args[1:]
		}
		switch name {
		case "--agent", "-agent":
			h.Agent = value
		case "--policy", "-policy":
			h.Policy = value
		case "--turn":
			h.Turn = value
		default:
			return false
		}
	}
	return h.Agent != ""
}
