package cruise

import (
	"strings"
	"testing"
)

func TestTheLastCommentCountsInWords(t *testing.T) {
	st := NewState(Spec{Task: "x", Kind: Planning})
	counts := func(want string) {
		t.Helper()
		if words := strings.TrimSpace(Prompt("end", st)); !strings.HasSuffix(words, "\n\n"+want) {
			t.Error(words)
		}
	}
	counts("0 rounds, 0 findings fixed, 0 declined, 0 open.")
	st.Round = 1
	st.Ledger.Findings = []Finding{{State: Fixed}}
	counts("1 round, 1 finding fixed, 0 declined, 0 open.")
}
