package cruising

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/cli"
	"github.com/cco-dev/cco/internal/cruise/lease"
	"github.com/cco-dev/cco/internal/safetext"
)

func (t *tool) worker() *cobra.Command {
	return &cobra.Command{
		Hidden: true, Use: "worker", Short: "Run phases of a shared database on this machine", Args: cobra.NoArgs,
		Long: `Run phases of the shared database (the setting engine.database) in the foreground:
those whose account this machine has a token of, and whose box and agents it has,
at most a hundred. When a machine dies, others go on with its phases.
Where phases are shared, ` + "`cco cruise serve`" + ` and its service do the same.`,
		Example: "  cco cruise worker",
		RunE:    func(cmd *cobra.Command, _ []string) error { return t.Work(cmd.Context()) },
	}
}

func (t *tool) workers() *cobra.Command {
	var asJSON *bool
	c := &cobra.Command{
		Hidden: true, Use: "workers", Short: "List the machines that run phases of a shared database", Args: cobra.NoArgs,
		Example: "  cco cruise workers",
		RunE: func(cmd *cobra.Command, _ []string) error {
			workers, waiting, err := t.Workers(cmd.Context())
			if err != nil {
				return err
			}
			if *asJSON {
				return t.IO.JSON(map[string]any{"workers": nonNil(workers), "waiting": nonNil(waiting)})
			}
			t.showWorkers(workers, waiting)
			return nil
		},
	}
	asJSON = cli.JSONFlag(c)
	return c
}

func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func (t *tool) showWorkers(workers []lease.Seen, waiting []lease.Held) {
	if len(workers) == 0 {
		t.IO.Say("no worker has been started: `cco cruise worker` starts one")
	}
	for _, w := range workers {
		state := fmt.Sprintf("last beat %s ago", w.Age.Round(time.Second))
		if !w.Alive {
			state = "silent, " + state
		}
		t.IO.Printf("%s  %d of %d phases  %s  %s\n", safetext.Line(w.ID), len(w.Phases), w.Slots, state,
			safetext.Line(strings.Join(w.Labels, " ")))
		if len(w.Phases) > 0 {
			t.IO.Printf("  %s\n", safetext.Line(strings.Join(w.Phases, " ")))
		}
	}
	for _, p := range waiting {
		t.IO.Printf("phase %s waits for a worker\n", safetext.Line(p.Phase))
	}
}
