package settings

import "maps"

// Claude is the guard in the settings of Claude Code.
func Claude() Adapter { return claude{} }

type claude struct{}

func (claude) Agent() string { return "claude" }

func (claude) group(h Hook) group {
	// With onFailure a hook that can't be started, or is killed, blocks too; older versions of claude ignore it.
	return group{Hooks: []handler{{Type: "command", Command: h.command("claude"), Timeout: hookSeconds,
		OnFailure: "block"}}}
}

// claudeKeys are what is said to claude beside the hook. Local settings stand above those of the repository and of the
// user, whose disableAllHooks would otherwise hold. Commands that stand in a skill are run when it is loaded, without
// asking any hook, and an agent may write skills.
func claudeKeys() [2]struct{ name, value string } {
	return [...]struct{ name, value string }{{"disableAllHooks", "false"}, {"disableSkillShellExecution", "true"}}
}

// claudeSettings are settings of claude's that hold nothing but the guard.
type claudeSettings struct {
	Disable     bool               `json:"disableAllHooks"`
	PlainSkills bool               `json:"disableSkillShellExecution"` // see claudeKeys
	Hooks       map[string][]group `json:"hooks"`
}

func (a claude) settings(h Hook) claudeSettings {
	return claudeSettings{false, true, map[string][]group{row(a).Event: {a.group(h)}}}
}

func (a claude) managed(h Hook) []File {
	settings := a.settings(h)
	maps.Copy(settings.Hooks, h.turns(row(a)))
	return []File{{row(a).Managed, []byte(compact(struct {
		ManagedOnly bool `json:"allowManagedHooksOnly"`
		claudeSettings
	}{true, settings}) + "\n"), 0o644}}
}

// started is a file for claude's --settings.
func (a claude) started(h Hook) []byte { return []byte(compact(a.settings(h)) + "\n") }

func (a claude) launch(i Installation) string {
	return `claude --setting-sources "" --settings ` + quote(i.started(a))
}

func (claude) gaps() []string {
	return []string{
		"a hook of the repository's own .claude/settings.json, which may rewrite a call after the guard has seen it, " +
			"unless claude is started as said",
		"a program that the agent runs and that rewrites .claude/settings.local.json, unless claude is started as said",
		"claude --bare, or CLAUDE_CODE_SIMPLE in its environment, which drop all hooks but managed ones",
	}
}

func (claude) dropping() []string { return []string{"CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE"} }

func (a claude) merge(_ string, data []byte, h Hook) ([]byte, error) {
	data, err := add(orEmpty(data), compact(a.group(h)), "hooks", row(a).Event)
	for _, k := range claudeKeys() {
		if err == nil {
			data, err = put(data, k.value, k.name)
		}
	}
	return data, err
}

func (a claude) mergeSystem(data []byte, h Hook) ([]byte, error) {
	data, err := a.merge("", data, h)
	if err != nil {
		return nil, err
	}
	return put(data, "true", "allowManagedHooksOnly")
}

func (a claude) strip(data, before []byte, h Hook) []byte {
	data = drop(data, h.mentioned, "hooks", row(a).Event)
	was, err := parseJSON(orEmpty(before))
	if err != nil {
		return data
	}
	for _, k := range claudeKeys() {
		now, err := parseJSON(data)
		_, had := was.get(k.name)
		if v, _ := now.get(k.name); err == nil && !had && v.is(k.value) {
			data = remove(data, k.name)
		}
	}
	return data
}

// find reads claude's settings as claude does: the strongest file that says something about a key decides, hooks of all
// files are joined, and managed settings can't be switched off by the others.
func (a claude) find(i Installation, r *registration) {
	project := row(a).Settings[0]
	files := layers(r,
		layer{name: "managed", file: i.Places.managed(row(a))},
		layer{name: "local", file: i.below(row(a).Local)},
		layer{name: "project", file: i.below(project)},
		layer{name: "user", file: i.Places.user(row(a), project)})
	var managed, managedOnly bool
	for _, l := range files {
		if command, ok := i.ours(commands(l.root, row(a).Event)); ok && len(r.commands) == 0 {
			r.found(l.file, command)
			managed = l.name == "managed"
		}
		if v, ok := l.root.get("allowManagedHooksOnly"); ok && l.name == "managed" && v.is("true") {
			managedOnly = true
		}
	}
	a.switches(i, r, files, managed, managedOnly)
}

func (a claude) switches(i Installation, r *registration, files []layer, managed, managedOnly bool) {
	if managedOnly && !managed {
		r.add("managed hooks only", Off, i.Places.managed(row(a))+" lets only managed hooks run",
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
			r.add("disableAllHooks", Off, l.file+" switches all hooks off", "remove disableAllHooks from it")
		case off:
			r.add("disableAllHooks", On, l.file+" would switch hooks off, and is overruled", "")
		}
		decided = true
	}
	if skillsRun(files) {
		r.add("skills", Loose, "commands that stand in a skill are run without asking the hook",
			"cco guard install --agent claude")
	}
	for _, l := range files {
		if l.name != "project" || managedOnly {
			continue
		}
		if others := commands(l.root, row(a).Event); len(others) > 0 {
			r.add("other hooks", Loose, l.file+" has hooks that can rewrite a call after the guard has seen it",
				"start it with: "+a.launch(i))
		}
	}
}

// skillsRun says whether claude runs the commands that stand in skills: the strongest file that says so decides.
func skillsRun(files []layer) bool {
	for _, l := range files {
		if v, ok := l.root.get("disableSkillShellExecution"); ok {
			return !v.is("true")
		}
	}
	return true
}
