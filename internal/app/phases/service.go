package phases

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/proc"
)

// service is how a system starts the engine by itself, and again when it has died.
type service struct {
	goos  string
	file  string // below home
	text  func(self string, env []string) string
	begin [][]string // commands that let the file take effect; %s is the file
	end   [][]string // and those that undo it
	// has asks the system's own environment, which the engine will have, for a variable; %s is its name
	has func(ctx context.Context, name, value string) bool
}

func services() []service {
	return []service{
		{goos: "linux", file: ".config/systemd/user/cco-cruise.service", text: unit,
			begin: [][]string{{"systemctl", "--user", "daemon-reload"},
				{"systemctl", "--user", "enable", "--now", "cco-cruise.service"}},
			end: [][]string{{"systemctl", "--user", "disable", "--now", "cco-cruise.service"}},
			has: func(ctx context.Context, name, value string) bool {
				out, err := proc.Output(ctx, proc.Cmd{Argv: []string{"systemctl", "--user", "show-environment"}})
				return err == nil && slices.Contains(strings.Split(string(out), "\n"), name+"="+value)
			}},
		{goos: "darwin", file: "Library/LaunchAgents/dev.cco.cruise.plist", text: plist,
			begin: [][]string{{"launchctl", "load", "-w", "%s"}},
			end:   [][]string{{"launchctl", "unload", "-w", "%s"}},
			has: func(ctx context.Context, name, value string) bool {
				out, err := proc.Output(ctx, proc.Cmd{Argv: []string{"launchctl", "getenv", name}})
				return err == nil && strings.TrimSpace(string(out)) == value
			}},
	}
}

// placed are the variables that say where things are. They are written into the service's file.
func placed() []string { return []string{"PATH", "XDG_DATA_HOME", "XDG_CONFIG_HOME"} }

// fromShell are the variables that forges and models are reached with. A service has none of them from a shell.
func (a *Phases) fromShell() ([]string, error) {
	cfg, err := a.Config()
	if err != nil {
		return nil, err
	}
	names := append(forge.TokenVars(), "CCO_FORGE", "CCO_WEBHOOK_SECRET", "CCO_GITHUB_APP_ID",
		"CCO_GITHUB_APP_INSTALLATION", "GH_CONFIG_DIR")
	for _, c := range clients() {
		names = append(names, c.HostVar)
	}
	for _, p := range broker.Providers() {
		names = append(append(names, p.KeyVars...), p.BaseVar)
	}
	for _, k := range cfg.Keys {
		names = append(names, k.Env)
	}
	names = append(names, cfg.Engine.APIKey.Env)
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == "" }), nil
}

func serviceHere() (service, error) {
	all := services()
	i := slices.IndexFunc(all, func(s service) bool { return s.goos == runtime.GOOS })
	if i < 0 {
		return service{}, app.Usagef("no service manager of %s is known", runtime.GOOS)
	}
	return all[i], nil
}

// InstallService has the system start the engine, now and always. It gives the file, and what the user should know.
func (a *Phases) InstallService(ctx context.Context) (file string, notes []string, err error) {
	s, err := serviceHere()
	if err != nil {
		return "", nil, err
	}
	var only []string
	names, err := a.fromShell()
	if err != nil {
		return "", nil, err
	}
	for _, name := range names {
		if v := a.Env(name); v != "" && !s.has(ctx, name, v) {
			only = append(only, name)
		}
	}
	if len(only) > 0 {
		return "", nil, &StateError{Why: fmt.Sprintf("a service would not have what only this shell's environment has: %s. "+
			"Put tokens where `gh auth login` or `tea login add` keeps them, models' keys into the settings (`keys`), and "+
			"run this without those variables", strings.Join(only, ", "))}
	}
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	var env []string
	for _, name := range placed() {
		if v := a.Env(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	file = filepath.Join(a.Home, s.file)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { // as the system's own tools make it
		return file, nil, err
	}
	if err := os.WriteFile(file, []byte(s.text(self, env)), 0o644); err != nil { // it holds no secret
		return file, nil, err
	}
	if err := a.runAll(ctx, s.begin, file); err != nil {
		return file, nil, err
	}
	if runtime.GOOS == "linux" {
		notes = lingering(ctx)
	}
	return file, notes, nil
}

// lingering says if the engine will end when the user logs out.
func lingering(ctx context.Context) []string {
	me, err := user.Current()
	if err != nil {
		return nil
	}
	out, err := proc.Output(ctx, proc.Cmd{Argv: []string{"loginctl", "show-user", me.Username, "--property=Linger"}})
	if err == nil && strings.TrimSpace(string(out)) == "Linger=yes" {
		return nil
	}
	return []string{"lingering is off: the engine ends when you log out, and starts when you log in; `loginctl " +
		"enable-linger` lets it run always"}
}

// RemoveService undoes InstallService.
func (a *Phases) RemoveService(ctx context.Context) (file string, err error) {
	s, err := serviceHere()
	if err != nil {
		return "", err
	}
	file = filepath.Join(a.Home, s.file)
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return file, &StateError{Why: "no service is installed"}
	}
	return file, errors.Join(a.runAll(ctx, s.end, file), os.Remove(file))
}

func (a *Phases) runAll(ctx context.Context, commands [][]string, file string) error {
	for _, argv := range commands {
		argv = slices.Clone(argv)
		for i := range argv {
			argv[i] = strings.ReplaceAll(argv[i], "%s", file)
		}
		if _, err := proc.Output(ctx, proc.Cmd{Argv: argv}); err != nil {
			return fmt.Errorf("%s: %w (the file is %s)", strings.Join(argv, " "), err, file)
		}
	}
	return nil
}

// unit is the engine for systemd. Another engine may still run: it is tried again until that has ended. One that ended
// in order was drained, and stays so.
func unit(self string, env []string) string {
	var b strings.Builder
	b.WriteString("[Unit]\nDescription=The engine of cco's phases\nStartLimitIntervalSec=0\n\n[Service]\n")
	for _, e := range env {
		fmt.Fprintf(&b, "Environment=%s\n", quoted(e))
	}
	fmt.Fprintf(&b, "ExecStart=%s cruise serve\nRestart=on-failure\nRestartSec=10\nKillMode=process\n\n"+
		"[Install]\nWantedBy=default.target\n", quoted(self))
	return b.String()
}

// quoted is a word as systemd reads it.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`, `$`, `$$`, "\n", `\n`).Replace(s) + `"`
}

// plist is the engine for launchd.
func plist(self string, env []string) string {
	xml := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict>
<key>Label</key><string>dev.cco.cruise</string>
<key>RunAtLoad</key><true/>
<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
<key>ThrottleInterval</key><integer>10</integer>
<key>AbandonProcessGroup</key><true/>
<key>EnvironmentVariables</key><dict>
`)
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		fmt.Fprintf(&b, "<key>%s</key><string>%s</string>\n", name, xml.Replace(value))
	}
	fmt.Fprintf(&b, `</dict>
<key>ProgramArguments</key><array><string>%s</string><string>cruise</string><string>serve</string></array>
</dict></plist>
`, xml.Replace(self))
	return b.String()
}
