package program

import (
	"path"
	"strings"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/program/table"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
	"github.com/cco-dev/cco/internal/paths"
)

// Set looks at a variable that is set, for those that change what other programs do.
func (s *Judge) Set(name string, value arg) {
	if strings.HasPrefix(name, "GIT_") {
		s.Setting(name, value)
		return
	}
	if strings.HasPrefix(name, bashFunction) {
		s.Deny(verdict.RuleEnvironment, value, "", "this would put a function in the place of a command of other shells",
			"write the command out")
	}
	switch name {
	case "PS4", "PS1", "PS0", "PS2":
		s.Isolated(func() { s.Document(value.Text) })
	case "PROMPT_COMMAND", "EDITOR", "VISUAL", "PAGER", "MANPAGER", "LESSOPEN", "LESSCLOSE", "BROWSER", "FCEDIT",
		"SUDO_ASKPASS", "SSH_ASKPASS", "RUSTC_WRAPPER", "CARGO_BUILD_RUSTC_WRAPPER", "CMAKE_C_COMPILER_LAUNCHER", "LESSEDIT",
		"KUBE_EDITOR", "GH_PAGER", "GH_EDITOR", "GH_BROWSER", "GLAB_PAGER":
		s.ProgramSetting(value)
	case "BASH_ENV", "ENV", "PYTHONSTARTUP":
		s.loadedFile(value)
	case "LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "PATH":
		for _, t := range value.Split(": ") {
			s.foreign(name, value.Hold(t))
		}
	case "MAKEFILES":
		for _, t := range value.Split(" ") {
			s.loadedFile(value.Hold(t))
		}
	case "MAKEFLAGS", "GNUMAKEFLAGS":
		s.Mentions(value.Text, value)
		words := word.Literals(value, append([]string{"make"}, strings.Fields(value.Known())...)...)
		s.Isolated(func() { s.described(table.ToolRow, "make", words) })
	case "GOFLAGS":
		if v := value.Known(); strings.Contains(v, "exec") || strings.Contains(v, "vettool") {
			s.Deny(verdict.RuleEnvironment, value, "", "GOFLAGS would make go run another program", "leave it out")
		}
		s.Mentions(value.Text, value)
	}
}

// bashFunction begins the names of variables by which shells get functions.
const bashFunction = "BASH_FUNC_"

// ProgramSetting reads a variable that names a command to be run.
func (s *Judge) ProgramSetting(value arg) {
	if value.Worst() > word.Literal || len(value.Text) == 0 {
		return
	}
	s.Isolated(func() { s.RunText(value.Text, value, "a program named in a variable") })
}

// loadedFile reads a variable that names a file which every shell runs first.
func (s *Judge) loadedFile(value arg) {
	v, ok := value.Literal()
	if !ok || v == "" {
		return
	}
	abs := s.Absolute(v)
	if content, ok := s.Files[abs]; ok {
		s.Isolated(func() { s.RunText(content, value, "a start-up file") })
		return
	}
	s.CheckProgram(abs, value)
}

// foreign denies programs and libraries outside, but for those of the system and the user's own.
func (s *Judge) foreign(name string, a arg) {
	where, abs := s.Locate(a.Text, s.Dir(), false)
	if where >= land.System || where == land.Protected || where == land.Unknown || s.IsUserProgram(abs+"/") {
		return
	}
	s.leads(name, a, abs)
}

// leads denies a variable that names a place outside.
func (s *Judge) leads(name string, a arg, abs string) {
	s.Deny(verdict.RuleEnvironment, a, abs, name+" would lead a program to "+verdict.Clip(abs, 200)+
		", outside the workspace", "point it below "+s.Workspace())
}

// Sees judges a variable that a program will see: one that aims what is written, and any other that names a place
// outside or a command, unless it is known to be harmless.
func (s *Judge) Sees(name string, value arg, argv []arg) {
	if strings.HasPrefix(name, "GIT_") || len(argv) == 0 || len(value.Text) == 0 {
		return // judged where it was set
	}
	prog, ok := argv[0].Literal()
	if ok && (table.ReadsOnly(prog) || s.IsBuiltin(prog)) {
		return
	}
	prog = path.Base(prog)
	if ok && table.InterpreterOf(prog) == "shell" && len(argv) > 2 && strings.HasPrefix(argv[1].Prefix(), "-") &&
		strings.Contains(argv[1].Known(), "c") && !table.DirectsWrites(name) {
		s.Export(name, value) // what is run by the text sees it
		return
	}
	if !table.DirectsWrites(name) && (name == "PATH" || ok && table.IgnoresVariables(prog) ||
		table.CarriesText(table.LastWord(name), value)) {
		return
	}
	where, abs, found := s.Mentioned(value.Text)
	own := name == "HOME" && abs == s.Home() // passed on as it is
	if found && where != land.Protected && !own && !s.isToolHome(name, abs) {
		s.leads(name, value, abs)
	}
	s.storedCommand(value)
}

// isToolHome says that a variable names where a program of the user's own is installed, or what it only reads.
func (s *Judge) isToolHome(name, abs string) bool {
	if s.IsUserProgram(abs) {
		return !table.DirectsWrites(name)
	}
	if table.NamesTool(name) {
		return paths.Within(abs, s.Home()) && (s.Land.Host == "" || !paths.Within(abs, s.Land.Host))
	}
	return word.Listed(" SSH_AUTH_SOCK SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE "+
		"CURL_CA_BUNDLE GOOGLE_APPLICATION_CREDENTIALS DOCKER_HOST PGHOST DISPLAY XAUTHORITY WAYLAND_DISPLAY "+
		"DBUS_SESSION_BUS_ADDRESS LS_COLORS MANPATH INFOPATH PWD OLDPWD LOGNAME ", name)
}

// inherited judges what a program sees of the variables exported so far.
func (s *Judge) inherited(argv []arg) {
	for _, e := range s.Exports {
		for _, t := range s.Vars[e.Name].Alts {
			s.Sees(e.Name, e.At.Hold(t), argv)
		}
	}
}
