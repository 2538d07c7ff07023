package settings

import "slices"

// Claude is the guard in the settings of Claude Code.
func Claude() *Adapter {
	return &Adapter{
		agent: "claude", start: `claude --setting-sources "" --settings `, own: true, past: true,
		drops:  []string{"CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE"},
		format: inJSON,
		// With onFailure a hook that can't be started, or is killed, blocks too; older versions of claude ignore it.
		handler: handler{Type: "command", Timeout: hookSeconds, OnFailure: "block"},
		// Local settings stand above those of the repository and of the user, whose disableAllHooks would otherwise hold.
		// Commands that stand in a skill are run when it is loaded, without asking any hook, and an agent may write skills.
		keys:        []key{{"disableAllHooks", false}, {plainSkills, true}},
		system:      []key{{managedOnly, true}},
		offBy:       []key{{"disableAllHooks", true}},
		overrules:   true,
		managedOnly: managedOnly,
		others:      claudeOthers,
	}
}

const (
	plainSkills = "disableSkillShellExecution"
	managedOnly = "allowManagedHooksOnly"
)

func claudeOthers(l *look) {
	var plain any
	for _, f := range slices.Backward(l.files) { // the strongest that says something decides
		if said := at(f.tree, plainSkills); said != nil {
			plain = said
		}
	}
	if plain != true {
		l.add("skills", Loose, "commands that stand in a skill are run without asking the hook",
			"cco guard install --agent claude")
	}
	project := l.named("project")
	if at(l.named("managed").tree, managedOnly) != true && len(handlers(project.tree, l.row().Event)) > 0 {
		l.add("other hooks", Loose, project.file+" has hooks that can rewrite a call after the guard has seen it",
			"start it with: "+l.launch(l.Adapter))
	}
}
