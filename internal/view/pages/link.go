package pages

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

// joined are the modules that every page needs, each behind those that it takes from. They are sent as one, the last:
// a browser that asks for each of them takes longer to ask than to show what it got.
var joined = []struct{ name, file string }{
	{"preact", "vendor/preact.mjs"}, {"preact/hooks", "vendor/hooks.mjs"}, {"htm", "vendor/htm.mjs"},
	{"@preact/signals-core", "vendor/signals-core.mjs"}, {"@preact/signals", "vendor/signals.mjs"},
	{"/assets/lib.js", "lib.js"}, {"/assets/home.js", "home.js"}, {"/assets/app.js", "app.js"},
}

var (
	linkage = regexp.MustCompile(`(?m)(^|[;}])(?:` +
		`import\s*\{(?P<take>[^}]*)\}\s*from\s*["'](?P<of>[^"']+)["']|` +
		`import\s+(?P<takeMain>\w+)\s+from\s*["'](?P<of>[^"']+)["']|` +
		`export\s*\{(?P<pass>[^}]*)\}\s*from\s*["'](?P<of>[^"']+)["']|` +
		`export\s*\*\s*from\s*["'](?P<of>[^"']+)["']|` +
		`export\s*\{(?P<give>[^}]*)\}|` +
		`export\s+default\s+(?P<main>function)\b|` +
		`export\s+(?P<kind>const|class|function|async function)\s+(?P<named>\w+))`)
	unlinked = regexp.MustCompile(`(?m)(?:^|[;}])\s*(?:import|export)\b\s*[^(\s].{0,40}`)
	mapLine  = regexp.MustCompile(`(?m)^//# sourceMappingURL=.*$`)
)

// module is what others know of one: the variable that holds what it offers, and the names of it.
type module struct {
	variable string
	offers   []string
}

// link makes one module of those that are joined: each becomes a function that gives what it offers. Nothing is
// rewritten but the words by which they find each other; words that are not understood are an error.
func link(from fs.FS) ([]byte, error) {
	var out strings.Builder
	known := map[string]module{}
	var last module
	for i, m := range joined {
		text, err := fs.ReadFile(from, m.file)
		if err != nil {
			return nil, err
		}
		body, offers, err := linkOne(mapLine.ReplaceAllString(string(text), ""), known)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.file, err)
		}
		last = module{variable: fmt.Sprintf("$%d", i)}
		var pairs []string
		for _, o := range offers {
			last.offers = append(last.offers, o.as)
			pairs = append(pairs, o.as+": "+o.name)
		}
		known[m.name] = last
		_, _ = fmt.Fprintf(&out, "const %s = (() => {\n%s;\nreturn {%s};\n})();\n", last.variable, body,
			strings.Join(pairs, ", "))
	}
	_, _ = fmt.Fprintf(&out, "export const {%s} = %s;\n", strings.Join(last.offers, ", "), last.variable)
	return []byte(out.String()), nil
}

// binding is a name, and what it is called elsewhere.
type binding struct{ name, as string }

// bindings reads what stands in the braces of an import or an export.
func bindings(list string) (found []binding) {
	for part := range strings.SplitSeq(list, ",") {
		switch words := strings.Fields(part); len(words) {
		case 1:
			found = append(found, binding{words[0], words[0]})
		case 3:
			found = append(found, binding{words[0], words[2]})
		}
	}
	return found
}

// linkOne is the body of a module's function, and what it offers.
func linkOne(text string, known map[string]module) (body string, offers []binding, wrong error) {
	body = linkage.ReplaceAllStringFunc(text, func(found string) string {
		m := linkage.FindStringSubmatch(found)
		part := func(name string) (value string) {
			for i, n := range linkage.SubexpNames() {
				if n == name && m[i] != "" {
					value = m[i]
				}
			}
			return value
		}
		of, named := known[part("of")]
		if part("of") != "" && !named {
			wrong = fmt.Errorf("%s is not joined before it", part("of"))
			return found
		}
		switch {
		case part("take") != "":
			var taken []string
			for _, b := range bindings(part("take")) {
				taken = append(taken, b.name+": "+b.as)
			}
			return m[1] + "const {" + strings.Join(taken, ", ") + "} = " + of.variable
		case part("takeMain") != "":
			return m[1] + "const " + part("takeMain") + " = " + of.variable + ".default"
		case part("pass") != "":
			for _, b := range bindings(part("pass")) {
				offers = append(offers, binding{of.variable + "." + b.name, b.as})
			}
			return m[1]
		case named:
			for _, o := range of.offers {
				offers = append(offers, binding{of.variable + "." + o, o})
			}
			return m[1]
		case part("give") != "":
			offers = append(offers, bindings(part("give"))...)
			return m[1]
		case part("main") != "":
			offers = append(offers, binding{"$main", "default"})
			return m[1] + "const $main = function"
		}
		offers = append(offers, binding{part("named"), part("named")})
		return m[1] + part("kind") + " " + part("named")
	})
	if found := unlinked.FindString(body); found != "" && wrong == nil {
		wrong = fmt.Errorf("%q is not understood", found)
	}
	return body, offers, wrong
}
