// Package pages is what a browser shows: modules that are written by hand, a style sheet, and a few libraries as their
// authors ship them (static/vendor, sums and licences beside them). Nothing is built, and nothing is fetched elsewhere;
// what the first page needs is sent in one piece.
package pages

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"html"
	"io"
	"io/fs"
	"net/http"
	"path"
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

// load reads and packs a file when it is first asked for: most starts of cco-cruise show no page.
func load(name string) func() (file, error) {
	return sync.OnceValues(func() (file, error) {
		data, err := read(name)
		if err != nil {
			return file{}, err
		}
		f := file{kind: kinds[path.Ext(name)], plain: data}
		sum := sha256.Sum256(data)
		f.tag = `"` + hex.EncodeToString(sum[:8]) + `"`
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			return f, err
		}
		_, _ = z.Write(data) // into memory
		_ = z.Close()
		f.small = b.Bytes()
		return f, nil
	})
}

// read gives a file as it is sent.
func read(name string) ([]byte, error) {
	if name == joined[len(joined)-1].file {
		static, err := fs.Sub(files, "static")
		if err != nil {
			return nil, err
		}
		return link(static)
	}
	return files.ReadFile("static/" + name)
}

// Public says whether an address is shown to those who were not let in: the empty page, and what it needs to ask for a
// code.
func Public(p string) bool {
	if name, ok := strings.CutPrefix(p, "/assets/"); ok {
		return name == "icon.svg"
	}
	return !strings.HasPrefix(p, "/api/")
}

// within says that a file is part of another: a browser that asked for it would have it twice.
func within(name string) bool {
	for _, m := range joined[:len(joined)-1] {
		if m.file == name {
			return true
		}
	}
	return name == "enter.js" || name == "style.css"
}

// inside is a file that stands in the page itself: it can't be missing, since it is part of the program.
func inside(name string) string {
	data, _ := files.ReadFile("static/" + name)
	return string(data)
}

// ScriptHash allows the one script that is inside the page, which takes a code and starts the rest.
func ScriptHash() string {
	sum := sha256.Sum256([]byte(inside("enter.js")))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// index is the page, with NONCE where its nonce stands.
var index = sync.OnceValue(func() string {
	return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>cco</title>
<link rel="modulepreload" href="/assets/app.js">
<link rel="preload" as="fetch" href="/api/v1/state" crossorigin>
<link rel="icon" href="/assets/icon.svg">
<style nonce="NONCE">
` + inside("style.css") + `</style>
</head>
<body><div id="page"><noscript>This page needs JavaScript. The same is said by cco attention.</noscript></div>
<script type="module">` + inside("enter.js") + `</script></body>
</html>
`
})

// Handler serves the page at every address, and the files below /assets/.
func Handler(nonce func(*http.Request) string) http.Handler {
	known := map[string]func() (file, error){}
	_ = fs.WalkDir(files, "static", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && kinds[path.Ext(p)] != "" {
			if name := strings.TrimPrefix(p, "static/"); !within(name) {
				known[name] = load(name)
			}
		}
		return nil
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.Error(w, "a page is read", http.StatusMethodNotAllowed)
			return
		}
		name, asset := strings.CutPrefix(r.URL.Path, "/assets/")
		if !asset {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Cache-Control", "no-store") // it has a nonce
			_, _ = io.WriteString(w, strings.Replace(index(), "NONCE", html.EscapeString(nonce(r)), 1))
			return
		}
		get := known[name]
		if get == nil {
			http.NotFound(w, r)
			return
		}
		f, err := get()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
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
	h.Set("ETag", f.tag)
	h.Set("Vary", "Accept-Encoding")
	if r.Header.Get("If-None-Match") == f.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	data := f.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") && len(f.small) < len(f.plain) {
		h.Set("Content-Encoding", "gzip")
		data = f.small
	}
	_, _ = w.Write(data)
}
