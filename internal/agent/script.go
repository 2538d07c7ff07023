package agent

import "github.com/cco-dev/cco/internal/agent/event"

// script carries out the shell fences of a plan. It is part of cco and asks no model.
func script() Adapter {
	return Adapter{Row: row("script"), Command: scriptCommand, Events: event.NewPlain}
}

func scriptCommand(t Task) Command {
	return Command{Argv: []string{t.Tool, "script", planArg(t)}, Env: place(t)}
}
