package config

import (
	"strings"
	"testing"
)

func TestWhatIsNoNetworkIsRefused(t *testing.T) {
	for text, part := range map[string]string{
		"[network]\nmode = \"closed\"":                        "there are none, allowlist, open",
		"[network]\nsets = [\"npm\", \"maven\"]":              "no set \"maven\"",
		"[network]\nallow = \"host\"":                         "want an array",
		"[network]\nallow = [\"https://a.example\"]":          "network.allow: rule \"https://a.example\": it is a URL",
		"[network]\nrecord_bodies = 1":                        "want true or false",
		"[keys]\nanthropic = \"sk-ant-x\"":                    "want a table",
		"[keys.anthropic]\nkey = \"sk-ant-x\"":                "unknown key",
		"[keys.anthropic]\nbearer = true":                     "exactly one",
		"[keys.anthropic]\nenv = \"A\"\nfile = \"/b\"":        "exactly one",
		"[keys.anthropic]\nenv = \"A-B\"":                     "can't be the name",
		"[keys.anthropic]\nenv = \"\"":                        "is empty",
		"[gateways]\nopenai = \"gateway.example\"":            "want an address like https",
		"[gateways]\nopenai = \"file:///etc/passwd\"":         "want an address like https",
		"[keys.openai]\nfile = \"key\"":                       "not absolute",
		"[keys.openai]\ncommand = []":                         "exactly one",
		"[keys.openai]\ncommand = \"pass\"\nbearer = \"yes\"": "want true or false",
		"[terminal]\ndetach_key = \"ctrl-c\"":                 "ctrl-c interrupts",
		"[terminal]\ndetach_key = \"esc\"":                    "want \"ctrl-\" and a letter",
		"[terminal]\nclipboard = \"yes\"":                     "want true or false",
		"[agents.a.env]\n\"A=B\" = \"x\"":                     "want a name and a string",
		"[keys.mistral]\nenv = \"A\"":                         "there are anthropic, gemini, openai",
	} {
		_, _, err := Load(sources(t, text+"\n", ""))
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v, want %q", text, err, part)
		}
		if err != nil && strings.Contains(err.Error(), "sk-ant-x") {
			t.Errorf("%v: a key that was written into the wrong place is shown", err)
		}
	}
}
