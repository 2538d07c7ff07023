package phases

import "testing"

// Guards against a kind of forge that has a row and can't be opened.
func TestEveryKindOfForgeCanBeOpened(t *testing.T) {
	for _, c := range clients() {
		if c.open == nil || c.find == nil {
			t.Errorf("nobody opens %s", c.Kind)
		}
		if len(c.Hosts) == 0 || len(c.Tokens) == 0 || c.HostVar == "" || c.Ask == "" || c.Signature == "" || c.Event == nil {
			t.Errorf("the row of %s is not whole: %+v", c.Kind, c.Row)
		}
	}
}
