package broker

import "testing"

// Guards against a request that is counted to two models because its model became known late, and against a box that
// names models without end.
func TestALedgerTellsModelsApart(t *testing.T) {
	var l ledger
	l.add("opus", Spend{Input: 1, Cost: 1}, "", Spend{})
	l.add("opus-5", Spend{Input: 3, Cost: 2}, "opus", Spend{Input: 1, Cost: 1})
	l.add("haiku", Spend{Input: 5, Cost: 4}, "", Spend{})
	got := l.byModel()
	if len(got) != 2 || got["opus-5"] != (Spend{Input: 3, Cost: 2}) || got["haiku"].Cost != 4 || l.sum().Cost != 6 {
		t.Errorf("%+v of %+v", got, l.sum())
	}
	for i := range 3 * maxModels {
		l.add(string(rune('Ā'+i)), Spend{Cost: 1}, "", Spend{})
	}
	sum := 0.0
	for _, s := range l.byModel() {
		sum += s.Cost
	}
	if n := len(l.byModel()); n > maxModels+1 || sum != l.sum().Cost {
		t.Errorf("%d models, $%.2f of $%.2f", n, sum, l.sum().Cost)
	}
}
