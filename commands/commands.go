// Package commands holds the slash commands by which an interactive agent talks to phases.
package commands

import "embed"

// Files are the commands, one each.
//
//go:embed *.md
var Files embed.FS
