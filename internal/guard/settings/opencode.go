package settings

import (
	_ "embed"
	"path"
	"strconv"
	"strings"
)

// Opencode is the guard in opencode, whose hooks are functions of a plugin. Outside of boxes there is none: a plugin of
// the user's would hold in all of the user's directories.
func Opencode() *Adapter { return &Adapter{agent: "opencode", managed: opencodeManaged} }

// opencodePlugin asks the hook before every call of a tool. Whatever goes wrong with asking refuses the call. It also
// says when a turn begins and ends: a subagent has a session of its own, whose end is not the end of the turn.
//
//go:embed opencode.js
var opencodePlugin string

func opencodeManaged(a *Adapter, h Hook) []File {
	r := a.row()
	said := strings.NewReplacer("COMMAND", compact(h.command(a.agent)), "EVENT", compact(r.Event),
		"IDLE", compact(r.TurnEnds), "TURNS", strconv.FormatBool(h.Turns), "MILLISECONDS", strconv.Itoa(hookSeconds*1000))
	plugin := path.Join(path.Dir(r.Managed), "cco-guard.js")
	return []File{
		{Path: r.Managed, Data: []byte(compact(map[string]any{"plugin": []string{"file://" + plugin}}) + "\n"), Mode: 0o644},
		{Path: plugin, Data: []byte(said.Replace(opencodePlugin)), Mode: 0o644},
	}
}
