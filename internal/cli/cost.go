package cli

import (
	"encoding/csv"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/store"
)

func costCommand(a *commands) *cobra.Command {
	var asJSON, asCSV bool
	var since string
	var by []string
	c := &cobra.Command{
		Use: "cost", Short: "Show what agents have spent", Args: AtMost(0),
		Long: `Show what agents have spent in the last 30 days, in dollars and tokens, by day,
repository, agent, model or phase, or by several of these. It counts what the models
were asked through cco, and what an agent says itself if that is more. A cost is marked
as an estimate where a model has no known price, or did not say what it used.
Not counted: the few words for which a model is asked when a phase gets its name.`,
		Example: `  cco cost
  cco cost --by model
  cco cost --by repository,agent --since 7d --csv >cost.csv`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON && asCSV {
				return app.Usagef("--json and --csv exclude each other")
			}
			from, err := parseSince(since, time.Now())
			if err != nil {
				return err
			}
			b, err := a.Cost(cmd.Context(), from, by)
			switch {
			case err != nil:
				return err
			case asJSON:
				return a.IO.JSON(b)
			case asCSV:
				return a.billCSV(b)
			}
			a.bill(b)
			return nil
		},
	}
	c.Flags().StringSliceVar(&by, "by", []string{app.ByDay}, "divide it by "+strings.Join(app.Accounts(), ", "))
	c.Flags().StringVar(&since, "since", "30d", "only what was spent after this `TIME`: ago, like 7d, or 2026-01-31")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&asCSV, "csv", false, "print comma-separated values")
	return c
}

// bill shows what was spent as a table, with the sum in its last row.
func (a *commands) bill(b app.Bill) {
	if len(b.Rows) == 0 {
		a.IO.Say("nothing was spent since %s", b.Since)
		return
	}
	var heading []string
	for _, name := range b.By {
		heading = append(heading, strings.ToUpper(name))
	}
	rows := [][]string{append(heading, "INPUT", "OUTPUT", "CACHED", "COST")}
	for _, r := range b.Rows {
		var row []string
		for _, name := range b.By {
			row = append(row, orDash(r.Of[name]))
		}
		rows = append(rows, append(row, spendCells(r.Spend)...))
	}
	total := make([]string, len(b.By))
	total[0] = "total"
	a.IO.Table(append(rows, append(total, spendCells(b.Total)...)))
}

func spendCells(s store.Spend) []string {
	cost := "-"
	if s.Cost > 0 {
		cost = dollarWords(s.Cost, s.Estimate)
	}
	return []string{tokenWords(s.Input), tokenWords(s.Output), tokenWords(s.CacheRead + s.CacheWrite), cost}
}

func (a *commands) billCSV(b app.Bill) error {
	w := csv.NewWriter(a.IO.Results())
	_ = w.Write(append(append([]string{}, b.By...), "input", "output", "cache_read", "cache_write", "dollars", "estimate"))
	for _, r := range b.Rows {
		var row []string
		for _, name := range b.By {
			row = append(row, csvText(r.Of[name]))
		}
		for _, n := range []int64{r.Input, r.Output, r.CacheRead, r.CacheWrite} {
			row = append(row, strconv.FormatInt(n, 10))
		}
		_ = w.Write(append(row, strconv.FormatFloat(r.Cost, 'f', 6, 64), strconv.FormatBool(r.Estimate)))
	}
	w.Flush()
	return w.Error()
}

// csvText keeps a spreadsheet from taking a name, which an agent may have chosen, for a formula.
func csvText(s string) string {
	if s = safetext.Line(s); strings.ContainsAny(s[:min(1, len(s))], "=+-@") {
		return "'" + s
	}
	return s
}
