package cruise

import (
	"strings"
	"testing"
)

func TestTheLastCommentCountsInWords(t *testing.T) {
	st := NewState(Spec{Task: "x", Kind: Planning})
	if words := strings.TrimSpace(Prompt("end", st)); !strings.HasSuffix(words, "\n\n0 rounds, 0 findings fixed, 0 declined, 0 open.") {
		t.Error(words)
	}
	st.Round = 1
	st.Ledger.Findings = []Finding{{State: Fixed}}
	if words := strings.TrimSpace(Prompt("end", st)); !strings.HasSuffix(words, "\n\n1 round, 1 finding fixed, 0 declined, 0 open.") {
		t.Error(words)
	}
}
