package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// Gemini is the guard in the settings of Gemini CLI.
func Gemini() Adapter { return gemini{} }

type gemini struct{}

func (gemini) Agent() string { return "gemini" }

func (gemini) group(h Hook) group {
	return group{Hooks: []handler{{Name: h.Name, Type: "command", Command: h.command("gemini"),
		Timeout: hookSeconds * 1000}}}
}

func (a gemini) managed(h Hook) []File {
	type object = map[string]any
	hooks := map[string][]group{row(a).Event: {a.group(h)}}
	for event, groups := range h.turns(row(a)) {
		groups[0].Hooks[0].Timeout *= 1000
		hooks[event] = groups
	}
	return []File{{row(a).Managed, []byte(compact(object{
		"hooksConfig": object{"enabled": true},
		"hooks":       hooks,
		// Gemini runs no hook at all in a directory that it doesn't trust.
		"security": object{"folderTrust": object{"enabled": false}},
	}) + "\n"), 0o644}}
}

func (gemini) launch(Installation) string { return "GEMINI_CLI_TRUST_WORKSPACE=true gemini" }

func (gemini) gaps() []string {
	return []string{
		"a repository's .gemini/settings.json with hooksConfig.enabled = false",
		"a folder that gemini doesn't trust: it then runs no hooks",
		"a guard that is deleted, killed or too slow: gemini lets the call through",
	}
}

func (a gemini) merge(_ string, data []byte, h Hook) ([]byte, error) {
	data, err := add(orEmpty(data), compact(a.group(h)), "hooks", row(a).Event)
	if err != nil {
		return nil, err
	}
	return put(data, "true", "hooksConfig", "enabled")
}

func (a gemini) mergeSystem(data []byte, h Hook) ([]byte, error) {
	data, err := a.merge("", data, h)
	if err != nil {
		return nil, err
	}
	return put(data, "false", "security", "folderTrust", "enabled")
}

func (a gemini) strip(data, _ []byte, h Hook) []byte {
	return drop(data, h.mentioned, "hooks", row(a).Event)
}

func (a gemini) find(i Installation, r *registration) {
	project := row(a).Settings[0]
	files := layers(r,
		layer{name: "system", file: i.Places.managed(row(a))},
		layer{name: "project", file: i.below(project)},
		layer{name: "user", file: i.Places.user(row(a), project)})
	var names []string
	for _, l := range files {
		command, ok := i.ours(commands(l.root, row(a).Event))
		if !ok || len(r.commands) > 0 {
			continue
		}
		if l.name == "system" && i.Places.Secure != nil {
			if err := i.Places.Secure(l.file); err != nil {
				r.add("system settings", Loose, "gemini ignores "+l.file+": "+err.Error(),
					"let root own it and everything above it")
				continue
			}
		}
		r.found(l.file, command)
		names = append(hookNames(l.root, row(a).Event, command), command)
	}
	decided := false
	for _, l := range files {
		if v, ok := l.root.at("hooksConfig", "enabled"); ok {
			if v.is("false") && !decided {
				r.add("hooksConfig.enabled", Off, l.file+" switches all hooks off", "remove hooksConfig.enabled from it")
			}
			decided = true
		}
		disabled, _ := l.root.at("hooksConfig", "disabled")
		for _, d := range disabled.elems() {
			if slices.Contains(names, text(d)) {
				r.add("hooksConfig.disabled", Off, l.file+" switches the guard's hook off by name",
					"remove it from hooksConfig.disabled")
			}
		}
	}
}

// ofRoot says why gemini would ignore a system file: it, or a directory above it, could be changed by others than root.
func ofRoot(file string) error {
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
