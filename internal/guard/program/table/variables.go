package table

import (
	"strings"

	"github.com/cco-dev/cco/internal/guard/word"
)

// LastWord is the last part of a variable's name.
func LastWord(name string) string {
	return name[strings.LastIndexByte(name, '_')+1:]
}

// IgnoresVariables names the programs that obey none but those that are judged
// where they are set.
func IgnoresVariables(prog string) bool {
	return word.Listed(" git cp mv ln rm rmdir mkdir chmod chown touch tee dd tar zip unzip sed awk gawk mawk find "+
		"xargs env sudo nice timeout time nohup rsync kill truncate install mktemp gzip gunzip sleep jq gh ", prog)
}

// NamesTool says whether a variable names where a tool is installed.
func NamesTool(name string) bool {
	return word.Listed(" JAVA_HOME JDK_HOME GOROOT ANDROID_HOME ANDROID_SDK_ROOT ANDROID_NDK_HOME CUDA_HOME M2_HOME "+
		"MAVEN_HOME GRADLE_HOME NVM_DIR PYENV_ROOT SDKMAN_DIR ", name)
}

// DirectsWrites says whether tools take a variable of this name as a place to
// write to.
func DirectsWrites(name string) bool {
	upper := strings.ToUpper(name)
	if word.Listed(" HOME DESTDIR PREFIX GOBIN GOPATH GOCACHE GOMODCACHE TMPDIR OUT OUTDIR OUTPUT O DIST "+
		"PYTHONUSERBASE PYTHONPYCACHEPREFIX HISTFILE SQLITE_HISTORY GNUPGHOME LOG LOGFILE GOTMPDIR GOCOVERDIR GOENV "+
		"CDPATH DOCKER_CONFIG ", upper) {
		return true
	}
	if NamesTool(upper) || upper == "SSL_CERT_FILE" || upper == "SSL_CERT_DIR" {
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
