package cruise

import "testing"

// Guards against a ledger that tells a stranger whom the user accepted and one who may write apart by their names.
func TestALedgerSaysHowFarItsAuthorsAreTrusted(t *testing.T) {
	st := &State{Spec: Spec{Trusted: []string{"Ann"}}}
	for _, c := range []struct {
		f    Finding
		want Trust
	}{
		{Finding{Author: "you", Comment: LocalComment + "e1"}, TrustYou},
		{Finding{Author: "you", Comment: "17"}, TrustWriter},
		{Finding{Author: "cco", Comment: fromBase + "c1"}, TrustCco},
		{Finding{Author: "ann", Comment: "17"}, TrustNamed},
		{Finding{Author: "eve", Comment: "17", Accepted: true}, TrustAccepted},
		{Finding{Author: "bob", Comment: "17"}, TrustWriter},
		{Finding{Author: "claude", Domain: "security"}, TrustReviewer},
		{Finding{Author: "the forge", Domain: checkDomain, Check: "build"}, TrustCheck},
	} {
		if got := st.TrustIn(c.f); got != c.want {
			t.Errorf("%+v is trusted as %s, not as %s", c.f, got, c.want)
		}
	}
}
