package cruising

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/cli"
	"github.com/cco-dev/cco/internal/cruise/lease"
	"github.com/cco-dev/cco/internal/safetext"
)

func (t *tool) worker() *cobra.Command {
	drain := false
	c := &cobra.Command{
		Use: "worker", Short: "Run phases of a shared database on this machine", Args: cobra.NoArgs,
		Long: `Run phases of the shared database (the setting engine.database) in the foreground:
those whose account this machine has a token of, whose box and agents it has, and
whose label (` + "`cco cruise start --on`" + `) is among its worker.labels, at most
worker.slots at a time. When a machine dies, others go on with its phases.

` + "`cco cruise service install`" + ` has systemd or launchd run it: where phases are
shared, the service is a worker.`,
		Example: "  cco cruise worker",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if drain {
				return t.Drain(cmd.Context())
			}
			return t.Work(cmd.Context())
		},
	}
	c.Flags().BoolVar(&drain, "drain", false, "have the worker that runs here take nothing new, and wait until its turns have ended")
	return c
}

func (t *tool) workers() *cobra.Command {
	var asJSON *bool
	c := &cobra.Command{
		Use: "workers", Short: "List the machines that run phases of a shared database", Args: cobra.NoArgs,
		Long: `List the machines that run phases of the shared database: when each was last
heard of, its phases and slots, the load of each core, and what it has. Below
them are the phases that no machine takes, and why.`,
		Example: "  cco cruise workers\n  cco cruise workers --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			workers, waiting, err := t.Workers(cmd.Context())
			if err != nil {
				return err
			}
			if *asJSON {
				return t.IO.JSON(map[string]any{"workers": nonNil(workers), "waiting": nonNil(waiting)})
			}
			return t.showWorkers(workers, waiting)
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

func (t *tool) showWorkers(workers []lease.Seen, waiting []lease.Waiting) error {
	if len(workers) == 0 {
		t.IO.Say("no worker has been started: `cco cruise worker` starts one")
	} else {
		w := tabwriter.NewWriter(t.IO.Out, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(w, "WORKER\tSTATE\tLAST BEAT\tPHASES\tLOAD\tHAS\tRUNS")
		for _, s := range workers {
			state := "alive"
			if !s.Alive {
				state = "silent"
			}
			has := slices.Concat(s.Labels, s.Accounts)
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s ago\t%d of %d\t%.2f\t%s\t%s\n", safetext.Line(s.ID), state, cli.Age(s.Age),
				len(s.Phases), s.Slots, s.Load, safetext.Line(strings.Join(has, " ")),
				safetext.Line(strings.Join(s.Phases, " ")))
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	for _, p := range waiting {
		why := cmp.Or(p.Why, "one will take it")
		if p.Lost != "" {
			why = "worker " + p.Lost + " is silent; " + why
		}
		t.IO.Printf("phase %s waits for a worker: %s\n", safetext.Line(p.Phase), safetext.Line(why))
	}
	return nil
}

// labels are those of the user's that living workers have, for a shell to offer.
func (t *tool) labels(ctx context.Context) (all []string) {
	workers, _, err := t.Workers(ctx)
	if err != nil {
		return nil
	}
	for _, w := range workers {
		for _, l := range w.Labels {
			if w.Alive && !strings.Contains(l, ":") && !slices.Contains(all, l) {
				all = append(all, l)
			}
		}
	}
	return all
}
