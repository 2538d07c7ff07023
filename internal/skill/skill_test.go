package skill

import (
	"strings"
	"testing"
)

func TestThePromptIsTheSkillWithItsPlan(t *testing.T) {
	got := For("docs/my plan.md")
	if !strings.HasPrefix(got, "# Executing") || !strings.Contains(got, "The plan to carry out is: docs/my plan.md\n") {
		t.Errorf("it begins with %q", got[:min(len(got), 200)])
	}
	if strings.Contains(got, "$ARGUMENTS") || strings.Contains(got, "argument-hint") {
		t.Error("something is left that only skills have")
	}
	if !strings.Contains(got, "The subject is a conventional one (`feat: …`") {
		t.Error("it doesn't ask for conventional commits")
	}
	for _, want := range []string{
		"Begin by saying: **\"I'm executing this plan autonomously in the sandbox.\"**",
		"`Task N: Implement [Component Name]`", "`description`", "`activeForm`",
		"Its answer\nbegins with the verdict, alone on the first line:\n\n- `APPROVED`\n- `ISSUES`",
		"Its answer, too,\nbegins with the verdict, alone on the first line:\n\n- `APPROVED`\n- `APPROVED_WITH_MINOR`",
		"ls -la /exchange/<id>/output.bundle\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q", want)
		}
	}
	if !strings.Contains(string(File()), "name: "+Name+"\n") {
		t.Error("the skill has another name")
	}
}
