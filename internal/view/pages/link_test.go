package pages

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/cco-dev/cco/internal/must"
)

// Guards against a page that takes from a file that is not served, or that has a second copy of what all share.
func TestWhatPagesTakeIsThere(t *testing.T) {
	app := string(must.Get(read("app.js"))(t))
	_, offers, _ := strings.Cut(app, "export const {")
	offers, _, _ = strings.Cut(offers, "}")
	offered := map[string]bool{}
	for _, name := range strings.Split(offers, ", ") {
		offered[name] = true
	}
	looked := 0
	for _, e := range must.Get(files.ReadDir("static"))(t) {
		if !strings.HasSuffix(e.Name(), ".js") || within(e.Name()) || e.Name() == "app.js" {
			continue
		}
		text := string(must.Get(read(e.Name()))(t))
		for _, m := range regexp.MustCompile(`(?s)import\s*\{([^}]*)\}\s*from '([^']*)'`).FindAllStringSubmatch(text, -1) {
			if m[2] != "/assets/app.js" {
				t.Errorf("%s takes from %s", e.Name(), m[2])
			}
			for _, b := range bindings(m[1]) {
				looked++
				if !offered[b.name] {
					t.Errorf("%s takes %s, which app.js does not offer", e.Name(), b.name)
				}
			}
		}
		for _, m := range regexp.MustCompile(`import\('/assets/([^'$]*)'\)`).FindAllStringSubmatch(text, -1) {
			if _, err := fs.Stat(files, "static/"+m[1]); err != nil || within(m[1]) {
				t.Errorf("%s fetches %s, which is not served", e.Name(), m[1])
			}
		}
	}
	if looked < 50 {
		t.Errorf("only %d names were looked at", looked)
	}
}

func TestModulesAreJoinedWhole(t *testing.T) {
	parts := func(change map[string]string) fstest.MapFS {
		all := fstest.MapFS{}
		for _, m := range joined {
			all[m.file] = &fstest.MapFile{}
		}
		for name, text := range change {
			all[name] = &fstest.MapFile{Data: []byte(text)}
		}
		return all
	}
	got := string(must.Get(link(parts(map[string]string{
		"vendor/preact.mjs": `var x=1;function f(){}export{x as h,f};` + "\n//# sourceMappingURL=preact.mjs.map\n",
		"vendor/htm.mjs":    `export default function(s){return s}`,
		"vendor/hooks.mjs":  `import{h as n}from"preact";export{n as useState}`,
		"lib.js": "import {h,\n  f as g} from 'preact';\nimport htm from 'htm';\nexport {useState} from 'preact/hooks';\n" +
			"export const a = () => import('/assets/later.js');\nexport async function b() {}\nexport class C {}\n",
		"app.js": "export * from '/assets/lib.js';\nexport function d() {}\n",
	})))(t))
	for _, want := range []string{"return {h: x, f: f};", "const $main = function(s){return s};\nreturn {default: $main};",
		"const {h: n} = $0;", "return {useState: n};", "const {h: h, f: g} = $0;\nconst htm = $2.default;",
		"const a = () => import('/assets/later.js');\nasync function b() {}\nclass C {}",
		"return {useState: $1.useState, a: a, b: b, C: C};", "export const {useState, a, b, C, d} = $7;"} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %s:\n%s", want, got)
		}
	}
	if strings.Contains(got, "sourceMappingURL") {
		t.Error("it names a map that is not there")
	}
	for text, want := range map[string]string{
		"import {a} from '/assets/app.js';": "/assets/app.js is not joined before it",
		"import * as a from 'preact';":      "is not understood",
		"export let a = 1;":                 "is not understood",
		"import '/assets/x.js';":            "is not understood",
		"f();export default 1;":             "is not understood",
	} {
		if _, err := link(parts(map[string]string{"home.js": text})); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %v", text, err)
		}
	}
}
