package agent

import (
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

func TestAnAgentOfTheUsersOwn(t *testing.T) {
	good := Spec{Name: "parrot", NPM: []string{"@x/parrot@1.2.3", "beak@0.1.0"}, ACP: []string{"parrot", "--acp"},
		Provider: "anthropic", Env: map[string]string{"URL": "{door}", "KEY": "{token}", "MODEL": "{model}"}}
	a := must.Get(good.Adapter())(t)
	if a.Package().Name != "@x/parrot" || a.Package().With[0].Version != "0.1.0" || !a.Protocol {
		t.Errorf("%+v", a.Row.Package)
	}
	found := must.Get(Own{a}.Find("parrot"))(t)
	if _, err := Find("parrot"); err == nil || found.Name() != "parrot" {
		t.Error("it is one of ours")
	}
	task := task("plan.md")
	task.Door, task.Token, task.Model = "door:1", "w0rthless", "m"
	env := strings.Join(a.Command(task).Env, "\n")
	for _, want := range []string{"URL=http://door:1/anthropic\n", "KEY=w0rthless\n", "MODEL=m\n"} {
		if !strings.Contains(env+"\n", want) {
			t.Errorf("no %s in %s", want, env)
		}
	}
	mine := must.Get(Spec{Name: "copilot", Model: "other"}.Adapter())(t)
	if list := (Own{mine}).All(); len(list) != len(All()) {
		t.Error("a preset that is changed is there twice")
	}
	for why, change := range map[string]func(*Spec){
		"cco drives this agent itself": func(s *Spec) { s.Name = "claude" },
		"a name has small letters":     func(s *Spec) { s.Name = "../x" },
		"no package with an exact":     func(s *Spec) { s.NPM = []string{"parrot@^1.2.3"} },
		`"git+ssh://x" is no package`:  func(s *Spec) { s.NPM = []string{"git+ssh://x"} },
		"acp says what is started":     func(s *Spec) { s.ACP = []string{"/bin/sh"} },
		"provider says":                func(s *Spec) { s.Provider = "" },
		"npm says":                     func(s *Spec) { s.NPM = nil },
		"no path below a home":         func(s *Spec) { s.Files = map[string]string{"../x": ""} },
		"which env can have":           func(s *Spec) { s.Files = map[string]string{"x": "{door}"} },
	} {
		bad := good
		change(&bad)
		if _, err := bad.Adapter(); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", why, err)
		}
	}
}
