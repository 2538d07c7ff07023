package program

import (
	"strings"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// tar reads or writes by its mode, and runs programs by several options.
func (s *Judge) tar(argv []arg) {
	args := argv[1:]
	if len(args) > 0 && !strings.HasPrefix(args[0].Prefix(), "-") && args[0].Prefix() != "" {
		args = oldTarStyle(args)
	}
	o := word.Parse(args, "fCTXIbgHVKNFL", "--file", "--directory", "--files-from", "--exclude", "--exclude-from",
		"--use-compress-program",
		"--to-command", "--checkpoint-action", "--rsh-command", "--info-script", "--new-volume-script", "--transform",
		"--one-top-level", "--owner", "--group", "--mtime")
	for _, a := range o.Values("-I", "--use-compress-program", "--to-command", "--rsh-command", "-F", "--info-script",
		"--new-volume-script") {
		s.Isolated(func() { s.RunText(a.Text, a, "tar") })
	}
	for _, a := range o.Values("--checkpoint-action") {
		if rest, ok := strings.CutPrefix(a.Prefix(), "exec="); ok {
			s.Isolated(func() { s.RunText(word.Lit(rest).With(a.Text[1:]...), a, "tar") })
		}
	}
	extracts := o.Has("-x", "--extract", "--get")
	creates := o.Has("-c", "-r", "-u", "-A", "--create", "--append", "--update", "--delete", "--concatenate")
	if extracts && o.Has("-P", "--absolute-names") {
		s.Deny(verdict.RuleWrite, word.Cover(argv), "", "tar -P writes absolute names from the archive", "extract without -P")
	}
	if creates {
		for _, a := range o.Values("-f", "--file") {
			s.Operand(a)
		}
	}
	if o.Has("--remove-files") {
		for _, a := range append(o.Operands, o.Values("-C", "--directory")...) {
			s.Check(land.Remove, a)
		}
	}
	if extracts {
		for _, a := range o.Values("-C", "--directory", "--one-top-level") {
			s.Check(land.Write, a)
			s.fills(a)
		}
		for _, a := range o.Operands { // members that overwrite guarded files
			s.Check(land.Write, a)
		}
	}
	s.Print(word.Unknown(word.Dynamic))
}

// oldTarStyle gives the first argument of tar its dash and moves values after
// the letters that take them.
func oldTarStyle(args []arg) []arg {
	letters := args[0].Prefix()
	rest := args[1:]
	var out []arg
	for i := range len(letters) {
		out = append(out, args[0].Hold(word.Lit("-"+letters[i:i+1])))
		if strings.IndexByte("fCTXbHVKNgIFL", letters[i]) >= 0 && len(rest) > 0 {
			out = append(out, rest[0])
			rest = rest[1:]
		}
	}
	return append(out, rest...)
}

// labels handles build tools whose targets look like //path:name.
func (s *Judge) labels(argv []arg) {
	var rest []arg
	for _, a := range argv {
		v := strings.TrimPrefix(a.Prefix(), "-")
		label := strings.HasPrefix(v, "//") || strings.HasPrefix(v, "@") || strings.Contains(v, "//") &&
			!strings.Contains(v, "://") && !strings.HasPrefix(v, "/") && !strings.HasPrefix(v, "-")
		if !label {
			rest = append(rest, a)
		}
	}
	s.generic(rest)
}

// container denies mounts that open a way out and ways into the host's
// namespaces; what runs inside is the container's.
func (s *Judge) container(argv []arg) {
	_, rest := word.Leading(argv[1:], "HcDl", []string{"--host", "--context", "--config", "--log-level"})
	s.Print(word.Unknown(word.Dynamic))
	if len(rest) == 0 {
		return
	}
	if rest[0].Is("container") || rest[0].Is("buildx") || rest[0].Is("image") {
		if rest = rest[1:]; len(rest) == 0 {
			return
		}
	}
	if rest[0].Is("compose") {
		for i, a := range rest {
			if a.Is("exec") || a.Is("run") {
				rest = rest[:i] // what follows is the container's
				break
			}
		}
	}
	switch sub, _ := rest[0].Literal(); sub {
	case "run", "create":
		s.containerRun(rest)
	case "exec":
		if word.Parse(rest[1:], "euw").Has("--privileged") {
			s.Deny(verdict.RuleLink, word.Cover(rest), "", "a privileged container reaches the host",
				"run it without --privileged")
		}
	case "cp":
		for _, a := range word.Parse(rest[1:], "").Operands {
			if !strings.Contains(a.Known(), ":") {
				s.Check(land.Write, a)
			}
		}
	case "ps", "images", "logs", "inspect", "info", "version", "stats", "top", "port", "pull", "push", "tag", "stop",
		"start", "restart", "rm", "rmi", "kill", "wait", "network", "system", "history", "events":
	default:
		for i, a := range rest[1:] {
			option := optionOf(rest, i+1)
			own := word.Listed(" build-arg label t tag e env target name platform ", option) // the image's
			if !own && (option == "" || strings.HasPrefix(a.Prefix(), "-") || !s.usesSystem(option, a)) {
				s.Loose(a)
			}
		}
	}
}

func (s *Judge) containerRun(rest []arg) {
	long := []string{"--volume", "--mount", "--name", "--network", "--net", "--env", "--env-file", "--workdir", "--user",
		"--entrypoint", "--publish", "--platform", "--memory", "--cpus", "--label",
		"--add-host", "--cap-add", "--cap-drop", "--device", "--hostname", "--restart", "--security-opt", "--shm-size",
		"--tmpfs", "--ulimit", "--cidfile", "--pull", "--pid", "--ipc", "--uts", "--userns", "--gpus", "--link", "--expose",
		"--log-driver", "--health-cmd", "--stop-signal", "--volumes-from", "--init-path", "--runtime"}
	o, _ := word.Leading(rest[1:], "vepuwmlhac", long)
	for _, a := range o.Values("-v", "--volume") {
		parts := a.Split(":")
		if len(parts) > 0 && (strings.ContainsAny(parts[0].Prefix(), "/.~") || parts[0].First() != word.Literal) {
			s.mount(a.Hold(parts[0]))
		}
	}
	for _, a := range o.Values("--mount") {
		for _, field := range a.Split(",") {
			for _, key := range []string{"src=", "source="} {
				if strings.HasPrefix(field.Prefix(), key) && !strings.Contains(a.Known(), "type=volume") {
					s.mount(a.Hold(field.Cut(len(key))))
				}
			}
		}
	}
	for _, a := range o.Values("--cidfile") {
		s.Check(land.Write, a)
	}
	if o.Has("--privileged") || o.Has("--device", "--volumes-from") {
		s.Deny(verdict.RuleLink, word.Cover(rest), "", "this container could reach the host",
			"run it without host devices and privileges")
	}
	for _, a := range o.Values("--pid", "--ipc", "--uts", "--userns", "--cap-add") {
		if a.Is("host") || strings.Contains(strings.ToUpper(a.Known()), "SYS") || strings.EqualFold(a.Known(), "all") {
			s.Deny(verdict.RuleLink, a, "", "this container could reach the host", "leave "+a.Known()+" out")
		}
	}
}

// mount checks what a container would see of this machine.
func (s *Judge) mount(a arg) {
	where, abs := s.Locate(a.Text, s.Dir(), false)
	if where.Writable() || where == land.Unknown && a.Worst() < word.Dynamic {
		return
	}
	if where == land.Unknown {
		s.Deny(verdict.RuleUnknownPath, a, "", "the mount source "+a.String()+" can't be told beforehand", "write it out")
	}
	s.Deny(verdict.RuleLink, a, abs, "mounting "+verdict.Clip(abs, 200)+" would open a way out of the workspace",
		"mount a directory below "+s.Workspace())
}
