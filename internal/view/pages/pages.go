// Package pages is what a browser shows: modules that are written by hand, a style sheet, and a few libraries as their
// authors ship them (static/vendor, sums and licences beside them). Nothing is built, and nothing is fetched elsewhere.
package pages

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"io"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed static
var files embed.FS

// file is one file as it is sent.
type file struct {
	kind, tag    string
	plain, small []byte
}

var kinds = map[string]string{
	".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
}

// load reads and packs a file when it is first asked for: most starts of cco-cruise show no page. It can't be missing,
// since it is part of the program.
func load(name string) func() file {
	return sync.OnceValue(func() file {
		data := inside(name)
		sum := sha256.Sum256([]byte(data))
		return file{kinds[path.Ext(name)], `"` + hex.EncodeToString(sum[:8]) + `"`, []byte(data), pack(data)}
	})
}

// pack is a text as it is sent to a browser that can unpack it.
func pack(text string) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // there is such a level
	_, _ = io.WriteString(z, text)                        // into memory
	_ = z.Close()
	return b.Bytes()
}

// Public says whether an address is shown to those who were not let in: the empty page, and what it needs to ask for a
// code.
func Public(p string) bool {
	if name, ok := strings.CutPrefix(p, "/assets/"); ok {
		return name == "icon.svg"
	}
	return !strings.HasPrefix(p, "/api/")
}

// inside is a file of the program.
func inside(name string) string {
	data, _ := files.ReadFile("static/" + name)
	return string(data)
}

// libraries are those that modules name without an address.
var libraries = []struct{ name, file string }{{"preact", "vendor/preact.mjs"}, {"preact/hooks", "vendor/hooks.mjs"},
	{"htm", "vendor/htm.mjs"}, {"@preact/signals-core", "vendor/signals-core.mjs"},
	{"@preact/signals", "vendor/signals.mjs"}}

// first are modules of ours that every page needs.
var first = []string{"app.js", "lib.js", "words.js", "home.js", "row.js", "need.js", "composer.js"}

// version names all files together. A page asks for its modules by it, so that a browser that has them does not ask. It
// asks for the first of them each time: who is let in no more is told then, and gets the page that asks for a code.
var version = sync.OnceValue(func() string {
	sum := sha256.New()
	each(func(name string) { _, _ = io.WriteString(sum, name+"\x00"+inside(name)+"\x00") }) // into memory
	return hex.EncodeToString(sum.Sum(nil)[:6])
})

// each calls do with every file that is served.
func each(do func(name string)) {
	_ = fs.WalkDir(files, "static", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && kinds[path.Ext(p)] != "" {
			do(strings.TrimPrefix(p, "static/"))
		}
		return nil
	})
}

// linkage is where a browser finds the modules, and what it should ask for at once: otherwise it would learn of each
// from the one before.
var linkage = sync.OnceValues(func() (imports, preloads string) {
	addresses := map[string]string{}
	names := slices.Clone(first)
	each(func(name string) {
		if strings.HasSuffix(name, "js") && name != first[0] {
			addresses["/assets/"+name] = "/assets/" + name + "?v=" + version()
		}
	})
	for _, l := range libraries {
		addresses[l.name] = addresses["/assets/"+l.file]
		names = append(names, l.file)
	}
	for _, name := range names {
		at := "/assets/" + name
		preloads += `<link rel="modulepreload" href="` + cmp.Or(addresses[at], at) + `">` + "\n"
	}
	data, _ := json.Marshal(map[string]any{"imports": addresses}) // texts can't fail
	return string(data), preloads
})

// ScriptHashes allow what is inside the page: the map of its modules, and the script that takes a code and starts them.
func ScriptHashes() (all []string) {
	imports, _ := linkage()
	for _, text := range []string{imports, inside("enter.js")} {
		sum := sha256.Sum256([]byte(text))
		all = append(all, "sha256-"+base64.StdEncoding.EncodeToString(sum[:]))
	}
	return all
}

// index is the page, with NONCE where its nonce stands.
var index = sync.OnceValue(func() string {
	imports, preloads := linkage()
	return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content">
<meta name="color-scheme" content="light dark">
<title>cco</title>
<script type="importmap">` + imports + `</script>
` + preloads + `<link rel="preload" as="fetch" href="/api/v1/state" crossorigin>
<link rel="icon" href="/assets/icon.svg">
<style nonce="NONCE">
` + inside("tokens.css") + inside("style.css") + `</style>
</head>
<body><div id="page"><noscript>This page needs JavaScript. The same is said by cco attention.</noscript></div>
<script type="module">` + inside("enter.js") + `</script></body>
</html>
`
})

// Handler serves the page at every address, and the files below /assets/.
func Handler(nonce func(*http.Request) string) http.Handler {
	known := map[string]func() file{}
	each(func(name string) { known[name] = load(name) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.Error(w, "a page is read", http.StatusMethodNotAllowed)
			return
		}
		name, asset := strings.CutPrefix(r.URL.Path, "/assets/")
		if !asset {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Cache-Control", "no-store") // it has a nonce, which nothing that a stranger says is packed with
			text := strings.Replace(index(), "NONCE", html.EscapeString(nonce(r)), 1)
			write(w, r, []byte(text), pack(text))
			return
		}
		get := known[name]
		if get == nil {
			http.NotFound(w, r)
			return
		}
		f := get()
		if n, err := strconv.Atoi(r.URL.Query().Get("n")); name == "icon.svg" && err == nil && n > 0 && n < 100 {
			f = numbered(f, n)
		}
		send(w, r, f)
	})
}

// numbered is the icon with how many things need a person.
func numbered(f file, n int) file {
	badge := `<circle cx="22" cy="10" r="10" fill="#b00020"/><text x="22" y="15" font-family="sans-serif" ` +
		`font-size="14" font-weight="bold" text-anchor="middle" fill="#fff">` + strconv.Itoa(n) + `</text></svg>`
	f.plain = []byte(strings.Replace(string(f.plain), "</svg>", badge, 1))
	f.tag, f.small = strings.TrimSuffix(f.tag, `"`)+"-"+strconv.Itoa(n)+`"`, f.plain
	return f
}

func send(w http.ResponseWriter, r *http.Request, f file) {
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", "no-cache") // a newer cco has newer files
	if r.URL.Query().Get("v") == version() {
		h.Set("Cache-Control", "private, max-age=31536000, immutable")
	}
	h.Set("ETag", f.tag)
	h.Set("Vary", "Accept-Encoding")
	if r.Header.Get("If-None-Match") == f.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	write(w, r, f.plain, f.small)
}

// write sends what is smaller, if the browser can unpack it.
func write(w http.ResponseWriter, r *http.Request, plain, small []byte) {
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") && len(small) < len(plain) {
		w.Header().Set("Content-Encoding", "gzip")
		plain = small
	}
	_, _ = w.Write(plain)
}
