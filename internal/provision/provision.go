// Package provision holds what is put into a box's home: instructions and settings that tell an agent where it is.
package provision

import (
	_ "embed" // the instructions below
	"path"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/skill"
)

// instructions are the same for every agent, under the name that each looks for.
//
//go:embed instructions.md
var instructions []byte

// Files is everything that goes into the home of a box.
func Files() []box.File {
	var list []box.File
	put := func(name string, data []byte) {
		list = append(list, box.File{Path: name, Data: data, Mode: 0o644})
	}
	for _, a := range agent.All() {
		if a.Row.Instructions != "" {
			put(a.Row.Instructions, instructions)
		}
		for _, f := range a.Settings {
			put(f.Path, f.Data)
		}
		if a.Row.Skills != "" {
			put(path.Join(a.Row.Skills, skill.Name, "SKILL.md"), skill.File())
		}
	}
	return list
}
