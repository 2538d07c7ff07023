package cli_test

import "testing"

// Guards against a run without a terminal of its own that can't be left, and against one that a slip of the hand stops.
func TestAHeadlessRunIsLeftAndStoppedOnPurpose(t *testing.T) {
	d := newDesk(t, map[string]string{"a.md": `echo WORKING; until test -e "$CCO_EXCHANGE/go"; do sleep 0.1; done`})
	run := func() {
		d.clear()
		d.types("cco run a.md --agent script --headless")
		d.await("its words", d.shows("\nWORKING"))
		d.is("running")
	}
	run()
	d.tmux("send-keys", "C-]")
	d.await("the way back", d.shows("come back with"))
	d.await("a prompt", d.atPrompt)
	d.is("running")
	id, _ := d.newest()
	d.write("data/cco/exchange/"+id+"/go", "")
	d.is("done")

	run()
	d.presses("\x03")
	d.await("the question", d.shows("Ctrl-C again stops the agent"))
	d.is("running")
	d.presses("\x03")
	d.await("the end", d.shows("stopped by the user"))
	d.is("killed")
}
