package guard

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cco-dev/cco/internal/paths"
)

// setting looks at a variable that is set, for those that change what other
// programs do. Lasting is false in front of a single command.
func (s *shell) setting(name string, value arg, lasting bool) {
	if strings.HasPrefix(name, "GIT_") {
		s.gitSetting(name, value)
		return
	}
	if strings.HasPrefix(name, bashFunction) {
		s.deny(RuleEnvironment, value, "", "this would put a function in the place of a command of other shells",
			"write the command out")
	}
	switch name {
	case "PS4", "PS1", "PS0", "PS2":
		s.isolated(func() { s.document(value.text) })
	case "PROMPT_COMMAND", "EDITOR", "VISUAL", "PAGER", "MANPAGER", "LESSOPEN", "LESSCLOSE", "BROWSER", "FCEDIT",
		"SUDO_ASKPASS", "SSH_ASKPASS", "RUSTC_WRAPPER", "CARGO_BUILD_RUSTC_WRAPPER", "CMAKE_C_COMPILER_LAUNCHER", "LESSEDIT",
		"KUBE_EDITOR":
		s.programSetting(value)
	case "BASH_ENV", "ENV", "PYTHONSTARTUP":
		s.loadedFile(value)
	case "LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES":
		for _, t := range value.split(": ") {
			s.foreign(arg{t, value.start, value.end})
		}
	case "PATH":
		for _, t := range value.split(":") {
			s.pathEntry(arg{t, value.start, value.end})
		}
	case "MAKEFILES":
		for _, t := range value.split(" ") {
			s.loadedFile(arg{t, value.start, value.end})
		}
	case "MAKEFLAGS", "GNUMAKEFLAGS":
		s.suspicious(value)
		s.isolated(func() {
			s.make(append(literals(value, "make"), literals(value, strings.Fields(value.known())...)...))
		})
	case "NODE_OPTIONS", "PERL5OPT", "RUBYOPT", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "PYTEST_ADDOPTS", "TAR_OPTIONS",
		"CARGO_BUILD_RUSTFLAGS", "RUSTFLAGS":
		s.suspicious(value)
	case "GOFLAGS":
		if v := value.known(); strings.Contains(v, "exec") || strings.Contains(v, "vettool") {
			s.deny(RuleEnvironment, value, "", "GOFLAGS would make go run another program", "leave it out")
		}
		s.suspicious(value)
	case "SHELLOPTS", "BASHOPTS", "IFS":
	}
}

// bashFunction begins the names of variables by which shells get functions.
const bashFunction = "BASH_FUNC_"

// programSetting reads a variable that names a command to be run.
func (s *shell) programSetting(value arg) {
	if value.worst() > literal || len(value.text) == 0 {
		return
	}
	s.isolated(func() { s.runText(value.text, value, "a program named in a variable") })
}

// loadedFile reads a variable that names a file which every shell runs first.
func (s *shell) loadedFile(value arg) {
	v, ok := value.literal()
	if !ok || v == "" {
		return
	}
	abs := s.absolute(v)
	if content, ok := s.sc.files[abs]; ok {
		s.isolated(func() { s.runText(content, value, "a start-up file") })
		return
	}
	s.checkProgram(abs, value)
}

// foreign denies a library from outside.
func (s *shell) foreign(a arg) {
	if where, abs := s.locate(a.text, s.sc.dirs[0], false); where < placeSystem && where != placeUnknown &&
		strings.Contains(a.known(), "/") {
		s.deny(RuleEnvironment, a, abs, clip(abs, 200)+" would be loaded from outside the workspace", "use what is below "+
			s.land.workspace)
	}
}

// pathEntry denies directories of programs outside, but for those of the
// system and the user's own.
func (s *shell) pathEntry(a arg) {
	if a.first() >= environ {
		return
	}
	where, abs := s.locate(a.text, s.sc.dirs[0], false)
	if where >= placeSystem || where == placeProtected || where == placeUnknown || s.isUserProgram(abs) ||
		abs == path.Join(s.land.home, "bin") {
		return
	}
	s.deny(RuleEnvironment, a, abs, "PATH would find programs in "+clip(abs, 200)+", outside the workspace",
		"use what is installed or below "+s.land.workspace)
}

// exported looks at an assignment in front of a command that will see it.
func (s *shell) exported(a *syntax.Assign, argv []arg) {
	if a.Name == nil || a.Value == nil {
		return
	}
	for _, t := range s.texts(a.Value) {
		at := nodeArg(a)
		s.exportedValue(a.Name.Value, arg{t, at.start, at.end}, argv)
	}
}

// exportedValue judges a variable that a program will see: one that aims what
// is written, and any other that names a place outside or a command, unless it
// is known to be harmless.
func (s *shell) exportedValue(name string, value arg, argv []arg) {
	if strings.HasPrefix(name, "GIT_") || len(argv) == 0 || len(value.text) == 0 {
		return // judged where it was set
	}
	program, ok := argv[0].literal()
	if program = path.Base(program); ok && (readsOnly(program) || s.isBuiltin(program)) {
		return
	}
	if directsWrites(name) {
		s.directedWrites(name, value)
	}
	if name == "HOME" || name == "PATH" || ok && (ignoresVariables(program) || s.followsVariables(name, argv)) ||
		carriesText(lastWord(name), value) {
		return
	}
	m, found := s.mentioned(value.text)
	if found && m.where != placeProtected && !s.isToolHome(name, m.abs) {
		s.deny(RuleEnvironment, value, m.abs, name+" would lead a program to "+clip(m.abs, 200)+", outside the workspace",
			"point it below "+s.land.workspace)
	}
	s.storedCommand(value)
}

// lastWord is the last part of a variable's name.
func lastWord(name string) string {
	return name[strings.LastIndexByte(name, '_')+1:]
}

// isToolHome says that a variable names where a program of the user's own is
// installed, or what it only reads.
func (s *shell) isToolHome(name, abs string) bool {
	if s.isUserProgram(abs) {
		return !directsWrites(name)
	}
	switch name {
	case "JAVA_HOME", "JDK_HOME", "GOROOT", "ANDROID_HOME", "ANDROID_SDK_ROOT", "ANDROID_NDK_HOME", "CUDA_HOME", "M2_HOME",
		"MAVEN_HOME", "GRADLE_HOME", "NVM_DIR", "PYENV_ROOT", "SDKMAN_DIR":
		return paths.Within(abs, s.land.home) && (s.land.host == "" || !paths.Within(abs, s.land.host))
	case "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
		"GOOGLE_APPLICATION_CREDENTIALS",
		"DOCKER_HOST", "PGHOST", "DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "LS_COLORS",
		"MANPATH", "INFOPATH", "PWD", "OLDPWD", "LOGNAME":
		return true
	}
	return false
}

// ignoresVariables names the programs that obey none but those that are judged
// where they are set.
func ignoresVariables(program string) bool {
	switch program {
	case "git", "cp", "mv", "ln", "rm", "rmdir", "mkdir", "chmod", "chown", "touch", "tee", "dd", "tar", "zip", "unzip",
		"sed", "awk", "gawk", "mawk", "find", "xargs", "env", "sudo",
		"nice", "timeout", "time", "nohup", "rsync", "kill", "truncate", "install", "mktemp", "gzip", "gunzip", "sleep", "jq",
		"gh":
		return true
	}
	return false
}

// followsVariables says that a program is given as text, in which the variables
// are followed to where they are used. Those of the interpreter itself are not.
func (s *shell) followsVariables(name string, argv []arg) bool {
	lang := interpreterOf(path.Base(argv[0].known()))
	if lang == "" || lang == "other" || len(argv) < 3 {
		return false
	}
	for _, prefix := range []string{"PYTHON", "NODE", "NPM", "RUBY", "GEM", "BUNDLE", "PERL", "PHP", "LUA", "DENO", "BUN",
		"BASH_", "ENV", "ZDOTDIR", "LD_", "FISH"} {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	v := argv[1].prefix()
	return strings.HasPrefix(v, "-") && !strings.HasPrefix(v, "--") && strings.ContainsAny(v, "ce") || lang == "awk"
}

// directedWrites denies a variable that tells a program to write outside.
func (s *shell) directedWrites(name string, value arg) {
	for _, t := range value.split(":") {
		if !strings.HasPrefix(t.prefix(), "/") && !strings.HasPrefix(t.prefix(), "..") {
			continue
		}
		where, abs := s.locate(t, s.sc.dirs[0], false)
		own := name == "HOME" && abs == s.land.home // passed on as it is
		if where >= placeSystem || where == placeUnknown || where == placeProtected || own || s.isToolHome(name, abs) ||
			s.imaginary(t) {
			continue
		}
		s.deny(RuleEnvironment, value, abs, name+" would send files to "+clip(abs, 200)+", outside the workspace",
			"point it below "+s.land.workspace)
	}
}

// exportedVar is a variable that every program after it sees.
type exportedVar struct {
	name string
	at   arg
}

// export makes a variable one that programs see.
func (s *shell) export(name string, at arg) {
	s.sc.exports = append(s.sc.exports[:len(s.sc.exports):len(s.sc.exports)], exportedVar{name, at})
}

// inherited judges what a program sees of the variables exported so far.
func (s *shell) inherited(argv []arg) {
	for _, e := range s.sc.exports {
		for _, t := range s.sc.vars[e.name].values() {
			s.exportedValue(e.name, arg{t, e.at.start, e.at.end}, argv)
		}
	}
}

// directsWrites says whether tools take a variable of this name as a place to
// write to.
func directsWrites(name string) bool {
	upper := strings.ToUpper(name)
	switch upper {
	case "HOME", "DESTDIR", "PREFIX", "GOBIN", "GOPATH", "GOCACHE", "GOMODCACHE", "TMPDIR", "OUT", "OUTDIR", "OUTPUT", "O",
		"DIST", "PYTHONUSERBASE", "PYTHONPYCACHEPREFIX", "HISTFILE", "SQLITE_HISTORY", "GNUPGHOME", "LOG", "LOGFILE",
		"GOTMPDIR", "GOCOVERDIR", "GOENV", "CDPATH", "DOCKER_CONFIG":
		return true
	case "JAVA_HOME", "ANDROID_HOME", "GOROOT", "CUDA_HOME", "M2_HOME", "JDK_HOME", "MAVEN_HOME", "GRADLE_HOME", "NVM_DIR",
		"PYENV_ROOT", "ANDROID_SDK_ROOT", "SDKMAN_DIR", "SSL_CERT_FILE", "SSL_CERT_DIR":
		return false
	}
	for _, suffix := range []string{"_DIR", "_HOME", "_FILE", "_LOG", "_PREFIX", "_OUT", "_OUTPUT", "_DEST", "_TARGET",
		"_CACHE", "_ROOT", "_FOLDER", "_STORE", "_HISTORY", "USERCONFIG", "GLOBALCONFIG"} {
		if strings.HasSuffix(upper, suffix) {
			return true
		}
	}
	return strings.HasPrefix(upper, "NPM_CONFIG_") || strings.HasPrefix(upper, "XDG_") || strings.HasPrefix(upper, "PIP_")
}
