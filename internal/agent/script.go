package agent

// script carries out the shell fences of a plan. It is part of cco and asks no model.
type script struct{}

func (script) Name() string    { return "script" }
func (script) Binary() string  { return "" }
func (script) Install() string { return "" }

func (script) Command(t Task) Command {
	return Command{Argv: []string{t.Tool, "script", planArg(t)}, Env: place(t)}
}
