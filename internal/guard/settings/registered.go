package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

func (i Installation) registered(agent string) registration {
	r := registration{finding: Finding{Agent: agent, What: "registered", Detail: "no settings of " + agent +
		" name the hook", Mend: "cco guard install --agent " + agent}}
	switch agent {
	case "codex":
		i.findCodex(&r)
	case "gemini":
		i.findGemini(&r)
	default:
		i.findClaude(&r)
	}
	return r
}

// layer is a settings file that an agent reads.
type layer struct {
	name, file string
	root       node
}

// layers reads settings files, the strongest first. One that can't be read is passed over by agents in silence, so
// that it is reported.
func layers(agent string, r *registration, files ...layer) []layer {
	var list []layer
	for _, l := range files {
		data, there, err := readIfThere(l.file)
		if err == nil && there {
			l.root, err = parseJSON(orEmpty(data))
		}
		if err != nil {
			r.add(agent, l.name+" settings", Loose, l.file+": "+err.Error()+"; "+agent+" ignores the whole file",
				"mend or remove it")
			continue
		}
		if there {
			list = append(list, l)
		}
	}
	return list
}

// findClaude reads claude's settings as claude does: the strongest file that says something about a key decides, hooks
// of all files are joined, and managed settings can't be switched off by the others.
func (i Installation) findClaude(r *registration) {
	files := layers("claude", r,
		layer{name: "managed", file: i.Places.ManagedClaude},
		layer{name: "local", file: filepath.Join(i.Dir, ".claude", "settings.local.json")},
		layer{name: "project", file: filepath.Join(i.Dir, ".claude", "settings.json")},
		layer{name: "user", file: filepath.Join(i.Places.Claude, "settings.json")})
	var managed, managedOnly bool
	for _, l := range files {
		if command, ok := i.ours(commands(l.root, "PreToolUse")); ok && len(r.commands) == 0 {
			r.found("claude", l.file, command)
			managed = l.name == "managed"
		}
		if v, ok := l.root.get("allowManagedHooksOnly"); ok && l.name == "managed" && v.is("true") {
			managedOnly = true
		}
	}
	i.claudeSwitches(r, files, managed, managedOnly)
}

func (i Installation) claudeSwitches(r *registration, files []layer, managed, managedOnly bool) {
	if managedOnly && !managed {
		r.add("claude", "managed hooks only", Off, i.Places.ManagedClaude+" lets only managed hooks run",
			"cco guard install --system, as root")
	}
	decided := false
	for _, l := range files {
		v, ok := l.root.get("disableAllHooks")
		if !ok {
			continue
		}
		off := v.is("true")
		switch {
		case off && !decided && (!managed || l.name == "managed"):
			r.add("claude", "disableAllHooks", Off, l.file+" switches all hooks off", "remove disableAllHooks from it")
		case off:
			r.add("claude", "disableAllHooks", On, l.file+" would switch hooks off, and is overruled", "")
		}
		decided = true
	}
	if skillsRun(files) {
		r.add("claude", "skills", Loose, "commands that stand in a skill are run without asking the hook",
			"cco guard install --agent claude")
	}
	for _, l := range files {
		if l.name != "project" || managedOnly {
			continue
		}
		if others := commands(l.root, "PreToolUse"); len(others) > 0 {
			r.add("claude", "other hooks", Loose, l.file+" has hooks that can rewrite a call after the guard has seen it",
				"start it with: "+i.Launch("claude"))
		}
	}
}

// skillsRun says whether claude runs the commands that stand in skills: the strongest
// file that says so decides.
func skillsRun(files []layer) bool {
	for _, l := range files {
		if v, ok := l.root.get("disableSkillShellExecution"); ok {
			return !v.is("true")
		}
	}
	return true
}

func (i Installation) findGemini(r *registration) {
	files := layers("gemini", r,
		layer{name: "system", file: i.Places.ManagedGemini},
		layer{name: "project", file: filepath.Join(i.Dir, ".gemini", "settings.json")},
		layer{name: "user", file: filepath.Join(i.Places.Gemini, "settings.json")})
	var names []string
	for _, l := range files {
		command, ok := i.ours(commands(l.root, "BeforeTool"))
		if !ok || len(r.commands) > 0 {
			continue
		}
		if l.name == "system" && i.Places.Secure != nil {
			if err := i.Places.Secure(l.file); err != nil {
				r.add("gemini", "system settings", Loose, "gemini ignores "+l.file+": "+err.Error(),
					"let root own it and everything above it")
				continue
			}
		}
		r.found("gemini", l.file, command)
		names = append(hookNames(l.root, "BeforeTool", command), command)
	}
	decided := false
	for _, l := range files {
		if v, ok := l.root.at("hooksConfig", "enabled"); ok {
			if v.is("false") && !decided {
				r.add("gemini", "hooksConfig.enabled", Off, l.file+" switches all hooks off", "remove hooksConfig.enabled from it")
			}
			decided = true
		}
		disabled, _ := l.root.at("hooksConfig", "disabled")
		for _, d := range disabled.elems {
			if slices.Contains(names, d.text) {
				r.add("gemini", "hooksConfig.disabled", Off, l.file+" switches the guard's hook off by name",
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

// hookNames are the names of the handlers that run a command.
func hookNames(root node, event, command string) (names []string) {
	groups, _ := root.at("hooks", event)
	for _, g := range groups.elems {
		hooks, _ := g.get("hooks")
		for _, h := range hooks.elems {
			c, _ := h.get("command")
			if n, ok := h.get("name"); ok && c.text == command {
				names = append(names, n.text)
			}
		}
	}
	return names
}

func (i Installation) findCodex(r *registration) {
	user := filepath.Join(i.Places.Codex, "config.toml")
	system := i.codexLayer(r, "system", i.Places.ManagedCodex)
	mine := i.codexLayer(r, "user", user)
	project := i.codexLayer(r, "project", filepath.Join(i.Dir, ".codex", "config.toml"))
	if command, _, ok := i.codexHook(system); ok {
		r.found("codex", i.Places.ManagedCodex, command) // can't be switched off, and needs no trust
		return
	}
	if command, n, ok := i.codexHook(mine); ok {
		r.found("codex", user, command)
		file := user
		state, ok := mine.Hooks.State[trustKey(file, n)]
		switch {
		case !ok || state.Trusted != trustHash(i.hook("codex", "")):
			r.add("codex", "trust", Off, "codex doesn't trust the hook and skips it",
				"run `cco guard install` again, or trust it with /hooks in codex")
		case state.Enabled != nil && !*state.Enabled:
			r.add("codex", "trust", Off, "the hook is disabled in "+file, "enable it with /hooks in codex")
		}
	}
	if system.ManagedOnly {
		r.add("codex", "managed hooks only", Off, i.Places.ManagedCodex+" lets only managed hooks run",
			"cco guard install --system, as root")
	}
	if mine.off() {
		r.add("codex", "features.hooks", Off, user+" switches all hooks off", "set features.hooks to true")
	}
	if project.off() {
		r.add("codex", "features.hooks", Off, "this repository's .codex/config.toml switches all hooks off",
			"start it with: "+i.Launch("codex"))
	}
}

func (i Installation) codexLayer(r *registration, name, file string) codexConfig {
	data, there, err := readIfThere(file)
	if err != nil || !there {
		return codexConfig{}
	}
	c, err := parseCodex(data)
	if err != nil {
		r.add("codex", name+" settings", Off, file+": "+err.Error(), "mend it")
	}
	return c
}

// codexHook finds the guard among codex's hooks, and its place there.
func (i Installation) codexHook(c codexConfig) (command string, place int, ok bool) {
	for n, g := range c.Hooks.PreToolUse {
		for _, h := range g.Hooks {
			if command, ok := i.ours([]string{h.Command}); ok {
				return command, n, true
			}
		}
	}
	return "", 0, false
}
