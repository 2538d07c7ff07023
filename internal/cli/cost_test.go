package cli

import (
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/term"
)

// Guards against an estimate that looks like a price, and a model's name that a spreadsheet would run.
func TestABillMarksEstimates(t *testing.T) {
	io, out, _ := term.Test("")
	a := &commands{&app.App{IO: io}}
	b := app.Bill{By: []string{"model"}, Rows: []app.BillRow{
		{Of: map[string]string{"model": "=1+1"}, Spend: store.Spend{Input: 1500, Cost: 2, Estimate: true}},
		{Of: map[string]string{"model": ""}, Spend: store.Spend{Output: 3}},
	}, Total: store.Spend{Input: 1500, Output: 3, Cost: 2, Estimate: true}}
	a.bill(b)
	must.Do(t, a.billCSV(b))
	for _, want := range []string{
		"=1+1   1.5k   0       0       $2.00 (estimate)\n", "-      0      3       0       -\n",
		"total  1.5k   3       0       $2.00 (estimate)\n",
		"'=1+1,1500,0,0,0,2.000000,true\n", "\n,0,3,0,0,0.000000,false\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
