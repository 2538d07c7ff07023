package settings

import (
	"path"
	"strconv"
)

// Opencode is the guard in opencode, whose hooks are functions of a plugin. Outside of boxes there is none: a plugin of
// the user's would hold in all of the user's directories.
func Opencode() Adapter { return opencode{} }

type opencode struct{}

func (opencode) Agent() string { return "opencode" }

func (a opencode) managed(h Hook) []File {
	file := row(a).Managed
	plugin := path.Join(path.Dir(file), "cco-guard.js")
	return []File{
		{file, []byte(compact(map[string]any{"plugin": []string{"file://" + plugin}}) + "\n"), 0o644},
		{plugin, []byte(a.plugin(h)), 0o644},
	}
}

// plugin asks the hook before every call of a tool. Whatever goes wrong with asking refuses the call. It also says
// when a turn begins and ends: a subagent has a session of its own, whose end is not the end of the turn.
func (a opencode) plugin(h Hook) string {
	return `import { spawnSync } from "node:child_process"

const command = ` + compact(h.command("opencode")) + `
const run = (line, input) => spawnSync("/bin/sh", ["-c", line],
  { input: JSON.stringify(input), encoding: "utf8", timeout: ` + strconv.Itoa(hookSeconds*1000) + ` })
const atWork = new Set()

export const CcoGuard = async ({ directory, worktree }) => ({
  "tool.execute.before": async (input, output) => {
    const asked = run(command, { hook_event_name: "` + row(a).Event + `", cwd: directory || worktree,
      tool_name: input.tool, tool_input: output.args })
    if (asked.status !== 0)
      throw new Error((asked.stderr || "").trim() || "denied (input): the guard could not be asked")
  },
  event: async ({ event }) => {
    if (event.type !== "session.status") return
    const before = atWork.size
    if (event.properties.status.type === "` + row(a).TurnEnds + `") atWork.delete(event.properties.sessionID)
    else atWork.add(event.properties.sessionID)
    if (!before !== !atWork.size) run(command + (atWork.size ? " --turn begun" : " --turn ended"), {})
  },
})
`
}
