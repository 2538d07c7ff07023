package cruising

import (
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/cli"
	"github.com/cco-dev/cco/internal/view"
)

func (t *tool) view() *cobra.Command {
	var open, asJSON bool
	var listen string
	c := &cobra.Command{
		Use: "view [DIR…]", Short: "Serve a page on which you see, decide and steer", Args: cobra.ArbitraryArgs,
		Long: `Serve a page on which you see what needs you, what agents do, what they changed,
cost and tried, and on which you answer, take and stop. It runs in the foreground,
and nothing is lost when it ends. Only this machine can reach it, and only a
browser that came in with a code: --open does that, and ` + "`cco view code`" + ` prints one
for a browser elsewhere, behind a tunnel of yours (ssh -L, tailscale) whose name is
in the setting view.hosts. Runs can be started from it in repositories that cco has
worked in, in the one that you are in, and in those of each DIR. See docs/view.md.`,
		Example: `  cco view --open
  cco view --open ~/src/shop ~/src/search
  cco view --listen 127.0.0.1:8080
  ssh -L 7626:127.0.0.1:7626 devbox   # then http://localhost:7626/ here`,
		RunE: func(cmd *cobra.Command, dirs []string) error {
			repos, err := t.benches(dirs)
			if err != nil {
				return err
			}
			cfg, err := t.ConfigIn("") // no repository says who may come in
			if err != nil {
				return err
			}
			o := view.Options{Listen: listen, Hosts: cfg.View.Hosts, Version: cli.Version(), Class: cli.ExitCode,
				Repos: repos}
			tell := func(f view.Found, first bool) error { return t.tellView(cmd, f, first, open, asJSON) }
			other, err := view.Serve(cmd.Context(), t.Phases, o, func(f view.Found) error { return tell(f, true) })
			if err != nil || other.Address == "" {
				return err
			}
			return tell(other, false)
		},
	}
	c.Flags().BoolVar(&open, "open", false, "open it in your browser")
	c.Flags().StringVar(&listen, "listen", "",
		"listen at `ADDRESS`, of this machine alone (default 127.0.0.1:7626, if that is free)")
	c.Flags().BoolVar(&asJSON, "json", false, "print where it is as JSON")
	c.AddCommand(t.viewCode(), t.viewForget())
	return c
}

// benches are the repositories of directories that were named, and the one that the command is in.
func (t *tool) benches(dirs []string) (tops []string, err error) {
	if top := app.RepoTop(t.Dir); top != "" {
		tops = append(tops, top)
	}
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(t.Dir, dir)
		}
		top := app.RepoTop(dir)
		if top == "" {
			return nil, app.Usagef("%s: there is no repository", dir)
		}
		if !slices.Contains(tops, top) {
			tops = append(tops, top)
		}
	}
	return tops, nil
}

// tellView says where the page is.
func (t *tool) tellView(cmd *cobra.Command, f view.Found, first, open, asJSON bool) error {
	switch {
	case asJSON:
		if err := t.IO.JSONLine(f); err != nil {
			return err
		}
	case first:
		t.IO.Printf("%s\n", f.Address)
	default:
		t.IO.Printf("%s\n", f.Address)
		t.IO.Say("it is served already, by process %d", f.PID)
	}
	if !open {
		if first && !asJSON {
			t.IO.Say("`cco view --open` opens it, `cco view code` prints a code to come in with; Ctrl-C ends it")
		}
		return nil
	}
	err := view.Open(cmd.Context(), t.Dirs.Data, t.Env)
	if err != nil && first {
		t.IO.Warn("%v", err) // the page is served all the same
		return nil
	}
	return err
}

func (t *tool) viewCode() *cobra.Command {
	var asJSON *bool
	var asQR bool
	c := &cobra.Command{
		Use: "code", Short: "Print a code that lets one browser in", Args: cli.AtMost(0),
		Long: `Print a code that lets one browser in to the page that is being served. It lives a
minute, and once. --qr draws it for the camera of a phone, with the address of the
first name in the setting view.hosts: a phone does not reach this machine's own.`,
		Example: `  cco view code
  cco view code --qr`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			address, code, err := view.Code(cmd.Context(), t.Dirs.Data)
			if err != nil {
				return err
			}
			cfg, err := t.ConfigIn("")
			if err != nil {
				return err
			}
			if *asJSON {
				return t.IO.JSON(map[string]string{"code": code, "address": address})
			}
			if asQR {
				at := app.PageAddress(address, cfg.View.Hosts)
				drawn, err := view.QR(at + "/#code=" + code)
				if err != nil {
					return err
				}
				t.IO.Printf("%s", drawn)
				t.IO.Say("it leads to %s, for a minute and once", at)
				return nil
			}
			t.IO.Printf("%s\n", code)
			t.IO.Say("type it at %s within a minute", address)
			return nil
		},
	}
	asJSON = cli.JSONFlag(c)
	c.Flags().BoolVar(&asQR, "qr", false, "draw it for the camera of a phone")
	c.MarkFlagsMutuallyExclusive("qr", "json")
	return c
}

func (t *tool) viewForget() *cobra.Command {
	var asJSON *bool
	c := &cobra.Command{
		Use: "forget", Short: "Send everybody away who came in to the page", Args: cli.AtMost(0),
		Long: `Let nobody in any more who came in to the page before: browsers, programs with the
token, and codes that nobody has used. What is open ends at once. You come in again
with ` + "`cco view --open` or `cco view code`" + `.`,
		Example: "  cco view forget",
		RunE: func(cmd *cobra.Command, _ []string) error {
			running, err := view.Forget(cmd.Context(), t.Dirs.Data)
			if err != nil {
				return err
			}
			if *asJSON {
				return t.IO.JSON(map[string]bool{"running": running})
			}
			t.IO.Say("everybody is sent away")
			return nil
		},
	}
	asJSON = cli.JSONFlag(c)
	return c
}
