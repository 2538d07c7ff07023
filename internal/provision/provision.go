// Package provision holds what is put into a box's home: instructions and settings that tell an agent where it is.
package provision

import (
	"embed"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/skill"
)

//go:embed files
var files embed.FS

// Files is everything that goes into the home of a box.
func Files() []box.File {
	where := read("CLAUDE.md") // the same text for every agent, under the name that each looks for
	list := []struct {
		path string
		data []byte
	}{
		{".claude/CLAUDE.md", where},
		{".claude/settings.json", read("settings.json")},
		{".claude/skills/" + skill.Name + "/SKILL.md", skill.File()},
		{".codex/AGENTS.md", where},
		{".codex/skills/" + skill.Name + "/SKILL.md", skill.File()},
		{".gemini/GEMINI.md", where},
		{".gemini/settings.json", read("gemini.json")},
		{".gemini/skills/" + skill.Name + "/SKILL.md", skill.File()},
		{".config/opencode/AGENTS.md", where},
	}
	var out []box.File
	for _, f := range list {
		out = append(out, box.File{Path: f.path, Data: f.data, Mode: 0o644})
	}
	return out
}

func read(name string) []byte {
	data, err := files.ReadFile("files/" + name)
	if err != nil {
		panic("provision: read embedded files: " + err.Error()) // they are part of this program
	}
	return data
}
