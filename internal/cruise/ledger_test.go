package cruise

import "testing"

func raise(l *Ledger, domain, path, text string, round int) bool {
	_, work := l.Raise(Finding{Domain: domain, Path: path, Text: text, Round: round})
	return work
}

func TestAFindingIsKnownAgainWhateverItsLineAndPunctuation(t *testing.T) {
	a := Identity("Security", "a/b.go", "Quote the path, please.")
	for _, other := range []string{Identity("security", "./a/b.go", "quote the path please"),
		Identity("Security", "a/b.go", "  Quote\nthe path — please!")} {
		if other != a && other != Identity("Security", "a/b.go", "quote the path — please") {
			t.Errorf("%s is not %s", other, a)
		}
	}
	for _, other := range []string{Identity("Polish", "a/b.go", "Quote the path, please."),
		Identity("Security", "a/c.go", "Quote the path, please."),
		Identity("Security", "a/b.go", "Quote the name, please.")} {
		if other == a {
			t.Errorf("another finding has the same id")
		}
	}
}

func TestAFindingIsRaisedOnce(t *testing.T) {
	var l Ledger
	if !raise(&l, "Security", "a.go", "x", 1) || raise(&l, "Security", "a.go", "X.", 1) {
		t.Error("raised twice")
	}
	if len(l.OpenOnes()) != 1 {
		t.Errorf("open: %v", l.OpenOnes())
	}
}

func TestPeopleMaySayTheSameTwice(t *testing.T) {
	var l Ledger
	_, first := l.Raise(Finding{Comment: "c1", Text: "still wrong"})
	_, second := l.Raise(Finding{Comment: "c2", Text: "still wrong"})
	if !first || !second {
		t.Error("the second was taken for the first")
	}
}

func TestWhatWasDeclinedStaysSoUntilTheCodeThereChanges(t *testing.T) {
	var l Ledger
	raise(&l, "Security", "a.go", "x", 1)
	id := l.Findings[0].ID
	l.Settle(id, Declined, "it is a test", "c0ffee")
	if raise(&l, "Security", "a.go", "x", 2) {
		t.Error("raised again without a change")
	}
	l.Stir([]string{"b.go"})
	if raise(&l, "Security", "a.go", "x", 2) {
		t.Error("raised again after a change elsewhere")
	}
	l.Stir([]string{"a.go"})
	if !raise(&l, "Security", "a.go", "x", 3) || l.Find(id).Reopened != 1 {
		t.Errorf("not raised after a change there: %+v", l.Find(id))
	}
}

func TestAReviewerCanNameAFindingThatItSaw(t *testing.T) {
	var l Ledger
	raise(&l, "Security", "a.go", "x", 1)
	id := l.Findings[0].ID
	l.Settle(id, Fixed, "", "c0ffee")
	if _, work := l.Raise(Finding{ID: id, Domain: "Security", Path: "a.go", Text: "not quite", Round: 2}); !work ||
		len(l.Findings) != 1 {
		t.Errorf("ledger: %+v", l.Findings)
	}
	if _, work := l.Raise(Finding{ID: "made-up", Domain: "Security", Path: "a.go", Text: "new", Round: 2}); !work ||
		l.Find("made-up") != nil {
		t.Errorf("an id that nobody gave is kept: %+v", l.Findings)
	}
}

func TestCirclesAreSeen(t *testing.T) {
	var l Ledger
	raise(&l, "Security", "a.go", "x", 1)
	id := l.Findings[0].ID
	for round := 2; round <= 3; round++ {
		l.Settle(id, Fixed, "", "c")
		if l.Circles() != "" {
			t.Errorf("round %d: %s", round, l.Circles())
		}
		raise(&l, "Security", "a.go", "x", round)
	}
	if l.Circles() == "" {
		t.Error("a finding that came back twice is no circle")
	}
	tests := []struct {
		counts []int
		want   bool
	}{{nil, false}, {[]int{3, 3}, false}, {[]int{3, 3, 3}, true}, {[]int{3, 2, 2}, false}, {[]int{3, 4, 4}, true},
		{[]int{0, 0, 0}, false}, {[]int{5, 4, 3}, false}}
	for _, tt := range tests {
		l := Ledger{Counts: tt.counts}
		if got := l.Circles() != ""; got != tt.want {
			t.Errorf("%v: %q", tt.counts, l.Circles())
		}
	}
}
