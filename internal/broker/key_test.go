package broker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/cco-dev/cco/internal/must"
)

func TestKeysComeFromWhereTheUserKeepsThem(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "key")
	must.Do(t, os.WriteFile(file, []byte(theKey+"\n"), 0o600))
	// The keyring's programs are stood in for by one that prints its arguments' last word.
	for _, name := range []string{"secret-tool", "security"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\ncase \"$*\" in *cco*) echo "+theKey+
			";; *) echo no such item >&2; exit 1;; esac\n"), 0o700))
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	env := func(name string) string {
		return map[string]string{"ANTHROPIC_API_KEY": theKey, "ANTHROPIC_AUTH_TOKEN": theKey,
			"CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-x"}[name]
	}
	for _, c := range []struct {
		name   string
		source KeySource
		want   string
		bearer bool
	}{
		{"a variable", KeySource{Env: "ANTHROPIC_API_KEY"}, theKey, false},
		{"a variable for bearers", KeySource{Env: "ANTHROPIC_AUTH_TOKEN"}, theKey, true},
		{"a subscription", KeySource{Env: "CLAUDE_CODE_OAUTH_TOKEN"}, "sk-ant-oat01-x", true},
		{"a file", KeySource{File: file}, theKey, false},
		{"a file with a bearer", KeySource{File: file, Bearer: true}, theKey, true},
		{"the keyring", KeySource{Keyring: "cco"}, theKey, false},
		{"the keyring's account", KeySource{Keyring: "cco/work"}, theKey, false},
		{"a command", KeySource{Command: []string{"printf", "  %s\n", theKey}}, theKey, false},
	} {
		k, err := LoadKey(t.Context(), c.source, env)
		if err != nil || k.reveal() != c.want || k.bearer != c.bearer {
			t.Errorf("%s: %q, %v, %v", c.name, k.reveal(), k.bearer, err)
		}
	}
	for name, s := range map[string]KeySource{
		"nothing":         {},
		"two":             {Env: "ANTHROPIC_API_KEY", File: file},
		"no variable":     {Env: "OPENAI_API_KEY"},
		"no file":         {File: filepath.Join(dir, "none")},
		"a directory":     {File: dir},
		"no such item":    {Keyring: "other"},
		"no such command": {Command: []string{"no-such-program-here"}},
		"a command that fails": {Command: []string{"sh", "-c", "echo " + theKey + "; echo " + theKey +
			" >&2; exit 3"}},
		"a command that never stops":    {Command: []string{"yes", theKey}},
		"a command with several words":  {Command: []string{"echo", theKey, "and more"}},
		"a command that prints nothing": {Command: []string{"true"}},
	} {
		k, err := LoadKey(t.Context(), s, env)
		if err == nil || !k.IsZero() {
			t.Errorf("%s gives a key", name)
		} else if strings.Contains(err.Error(), theKey) {
			t.Errorf("%s: the error has the key in it: %v", name, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := LoadKey(ctx, KeySource{Command: []string{"sleep", "60"}}, env); err == nil {
		t.Error("a command that hangs gives a key")
	}
}

func TestAKeyPrintsAsNothing(t *testing.T) {
	k := key(t, theKey)
	type holder struct {
		K Key
		k Key
		P *Key
	}
	h := holder{k, k, &k}
	all := fmt.Sprint(k, &k, h, &h, []Key{k}, map[string]Key{"a": k})
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T"} {
		all += fmt.Sprintf(verb, k) + fmt.Sprintf(verb, h) + fmt.Sprintf(verb, &h) + fmt.Sprintf(verb, Upstream{Key: k})
	}
	text := must.Get(json.Marshal(h))(t)
	all += string(text)
	if strings.Contains(all, "REALKEY") || strings.Contains(all, fmt.Sprintf("%x", "REALKEY")) ||
		strings.Contains(all, fmt.Sprintf("%X", "REALKEY")) {
		t.Errorf("it prints as %s", all)
	}
	if !strings.Contains(string(text), `"***"`) {
		t.Errorf("as JSON it is %s", text)
	}
}

// Guards against a secret that gets through because it was cut, and against bytes that are lost or held back.
func FuzzMask(f *testing.F) {
	f.Add("a sk-secret b", "sk-secret", 3)
	f.Add("sk-sk-secretsk-secre", "sk-secret", 1)
	f.Add("aaaaab", "aab", 2)
	f.Fuzz(func(t *testing.T, text, secret string, size int) {
		if secret == "" || strings.Contains(secret, "*") || size < 1 {
			return
		}
		var chunks []io.Reader
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			chunks = append(chunks, strings.NewReader(rest[:n]))
			rest = rest[n:]
		}
		got, err := io.ReadAll(iotest.OneByteReader(newMasker(io.NopCloser(io.MultiReader(chunks...)), secret)))
		if err != nil || len(got) != len(text) || bytes.Contains(got, []byte(secret)) {
			t.Fatalf("%q without %q is %q (%v)", text, secret, got, err)
		}
		for i := range got {
			if got[i] != text[i] && got[i] != '*' {
				t.Fatalf("%q has become %q", text, got)
			}
		}
		if !strings.Contains(text, secret) && string(got) != text {
			t.Fatalf("%q has become %q, and %q was not in it", text, got, secret)
		}
	})
}

// Guards against a scanner that reads JSON in another way than those for whom it is meant.
func FuzzScan(f *testing.F) {
	for _, s := range []string{`{"a":[{"b":1}],"usage":{"input_tokens":5}}`, `{"a":"\"}","usage":{"input_tokens":7}}`,
		`[1,"x",null,{}]`, `{"us\u0061ge":{"input_tokens":3}}`, `{"usage":{"input_tokens":1},"usage":{"input_tokens":2}}`} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, text string, size int) {
		if size < 1 {
			return
		}
		var got []string
		s := scanner{see: func(path, value []byte) {
			if string(path) == "usage.input_tokens" {
				got = append(got, string(value))
			}
		}}
		for rest := []byte(text); len(rest) > 0; {
			n := min(size, len(rest))
			s.write(rest[:n])
			rest = rest[n:]
		}
		var v struct {
			Usage *struct {
				Tokens *json.Number `json:"input_tokens"`
			} `json:"usage"`
		}
		if !json.Valid([]byte(text)) || strings.ContainsAny(text, "AEIKNOPSTUGſ") { // Go folds the case of keys, we don't
			return
		}
		if s.broken && len(text) < scanDepth {
			t.Fatalf("%q is JSON", text)
		}
		if json.Unmarshal([]byte(text), &v) == nil && v.Usage != nil && v.Usage.Tokens != nil {
			if len(got) == 0 || len(v.Usage.Tokens.String()) <= scanValue && !contains(got, v.Usage.Tokens.String()) {
				t.Fatalf("%q: saw %q, want %s", text, got, v.Usage.Tokens)
			}
		}
	})
}

func contains(all []string, s string) bool {
	for _, x := range all {
		if x == s {
			return true
		}
	}
	return false
}
