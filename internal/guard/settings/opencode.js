import { spawnSync } from "node:child_process"
import { appendFileSync } from "node:fs"

const command = COMMAND
const run = (line, input) => spawnSync("/bin/sh", ["-c", line],
  { input: JSON.stringify(input), encoding: "utf8", timeout: MILLISECONDS })
const atWork = new Set()

// What is said on a terminal is written down for cco's transcript: opencode has it in a database.
const file = (process.env.XDG_DATA_HOME || process.env.HOME + "/.local/share") + "/opencode/cco-record.jsonl"
const roles = new Map()
const record = (part) => {
  if (!TURNS || part.type !== "tool" && part.type !== "text" && part.type !== "reasoning") return
  const role = roles.get(part.messageID)
  const ready = part.type === "tool" ? part.state.status !== "pending" : role === "user" || part.time?.end
  if (!ready) return
  try { appendFileSync(file, JSON.stringify({ ...part, role }) + "\n") } catch {}
}

export const CcoGuard = async ({ directory, worktree }) => ({
  "tool.execute.before": async (input, output) => {
    const asked = run(command, { hook_event_name: EVENT, cwd: directory || worktree,
      tool_name: input.tool, tool_input: output.args })
    if (asked.status !== 0)
      throw new Error((asked.stderr || "").trim() || "denied (input): the guard could not be asked")
  },
  event: async ({ event }) => {
    if (event.type === "message.updated") roles.set(event.properties.info.id, event.properties.info.role)
    if (event.type === "message.part.updated") record(event.properties.part)
    if (event.type !== "session.status") return
    const before = atWork.size
    if (event.properties.status.type === IDLE) atWork.delete(event.properties.sessionID)
    else atWork.add(event.properties.sessionID)
    if (!before !== !atWork.size) run(command + (atWork.size ? " --turn begun" : " --turn ended"), {})
  },
})
