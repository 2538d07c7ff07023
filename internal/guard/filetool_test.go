package guard_test

import (
	"encoding/json"
	"testing"

	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/guard/hook"
)

func TestFileTools(t *testing.T) {
	s := newSite(t, true)
	for _, c := range []struct {
		tool, input string
		allow       bool
	}{
		{"Write", `{"file_path":"{WT}/src/a.go","content":"x"}`, true},
		{"Write", `{"file_path":"src/a.go","content":"x"}`, true},
		{"Write", `{"file_path":"{HOST}/a.go","content":"x"}`, false},
		{"Write", `{"file_path":"../a.go","content":"x"}`, false},
		{"Write", `{"file_path":"~/.bashrc","content":"x"}`, false},
		{"Write", `{"file_path":" {HOST}/a.go","content":"x"}`, false},
		{"Write", `{"file_path":"\u00a0{HOST}/a.go","content":"x"}`, false},
		{"Write", `{"file_path":"\ufeff{HOST}/a.go","content":"x"}`, false},
		{"Write", `{"file_path":"file://{HOST}/a.go","content":"x"}`, false},
		{"Write", `{"file_path":".claude/settings.json ","content":"x"}`, false},
		{"Write", `{"file_path":"src/a b.go","content":"x"}`, true},
		{"Write", `{"file_path":"sub/.git/config","content":"[user]\n\tname = x\n"}`, true},
		{"Write", `{"file_path":""}`, false},
		{"Write", `{"content":"x"}`, false},
		{"Write", `{"file_path":7}`, false},
		{"Write", `{"FILE_PATH":"src/a.go"}`, false},
		{"Write", `{"file_path":"{HOST}/a.go","File_Path":"src/a.go"}`, false},
		{"Write", `{"file_path":"link-out/a"}`, false},
		{"Write", `{"file_path":".claude/settings.json","content":"{}"}`, false},
		{"Write", `{"file_path":".claude/commands/x.md","content":"{}"}`, true},
		{"Write", `{"file_path":"settings.json","content":"{}"}`, true},
		{"Write", `{"file_path":".git"}`, false},
		{"Write", `{"file_path":".gitignore"}`, true},
		{"Edit", `{"file_path":"{WT}/README.md","old_string":"a","new_string":"{HOST}"}`, true},
		{"Edit", `{"file_path":"{WT}-old/README.md","old_string":"a","new_string":"b"}`, false},
		{"MultiEdit", `{"file_path":"{OUT}/x","edits":[]}`, false},
		{"MultiEdit", `{"file_path":"a.go","edits":[{"old_string":"a","new_string":"b"}]}`, true},
		{"NotebookEdit", `{"notebook_path":"{OUT}/n.ipynb","new_source":"x"}`, false},
		{"NotebookEdit", `{"notebook_path":"n.ipynb","new_source":"x"}`, true},
		{"Read", `{"file_path":"{HOST}/README.md"}`, true},
		{"Read", `{"file_path":".claude/settings.json"}`, true},
		{"Grep", `{"pattern":"{HOST}"}`, true},
		{"TodoWrite", `{"todos":[{"content":"cd {HOST}"}]}`, true},
		{"WebFetch", `{"url":"https://example.com"}`, true},
		{"EnterWorktree", `{"name":"x"}`, false},
		{"mcp__fs__write", `{"path":"a"}`, false},
		{"Agent", `{"description":"x","prompt":"cd {HOST}","run_in_background":false}`, true},
		{"Agent", `{"description":"x","prompt":"y","isolation":null}`, true},
		{"Agent", `{"description":"x","prompt":"y","isolation":"worktree"}`, false},
		{"Agent", `{"description":"x","prompt":"y","isolation":"remote"}`, false},
		{"Agent", `{"description":"x","prompt":"y","isolation":["remote"]}`, false},
		{"Task", `{"description":"x","prompt":"y","isolation":"remote"}`, false},
		{"Agent", `[]`, false},
		{"SendMessage", `{"to":"a6b5d8ca1b973f930","message":"x"}`, true},
		{"SendMessage", `{"to":"main","message":"x"}`, true},
		{"SendMessage", `{"to":"worker","message":"x"}`, false},
		{"SendMessage", `{"to":"worker [3fa9c1]","message":"x"}`, false},
		{"SendMessage", `{"to":"a","message":"x"}`, false},
		{"SendMessage", `{"to":"main","message":"x","to":"worker"}`, false},
		{"SendMessage", `{"message":"x"}`, false},
		{"ListAgents", `{}`, true},
		{"ReportFindings", `{"findings":[{"file":"{HOST}/a.go","summary":"x","failure_scenario":"y"}]}`, true},
		{"ScheduleWakeup", `{"delaySeconds":60,"reason":"x","prompt":"y","noop":true}`, true},
		{"DeferredToolPlaceholder", `{}`, true},
		{"Workflow", `{"script":"export const meta = {}; await agent('x', {isolation: 'remote'})"}`, false},
		{"CronList", `{}`, true},
		{"CronCreate", `{"cron":"* * * * *","prompt":"x"}`, false},
		{"CronDelete", `{"id":"x"}`, false},
		{"Monitor", `{"description":"x","timeout_ms":1000,"command":"tail -f app.log | grep ERROR"}`, true},
		{"Monitor", `{"description":"x","timeout_ms":1000,"command":"cd {HOST} && make"}`, false},
		{"Monitor", `{"description":"x","timeout_ms":1000,"ws":{"url":"wss://example.com"}}`, false},
		// gemini
		{"invoke_agent", `{"agent_name":"generalist","prompt":"x"}`, true},
		{"update_topic", `{"strategic_intent":"x"}`, true},
		{"enter_plan_mode", `{}`, true},
		{"list_background_processes", `{}`, true},
		{"read_background_output", `{"pid":7}`, true},
		{"write_file", `{"file_path":"{OUT}/x","content":"x"}`, false},
		{"write_file", `{"file_path":"x","content":"x"}`, true},
		{"replace", `{"file_path":"{HOST}/x","old_string":"a","new_string":"b"}`, false},
		{"run_shell_command", `{"command":"cd {HOST} && make"}`, false},
		{"run_shell_command", `{"command":"make","directory":"web"}`, true},
		{"run_shell_command", `{"command":"make","dir_path":"{HOST}"}`, false},
		{"save_memory", `{"fact":"x"}`, false},
		// codex
		{"shell", `{"command":["bash","-lc","touch {OUT}/x"]}`, false},
		{"shell", `{"command":["bash","-lc","go test ./..."],"workdir":"{WT}/src"}`, true},
		{"shell", `{"command":["make"],"workdir":"{HOST}"}`, false},
		{"exec_command", `{"cmd":"touch ../x"}`, false},
		{"apply_patch", `{"input":"*** Begin Patch\n*** Update File: {OUT}/x\n@@\n-a\n+b\n*** End Patch"}`, false},
		{"apply_patch", `{"command":"*** Begin Patch\n*** Add File: src/x.go\n+package x\n*** End Patch"}`, true},
		{"apply_patch", `"*** Begin Patch\n*** Delete File: .codex/config.toml\n*** End Patch"`, false},
		{"apply_patch", `{"input":"nonsense"}`, false},
		{"apply_patch", `{"input":"*** Begin Patch\n*** Add File: \u0001/../../x\n+x\n*** End Patch"}`, false},
		{"Write", `{"file_path":"\u0001/../../x","content":"x"}`, false},
		{"exec_command", `{"cmd":"touch x","workdir":"\u0001"}`, false},
		{"apply_patch", `{"command":"*** Begin Patch\n  *** Add File: {OUT}/x\n+x\n*** End Patch"}`, false},
		{"apply_patch", `{"command":"*** Begin Patch\n*** Add File:{OUT}/x\n+x\n*** End Patch"}`, false},
		{"apply_patch",
			`{"command":"*** Begin Patch\r\n*** Update File: a\r\n*** Move to: {OUT}/x\r\n*** End Patch"}`, false},
		{"apply_patch", `{"command":"*** Begin Patch\n*** Add File: a\n+++ {OUT}/x\n*** End Patch"}`, true},
		{"exec_command", `{"command":"ls","cmd":"touch {OUT}/x"}`, false},
		{"Bash", `{"command":"ls","cmd":"touch {OUT}/x"}`, false},
		{"write_stdin", `{"session_id":1}`, true},
		{"write_stdin", `{"session_id":1,"chars":""}`, true},
		{"write_stdin", `{"session_id":1,"chars":"\u0003"}`, true},
		{"write_stdin", `{"session_id":1,"chars":"y\n"}`, true},
		{"write_stdin", `{"session_id":1,"chars":"touch {HOST}/x\n"}`, false},
		{"write_stdin", `{"session_id":1,"chars":"ls\r"}`, true},
		{"write_stdin", `{"session_id":1,"chars":["y"]}`, false},
		{"get_goal", `{}`, true},
		{"create_goal", `{"objective":"x"}`, true},
		{"update_goal", `{"status":"complete"}`, true},
		{"request_user_input_async", `{"questions":[]}`, true},
		{"clockcurr_time", `{}`, true},
		{"clocksleep", `{"duration_ms":1}`, true},
		{"clockexec_command", `{"cmd":"ls"}`, false},
		{"collaborationspawn_agent", `{"message":"x","task_name":"y"}`, true},
		{"collaborationfollowup_task", `{"message":"x","target":"y"}`, true},
		{"collaborationsend_message", `{"message":"x","target":"y"}`, true},
		{"collaborationinterrupt_agent", `{"target":"y"}`, true},
		{"collaborationlist_agents", `{}`, true},
		{"collaborationwait_agent", `{}`, true},
		{"multi_agent_v1spawn_agent", `{"message":"x"}`, true},
		{"multi_agent_v1teleport", `{"message":"x"}`, false},
		// opencode
		{"write", `{"filePath":"{HOST}/x","content":"x"}`, false},
		{"edit", `{"filePath":"src/x","oldString":"a","newString":"b"}`, true},
		{"bash", `{"command":"cd .. && touch x"}`, false},
		{"patch", `{"patchText":"*** Begin Patch\n*** Update File: opencode.json\n*** End Patch"}`, false},
		// shapes
		{"Bash", `{}`, false},
		{"Bash", `{"command":{}}`, false},
		{"Bash", `{"command":[]}`, false},
		{"Bash", `[]`, false},
		{"Bash", `null`, false},
		{"Bash", `{"command":"ls","COMMAND":"cd {HOST}"}`, true},
		{"Bash", `{"command":"cd {HOST}","COMMAND":"ls"}`, false},
		{"", `{}`, false},
	} {
		call := guard.Call{Tool: c.tool, Input: json.RawMessage(s.fill(c.input)), Cwd: s.worktree}
		if v := guard.Decide(s.policy, hook.Links{}, call); v.Allow != c.allow {
			t.Errorf("%s %s: allow %v, want %v: %s", c.tool, c.input, v.Allow, c.allow, v.Message())
		}
	}
}

func TestToolsNamedByThePolicyAreAllowed(t *testing.T) {
	s := newSite(t, false)
	call := guard.Call{Tool: "mcp__tracker__list", Input: json.RawMessage(`{}`), Cwd: s.worktree}
	if v := guard.Decide(s.policy, nil, call); v.Allow || v.Rule != guard.RuleTool {
		t.Errorf("got %+v", v)
	}
	s.policy.Tools = []string{"mcp__tracker__list"}
	if v := guard.Decide(s.policy, nil, call); !v.Allow {
		t.Error(v.Message())
	}
}
