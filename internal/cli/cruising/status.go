package cruising

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/cli"
	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/unit"
)

func readAll(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, 2<<20)) }

func (t *tool) status() *cobra.Command {
	var asJSON, watch bool
	c := &cobra.Command{
		Use: "status [ID]", Short: "Show where a phase stands", Args: cli.AtMost(1),
		Example: "  cco cruise status\n  cco cruise status 77ab01fe --watch",
		RunE: func(cmd *cobra.Command, args []string) error {
			if watch {
				return t.watchStatus(cmd.Context(), named(args), asJSON)
			}
			if err := t.printStatus(cmd.Context(), named(args), asJSON); err != nil {
				return err
			}
			return t.tellUnwatched(cmd.Context())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	c.Flags().BoolVarP(&watch, "watch", "w", false, "print it again whenever it changes, until the phase ends")
	return c
}

// shown is a phase in JSON.
type shown struct {
	steps.Shown
	Title     string             `json:"title"`
	Ended     bool               `json:"ended"`
	End       cruise.End         `json:"end,omitempty"`
	Paused    bool               `json:"paused,omitempty"`
	Question  string             `json:"question,omitempty"`
	Trouble   string             `json:"trouble,omitempty"`
	Worker    string             `json:"worker,omitempty"`    // the machine that runs it, where phases are shared
	NoWorker  string             `json:"no_worker,omitempty"` // why none does
	Waits     string             `json:"waits_for,omitempty"` // before it is merged
	NextPoll  time.Time          `json:"next_poll,omitzero"`
	Findings  []cruise.Finding   `json:"findings"`
	Verdicts  []cruise.Judgement `json:"verdicts"`
	Report    string             `json:"report,omitempty"`
	Held      []cruise.Comment   `json:"held"` // of strangers, waiting to be accepted
	MaxRounds int                `json:"max_rounds"`
	MaxCost   float64            `json:"max_cost"`
	Tokens    int64              `json:"tokens"`
	Publishes []string           `json:"publishes,omitempty"` // commits that the user had never pushed
	Gate      string             `json:"gate,omitempty"`      // what a person must know of the change, by kind
	Checks    *cruise.Checked    `json:"checks,omitempty"`    // as they were last seen
}

func (t *tool) show(p store.Phase, st cruise.State) shown {
	st.Looks.Next, st.Looks.Backoff = st.Next(time.Now())
	s := shown{
		Shown: steps.Show(p.ID, st), Title: p.Title, Ended: p.Ended, End: st.End, Paused: st.Paused,
		Question: st.Ask.Question,
		Trouble:  st.Waiting.Trouble, Worker: st.Life.Home, NoWorker: t.nobody(p),
		NextPoll: st.Looks.Next, Findings: st.Ledger.Findings, Verdicts: st.Review.Judgements, Held: st.Inbox.Held,
		MaxRounds: st.Spec.MaxRounds,
		MaxCost:   st.Spec.MaxCost, Tokens: st.Spent.Tokens, Report: st.Outbox.Report, Waits: st.Waiting.For,
		Publishes: st.Head.Unpushed,
		Gate:      st.Outbox.Kinds, Checks: st.Checks.Last,
	}
	if s.Findings == nil {
		s.Findings = []cruise.Finding{}
	}
	if s.Verdicts == nil {
		s.Verdicts = []cruise.Judgement{}
	}
	if s.Held == nil {
		s.Held = []cruise.Comment{}
	}
	return s
}

func (t *tool) printStatus(ctx context.Context, id string, asJSON bool) error {
	p, st, err := t.Load(ctx, id)
	if err != nil {
		return err
	}
	if asJSON {
		return t.IO.JSON(t.show(p, st))
	}
	return t.describe(p, st)
}

// nobody says why no machine has a phase that machines share.
func (t *tool) nobody(p store.Phase) string {
	if p.Ended || !p.Far() {
		return ""
	}
	return t.Waiting()[p.ID]
}

func (t *tool) describe(p store.Phase, st cruise.State) error {
	w := tabwriter.NewWriter(t.IO.Out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		// Agents, strangers and other machines wrote much of it. None of them adds a row.
		if text := safetext.Line(oneLine.Replace(fmt.Sprintf(format, args...))); text != "" {
			_, _ = fmt.Fprintf(w, "%s\t%s\n", name, text)
		}
	}
	row("phase", "%s, %s", p.ID, st.Kind)
	row("title", "%s", p.Title)
	row("stage", "%s", stageWords(st))
	if none := t.nobody(p); none != "" {
		row("no worker", "%s", cut(none, maxWords))
	} else if !p.Ended {
		row("worker", "%s", st.Life.Home)
	}
	row("branch", "%s", st.Meta.Branch)
	if st.PR != nil {
		row("pull request", "%s", st.PR.URL)
	}
	if st.Behind() {
		row("target", "%s has moved to %.10s since this began", st.Base.Branch, st.Base.Commit)
	}
	row("reviewing", "%s", st.Domain())
	row("round", "%d of %d", st.Round, st.Spec.MaxRounds)
	row("cost", "%s of $%.2f, %s", dollars(st.Spent.Cost, st.Spent.Estimate), st.Spec.MaxCost,
		unit.Count(st.Spent.Tokens, "token"))
	row("findings", "%s", findingWords(st))
	for _, f := range st.Ledger.OpenOnes() {
		row("", "%s  %s", f.ID, clip(f.Text))
	}
	for _, j := range st.Review.Judgements {
		row("", "%s: %s", j.Domain, cmp.Or(string(j.Verdict), "failed: "+clip(j.Failure)))
	}
	for _, h := range st.Inbox.Held {
		row("waits for you", "%s by %s (%s), %s: %s", h.ID, h.Author, cmp.Or(h.Why, "may not write here"),
			unit.Count(len([]rune(h.Body)), "character"), clip(h.Body))
	}
	if len(st.Inbox.Held) > 0 {
		row("", "read all of it with --json, or on the pull request, before `cco cruise fix --accept ID`")
	}
	for _, c := range st.Inbox.Remarks {
		row("remark", "%s by %s: %s (`cco cruise fix --accept %[1]s` makes it work)", c.ID, c.Author, clip(c.Body))
	}
	if st.Inbox.Dropped > 0 {
		row("", "and %d older, which only the pull request has", st.Inbox.Dropped)
	}
	row("to know", "%s", st.Outbox.Kinds)
	row("checks", "%s", checkWords(st))
	row("report", "%s", clip(st.Outbox.Report))
	row("last activity", "%s", when(st.LastActivity))
	if !p.Ended {
		at, _ := st.Next(time.Now())
		row("next look", "%s", when(at))
	}
	if st.Workspace.Path != "" {
		row("workspace", "%s (box %s)", st.Workspace.Path, st.Spec.Box)
	}
	return w.Flush()
}

func stageWords(st cruise.State) string {
	switch {
	case st.Stage == cruise.StageEnded:
		return strings.TrimSpace(fmt.Sprintf("ended: %s. %s %s", st.End, st.EndWords, st.Waiting.Trouble))
	case st.Paused:
		return "paused: go on with `cco cruise resume`"
	case st.Ask.Question != "":
		return "asks: " + cut(st.Ask.Question,
			maxWords) + " (go on with `cco cruise resume`, or `cco cruise fix --comment TEXT`)"
	case st.Waiting.For != "":
		return "approved, and waits for " + cut(st.Waiting.For, maxWords)
	case st.Waiting.Trouble != "":
		return string(st.Stage) + ", waiting: " + cut(st.Waiting.Trouble, maxWords)
	default:
		return string(st.Stage)
	}
}

// checkWords says how the checks stood when they were last looked at, by their states.
func checkWords(st cruise.State) string {
	if st.Checks.Last == nil {
		return ""
	}
	var parts []string
	for _, state := range []forge.CheckState{forge.ChecksFailed, forge.ChecksAction, forge.ChecksPending,
		forge.ChecksPassed} {
		var names []string
		for _, c := range st.Checks.Last.All {
			if c.State == state {
				names = append(names, c.Name)
			}
		}
		if len(names) > 0 {
			parts = append(parts, fmt.Sprintf("%s: %s", state, cut(strings.Join(names, ", "), maxWords)))
		}
	}
	for _, r := range st.Checks.Reruns {
		if r.Flake && r.Commit == st.Checks.Last.Head {
			parts = append(parts, "flaky: "+r.Check)
		}
	}
	return strings.Join(append(parts, fmt.Sprintf("at %.10s", st.Checks.Last.Head)), "; ")
}

func findingWords(st cruise.State) string {
	n := map[cruise.FindingState]int{}
	for _, f := range st.Ledger.Findings {
		n[f.State]++
	}
	return fmt.Sprintf("%d open, %d fixed, %d declined", n[cruise.Open], n[cruise.Fixed], n[cruise.Declined])
}

// maxWords is enough for a reason with the command that solves it.
const maxWords = 1000

func clip(s string) string { return cut(s, 100) }

// cut puts words on one line of at most so many characters.
func cut(s string, most int) string {
	return safetext.Fit(safetext.Line(strings.Join(strings.Fields(s), " ")), most)
}

var oneLine = strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ")

func when(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Local().Format("2006-01-02 15:04:05")
}

// tellUnwatched says if nobody watches the living phases, and starts an engine if this command can.
func (t *tool) tellUnwatched(ctx context.Context) error {
	words, err := t.Watched(ctx)
	if words != "" {
		t.IO.Warn("%s", words)
	}
	return err
}

// pulse is how often a command that follows a phase looks whether the engine lives.
const pulse = 3 * time.Second

// watchStatus prints the state whenever it changes.
func (t *tool) watchStatus(ctx context.Context, id string, asJSON bool) error {
	if err := t.tellUnwatched(ctx); err != nil {
		return err
	}
	var last time.Time
	return t.watch(ctx, id, time.Second, func(p store.Phase, st cruise.State) (ended bool, err error) {
		if p.Updated.Equal(last) {
			return p.Ended, nil
		}
		last = p.Updated
		if asJSON {
			return p.Ended, t.IO.JSONLine(t.show(p, st))
		}
		_, _ = fmt.Fprintf(t.IO.Out, "%s\n", strings.Repeat("─", 60))
		return p.Ended, t.describe(p, st)
	})
}

// watch shows a phase again and again, until it is over for who shows it.
func (t *tool) watch(ctx context.Context, id string, every time.Duration,
	show func(store.Phase, cruise.State) (over bool, err error)) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for beat := (heart{}); ; {
		p, st, err := t.Load(ctx, id)
		if err != nil {
			return err
		}
		if over, err := show(p, st); err != nil || over {
			return err
		}
		if err := beat.check(ctx, t); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// heart is what a command that follows a phase knows of the engine.
type heart struct {
	at     time.Time // of the last look
	missed int
}

// check gives an error when the engine has been dead for a while: another may just be starting.
func (h *heart) check(ctx context.Context, t *tool) error {
	if time.Since(h.at) < pulse {
		return nil
	}
	h.at = time.Now()
	err := t.StillWatched(ctx)
	if err == nil {
		h.missed = 0
		return nil
	}
	const enough = 3
	if h.missed++; h.missed < enough && ctx.Err() == nil {
		return nil
	}
	return err
}

func (t *tool) list() *cobra.Command {
	var asJSON, all bool
	c := &cobra.Command{
		Use: "list", Short: "List phases", Args: cobra.NoArgs,
		Example: "  cco cruise list\n  cco cruise list --all --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			db, err := t.Store(cmd.Context())
			if err != nil {
				return err
			}
			defer func() { _ = db.Close() }()
			limit := 50
			if all {
				limit = 1 << 20
			}
			list, err := db.Phases(cmd.Context(), limit)
			if err != nil {
				return err
			}
			if err := t.printList(list, asJSON); err != nil {
				return err
			}
			return t.tellUnwatched(cmd.Context())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print them as JSON")
	c.Flags().BoolVar(&all, "all", false, "all of them, not only the last 50")
	return c
}

func (t *tool) printList(list []store.Phase, asJSON bool) error {
	if asJSON {
		if list == nil {
			list = []store.Phase{}
		}
		return t.IO.JSON(list)
	}
	w := tabwriter.NewWriter(t.IO.Out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "ID\tPHASE\tSTAGE\tAGE\tCOST\tBRANCH\tPULL REQUEST\tTITLE")
	for _, p := range list {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", safetext.Line(p.ID), safetext.Line(p.Kind),
			safetext.Line(p.Stage), cli.Age(time.Since(p.Created)), dollars(p.Cost, p.Estimate), safetext.Line(p.Branch),
			safetext.Line(p.PRURL), clip(p.Title))
	}
	return w.Flush()
}

// dollars is a cost, marked if it is an estimate.
func dollars(cost float64, estimate bool) string {
	text := fmt.Sprintf("$%.2f", cost)
	if estimate {
		text += " (estimate)"
	}
	return text
}
