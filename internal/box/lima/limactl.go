package lima

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/proc"
)

// instance is limactl's description of a machine.
type instance struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Arch   string `json:"arch"`
	Config struct {
		Mounts []struct {
			Location   string `json:"location"`
			MountPoint string `json:"mountPoint"`
			Writable   bool   `json:"writable"`
		} `json:"mounts"`
		User struct {
			Name string `json:"name"`
		} `json:"user"`
	} `json:"config"`
}

// These are limactl's names for the states of a machine.
const (
	running       = "Running"
	stopped       = "Stopped"
	broken        = "Broken"
	uninitialized = "Uninitialized"
	installing    = "Installing"
)

// check refuses an unknown state.
func (i *instance) check() error {
	switch i.Status {
	case running, stopped, broken, uninitialized, installing:
		return nil
	}
	return fmt.Errorf("limactl says that machine %s is %q, which this cco doesn't know", i.Name, i.Status)
}

// goArch is Go's name for the machine's architecture.
func (i *instance) goArch() (string, error) {
	if arch, ok := map[string]string{"x86_64": "amd64", "aarch64": "arm64"}[i.Arch]; ok {
		return arch, nil
	}
	return "", fmt.Errorf("machine %s has the architecture %q, which cco does not support", i.Name, i.Arch)
}

// shows says whether the machine sees a directory as its exchange.
func (i *instance) shows(exchange string) bool {
	for _, m := range i.Config.Mounts {
		if m.MountPoint == "/exchange" && m.Location == exchange && m.Writable {
			return true
		}
	}
	return false
}

// oldest is the first limactl that composes templates.
const oldest = "v1.1.0"

const installHint = "install it: https://lima-vm.io/docs/installation/ (for example: brew install lima)"

// checkLimactl makes sure that limactl is usable.
func (d *Driver) checkLimactl(ctx context.Context) error {
	if _, err := proc.LookPath(d.opts.Limactl); err != nil {
		return &box.Unavailable{What: "lima", Why: "limactl is not installed", Mend: installHint}
	}
	if d.opts.Root {
		return &box.Unavailable{What: "lima", Why: "limactl does not run as root", Mend: "run cco as an ordinary user"}
	}
	out, err := proc.Output(ctx, proc.Cmd{Argv: []string{d.opts.Limactl, "--version"}})
	if err != nil {
		return fmt.Errorf("ask limactl for its version: %w", err)
	}
	version := regexp.MustCompile(`\b(\d+)\.(\d+)\.(\d+)`).FindString(string(out))
	if version == "" {
		return fmt.Errorf("ask limactl for its version: it says %q", strings.TrimSpace(string(out)))
	}
	if semver.Compare("v"+version, oldest) < 0 {
		return &box.Unavailable{What: "lima", Mend: installHint,
			Why: "limactl is version " + version + ", the first usable one is " + oldest[1:]}
	}
	return nil
}

// limactl runs limactl, never on a terminal, and passes its messages on to the user while it works.
func (d *Driver) limactl(ctx context.Context, report box.Report, stdin io.Reader, args ...string) ([]byte, error) {
	var out bytes.Buffer
	told := &progress{report: report}
	err := proc.Run(ctx, proc.Cmd{
		Argv: append([]string{d.opts.Limactl, "--tty=false"}, args...), Stdin: stdin, Stdout: &out, Stderr: told,
	})
	if exit, ok := errors.AsType[*proc.ExitError](err); ok {
		// Its status must not be taken for that of a program in a box.
		err = fmt.Errorf("limactl %s: exit status %d: %s", args[0], exit.Code, told.last())
	}
	return out.Bytes(), err
}

// list reads limactl's descriptions of all machines, one object per line. An unreadable line is an error: otherwise its
// machine would be taken for one that was never made.
func (d *Driver) list(ctx context.Context) ([]instance, error) {
	out, err := d.limactl(ctx, nil, nil, "list", "--format", "json")
	if err != nil {
		return nil, err
	}
	return parseList(out)
}

func parseList(out []byte) ([]instance, error) {
	var all []instance
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var i instance
		if err := json.Unmarshal(lines.Bytes(), &i); err != nil || i.Name == "" {
			return nil, fmt.Errorf("read limactl list: %w", errors.Join(err, fmt.Errorf("line %.80q", lines.Text())))
		}
		all = append(all, i)
	}
	return all, lines.Err()
}

// find returns a machine, nil if there is none of that name.
func (d *Driver) find(ctx context.Context, name string) (*instance, error) {
	all, err := d.list(ctx)
	if err != nil {
		return nil, err
	}
	for _, i := range all {
		if i.Name == name {
			return &i, i.check()
		}
	}
	return nil, nil // none exists, which is not an error
}

// progress reads limactl's log lines.
type progress struct {
	report box.Report
	rest   []byte
	tail   []string
}

// Write never fails.
func (p *progress) Write(data []byte) (int, error) {
	p.rest = append(p.rest, data...)
	for {
		line, rest, ok := bytes.Cut(p.rest, []byte("\n"))
		if !ok {
			break
		}
		p.rest = rest
		p.say(string(line))
	}
	if len(p.rest) > 64<<10 {
		p.rest = nil
	}
	return len(data), nil
}

func (p *progress) say(line string) {
	level, msg := parseLog(line)
	if msg == "" {
		return
	}
	p.tail = append(p.tail, msg)
	p.tail = p.tail[max(0, len(p.tail)-4):]
	if p.report != nil && level != "debug" {
		p.report("lima: %s", msg)
	}
}

// last is the end of limactl's output.
func (p *progress) last() string { return strings.Join(p.tail, "; ") }

// parseLog extracts the level and the message from a line such as time="…" level=info msg="Starting".
func parseLog(line string) (level, msg string) {
	_, after, ok := strings.Cut(line, "level=")
	if !ok {
		return "", strings.TrimSpace(line)
	}
	level, after, _ = strings.Cut(after, " ")
	_, quoted, ok := strings.Cut(after, "msg=")
	if !ok {
		return level, strings.TrimSpace(after)
	}
	if prefix, err := strconv.QuotedPrefix(quoted); err == nil {
		if text, err := strconv.Unquote(prefix); err == nil {
			return level, text
		}
	}
	return level, quoted
}

// limaHome is where limactl keeps machines.
func limaHome(getenv func(string) string, home string) string {
	if dir := getenv("LIMA_HOME"); dir != "" {
		return dir
	}
	return home + string(os.PathSeparator) + ".lima"
}
