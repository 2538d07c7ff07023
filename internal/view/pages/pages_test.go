package pages

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

// Guards against a library that is not the one whose licence and version stand beside it.
func TestLibrariesAreAsTheirAuthorsShipThem(t *testing.T) {
	sums := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(must.Get(os.ReadFile("static/vendor/SHA256SUMS"))(t))),
		"\n") {
		sum, name, _ := strings.Cut(line, "  ")
		sums[name] = sum
	}
	must.Do(t, fs.WalkDir(files, "static/vendor", func(p string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(p, "static/vendor/")
		if err != nil || d.IsDir() || name == "SHA256SUMS" || name == "README.md" || strings.HasPrefix(name, "LICENSE.") {
			return err
		}
		sum := sha256.Sum256(must.Get(files.ReadFile(p))(t))
		if sums[name] != hex.EncodeToString(sum[:]) {
			t.Errorf("%s is not what SHA256SUMS says", name)
		}
		delete(sums, name)
		return nil
	}))
	if len(sums) > 0 {
		t.Errorf("there are sums without files: %v", sums)
	}
}

// Guards against a script of ours that takes somebody's words for markup or for a program.
func TestScriptsMakeNoMarkup(t *testing.T) {
	bad := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|` +
		`dangerouslySetInnerHTML|\beval\(|new Function|` +
		`DOMParser|srcdoc|createContextualFragment|javascript:`)
	entries := must.Get(files.ReadDir("static"))(t)
	n := 0
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".js") {
			continue
		}
		n++
		text := string(must.Get(files.ReadFile("static/" + e.Name()))(t))
		if found := bad.FindString(text); found != "" {
			t.Errorf("%s has %s", e.Name(), found)
		}
		// Addresses come from the server, which lets through those of the web alone.
		for _, m := range regexp.MustCompile(`href=\$\{([^}]*)\}`).FindAllStringSubmatch(text, -1) {
			ours := strings.HasPrefix(m[1], "'/") || strings.HasPrefix(m[1], "'#")
			if !ours && m[1] != "r.to" && m[1] != "f.url" && m[1] != "p.pr_url" && m[1] != "place" {
				t.Errorf("%s links to %s", e.Name(), m[1])
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d scripts were looked at", n)
	}
}

func TestWhatEverybodySees(t *testing.T) {
	for path, want := range map[string]bool{"/": true, "/session/x": true, "/assets/icon.svg": true,
		"/assets/app.js": false, "/assets/money.js": false, "/assets/vendor/xterm.mjs": false,
		"/api/v1/me": false, "/api/": false, "/assets/": false} {
		if Public(path) != want {
			t.Errorf("%s is public: %v", path, !want)
		}
	}
	h := Handler(func(*http.Request) string { return "n0nce" })
	get := func(path, encoding string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Accept-Encoding", encoding)
		h.ServeHTTP(w, r)
		return w
	}
	page := get("/", "").Body.String()
	if strings.Contains(page, "app.js?") || !strings.Contains(page, "lib.js?v="+version()) {
		t.Error("a browser that is let in no more would not be told, or asks for all modules again")
	}
	if !strings.Contains(page, `<style nonce="n0nce">`) || strings.Contains(page, "NONCE") {
		t.Errorf("the page is %s", page)
	}
	var hashes []string
	for _, m := range regexp.MustCompile(`(?s)<script type="\w+">(.*?)</script>`).FindAllStringSubmatch(page, -1) {
		sum := sha256.Sum256([]byte(m[1]))
		hashes = append(hashes, "sha256-"+base64.StdEncoding.EncodeToString(sum[:]))
	}
	if strings.Count(page, "<script") != 2 || !slices.Equal(hashes, ScriptHashes()) {
		t.Errorf("the scripts inside the page are %s, and %s are allowed", hashes, ScriptHashes())
	}
	if w := get("/assets/app.js", "gzip"); w.Header().Get("Content-Encoding") != "gzip" || w.Body.Len() == 0 {
		t.Error("a file is not packed")
	}
	if w := get("/assets/icon.svg?n=7", ""); !strings.Contains(w.Body.String(), ">7<") {
		t.Error("the icon has no count")
	}
	for path, want := range map[string]string{"/assets/app.js": "no-cache", "/assets/lib.js?v=older": "no-cache",
		"/assets/lib.js?v=" + version(): "private, max-age=31536000, immutable", "/": "no-store"} {
		if got := get(path, "").Header().Get("Cache-Control"); got != want {
			t.Errorf("%s is kept as %s", path, got)
		}
	}
	if w := get("/assets/vendor/SHA256SUMS", ""); w.Code != http.StatusNotFound {
		t.Errorf("other files give %d", w.Code)
	}
}

// Guards against a page that takes from a file that is not served, or that learns of it only on the way.
func TestWhatPagesTakeIsThere(t *testing.T) {
	addresses := map[string]string{}
	for _, l := range libraries {
		addresses[l.name] = l.file
	}
	names := regexp.MustCompile(`(?:from\s*|import\(|import\s*)["']([^"'$]+)["']`)
	takes := func(file string, late bool) (all []string) {
		text := string(must.Get(files.ReadFile("static/" + file))(t))
		for _, m := range names.FindAllStringSubmatch(text, -1) {
			if !late && strings.HasPrefix(m[0], "import(") {
				continue
			}
			to, ours := strings.CutPrefix(m[1], "/assets/")
			if !ours {
				to = addresses[m[1]]
			}
			if _, err := fs.Stat(files, "static/"+to); to == "" || err != nil {
				t.Errorf("%s takes from %s, which is not served", file, m[1])
				continue
			}
			all = append(all, to)
		}
		return all
	}
	// All that the first page needs is asked for at once.
	_, preloads := linkage()
	seen := map[string]bool{}
	for todo := []string{"app.js"}; len(todo) > 0; {
		file := todo[0]
		todo = todo[1:]
		if seen[file] {
			continue
		}
		seen[file] = true
		if !strings.Contains(preloads, `"/assets/`+file) {
			t.Errorf("%s is needed at first, and asked for late", file)
		}
		todo = append(todo, takes(file, false)...)
	}
	looked := 0
	for _, e := range must.Get(files.ReadDir("static"))(t) {
		if strings.HasSuffix(e.Name(), ".js") {
			looked += len(takes(e.Name(), true))
		}
	}
	if len(seen) != len(first)+len(libraries) || looked < 15 {
		t.Errorf("%d modules are needed at first, and %d names were looked at", len(seen), looked)
	}
}
