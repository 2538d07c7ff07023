package agent

import "github.com/cco-dev/cco/internal/agent/event"

// script carries out the shell fences of a plan. It is part of cco and asks no model.
type script struct{}

func (script) Name() string     { return "script" }
func (script) Binary() string   { return "" }
func (script) Provider() string { return "" }
func (script) Package() Package { return Package{} }

func (script) Events(s event.Start) event.Decoder { return event.NewPlain(s) }

func (script) Command(t Task) Command {
	return Command{Argv: []string{t.Tool, "script", planArg(t)}, Env: place(t)}
}
