package cli

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/session"
)

// logFlags say which part of a transcript is shown, and how.
type logFlags struct {
	follow, asJSON, bare bool
	since                string
	tail                 int
}

func logsCommand(a *commands) *cobra.Command {
	var f logFlags
	c := &cobra.Command{
		Use: "logs ID", Short: "Show what a session's agent said", Args: exactly(1, "session id"),
		Long: `Show what a session's agent said, and when. Of an agent on a terminal that is what
has scrolled off its screen and what stood on it last, as text. With --follow lines
are shown as they leave the screen, and the screen in the end; to see it as it is
now, use attach.`,
		Example: `  cco box logs 3f9c01aa
  cco box logs 3f9c01aa --follow --tail 20
  cco box logs 3f9c01aa --since 10m`,
		RunE: a.onSession(func(ctx context.Context, s *session.Service, id string) error {
			return a.logs(ctx, s, id, f)
		}),
	}
	c.Flags().BoolVarP(&f.follow, "follow", "f", false, "go on until the session ends")
	c.Flags().StringVar(&f.since, "since", "",
		"only what came after this `TIME`: ago, like 10m or 2d, or 2026-01-31 15:04")
	c.Flags().IntVar(&f.tail, "tail", 0, "only the last `N` lines")
	c.Flags().BoolVar(&f.bare, "no-times", false, "without the time in front of each line")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print the events as JSON lines")
	return c
}

func (a *commands) logs(ctx context.Context, s *session.Service, id string, f logFlags) error {
	from, err := parseSince(f.since, time.Now())
	if err != nil {
		return err
	}
	if f.tail < 0 {
		return app.Usagef("--tail %d: it can't be negative", f.tail)
	}
	newView := func() *view {
		v := &view{a: a, out: a.IO.Results(), asJSON: f.asJSON, keep: maxKept, from: from, times: !f.bare && !f.asJSON}
		if f.follow {
			v.keep = 0
		}
		return v
	}
	skip := 0
	if f.tail > 0 { // how many lines there are, only a first reading tells
		v := newView()
		v.skip = all
		if err := s.Events(ctx, id, false, func(e session.Event) error { v.show(e); return nil }); err != nil {
			return err
		}
		if !f.follow {
			v.close()
		}
		skip = max(0, v.lines-f.tail)
	}
	v := newView()
	v.skip = skip
	err = s.Events(ctx, id, f.follow, func(e session.Event) error { v.show(e); return nil })
	v.close()
	return err
}

// parseSince reads a time: how long ago it was, or a date and time of the user's own zone.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := parseSpan(text); err == nil {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, app.Usagef("--since %q: write how long ago, like 10m or 2d, or a time like \"2026-01-31 15:04\"",
		text)
}

// parseSpan reads a duration, which may be in days.
func parseSpan(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	return config.ParseDuration(text)
}
