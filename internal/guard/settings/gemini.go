package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Gemini is the guard in the settings of Gemini CLI.
func Gemini() *Adapter {
	return &Adapter{
		agent: "gemini", start: "GEMINI_CLI_TRUST_WORKSPACE=true gemini",
		format:  inJSON,
		handler: handler{Type: "command", Timeout: hookSeconds * 1000},
		named:   true,
		keys:    []key{{"hooksConfig.enabled", true}},
		// Gemini runs no hook at all in a directory that it doesn't trust.
		system:    []key{{"security.folderTrust.enabled", false}},
		offBy:     []key{{"hooksConfig.enabled", false}},
		overrules: true,
		ofRoot:    true,
		others:    geminiOthers,
	}
}

func geminiOthers(l *look) {
	for _, f := range l.files {
		for _, name := range elements(at(f.tree, "hooksConfig.disabled")) {
			if name != "" && (name == l.hook.Name || name == l.hook.Command) {
				l.add("hooksConfig.disabled", Off, f.file+" switches the guard's hook off by name",
					"remove it from hooksConfig.disabled")
			}
		}
	}
}

// OfRoot says why gemini would ignore a system file: it, or a directory above it, could be changed by others than root.
func OfRoot(file string) error {
	for at := file; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return err
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid != 0 {
			return fmt.Errorf("%s is not owned by root", at)
		}
		if info.Mode()&0o022 != 0 {
			return fmt.Errorf("%s can be written by others than root", at)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}
