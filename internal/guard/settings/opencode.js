import { spawnSync } from "node:child_process"

const command = COMMAND
const run = (line, input) => spawnSync("/bin/sh", ["-c", line],
  { input: JSON.stringify(input), encoding: "utf8", timeout: MILLISECONDS })
const atWork = new Set()

export const CcoGuard = async ({ directory, worktree }) => ({
  "tool.execute.before": async (input, output) => {
    const asked = run(command, { hook_event_name: EVENT, cwd: directory || worktree,
      tool_name: input.tool, tool_input: output.args })
    if (asked.status !== 0)
      throw new Error((asked.stderr || "").trim() || "denied (input): the guard could not be asked")
  },
  event: async ({ event }) => {
    if (event.type !== "session.status") return
    const before = atWork.size
    if (event.properties.status.type === IDLE) atWork.delete(event.properties.sessionID)
    else atWork.add(event.properties.sessionID)
    if (!before !== !atWork.size) run(command + (atWork.size ? " --turn begun" : " --turn ended"), {})
  },
})
