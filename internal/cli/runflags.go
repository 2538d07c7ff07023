package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/session"
)

// runFlags are those of every command that starts an agent.
type runFlags struct {
	idle, maxCost, maxTokens string
	timeout                  time.Duration
	noResume                 bool
}

func (f *runFlags) add(c *cobra.Command) {
	c.Flags().DurationVar(&f.timeout, "timeout", 0, "end the agent after this time (default: the setting push.timeout)")
	c.Flags().StringVar(&f.idle, "idle-timeout", "",
		"end the agent when nothing is heard of it for this `TIME`, or none (default 30m, or the setting push.idle_timeout)")
	c.Flags().StringVar(&f.maxCost, "max-cost", "",
		"pause when this run has cost so many `DOLLARS`, or none (default 10, or the setting limits.run_cost)")
	c.Flags().StringVar(&f.maxTokens, "max-tokens", "",
		"pause when this run has used so many tokens, like 500k or 20M, or none (default 20M, or the setting "+
			"limits.run_tokens)")
	c.Flags().BoolVar(&f.noResume, "no-resume", false, "fail at once when the model fails, instead of waiting for it")
}

// apply lets the flags override the settings.
func (f runFlags) apply(o *session.Run) (err error) {
	if f.timeout < 0 {
		return app.Usagef("--timeout %s: it can't be negative", f.timeout)
	}
	if f.timeout > 0 {
		o.Timeout = f.timeout
	}
	o.NoResume = f.noResume
	switch f.idle {
	case "":
	case config.None:
		o.IdleTimeout = 0
	default:
		if o.IdleTimeout, err = config.ParseDuration(f.idle); err != nil {
			return app.Usagef("--idle-timeout: %w", err)
		}
	}
	if f.maxCost != "" {
		if o.Limits.RunCost, err = config.ParseDollars(f.maxCost); err != nil {
			return app.Usagef("--max-cost: %w", err)
		}
	}
	if f.maxTokens != "" {
		if o.Limits.RunTokens, err = config.ParseTokens(f.maxTokens); err != nil {
			return app.Usagef("--max-tokens: %w", err)
		}
	}
	return nil
}
