//go:build heavy

package real

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/cco-dev/cco/internal/agent/agenttest"
)

// search is a script that looks for a pattern in all that can be read in a box, and says where it is. Files that were
// not changed in the last minutes can't hold what was made up a moment ago.
const search = `pattern=$(cat "$1")
env | grep -aE "$pattern" | sed 's/^/FOUND in env: /'
for f in /proc/[0-9]*/environ /proc/[0-9]*/cmdline; do
	tr '\0' '\n' < "$f" 2>/dev/null | grep -aqE "$pattern" && echo "FOUND in $f"
done
find / \( -path /proc -o -path /sys \) -prune -o -type f -cmin -15 -print0 2>/dev/null |
	xargs -0 -r grep -alE "$pattern" 2>/dev/null | sed 's/^/FOUND in /'
door=${HTTP_PROXY##*@}
token=${HTTP_PROXY#*cco:}; token=${token%@*}
answers=$(for model in anthropic openai gemini; do
	for with in "$token" wrong; do
		for path in v1/messages v1/none "../$model" "%2e%2e/x" "v1/messages?echo=1"; do
			curl -sv -w 'code=%{http_code}\n' --noproxy '*' --max-time 5 -X POST --data garbage \
				-H "x-api-key: $with" -H "Authorization: Bearer $with" \
				-H "x-goog-api-key: $with" "http://$door/$model/$path" 2>&1
		done
	done
done)
echo "$answers" | grep -aE "$pattern" | sed 's/^/FOUND in an answer of the door: /'
echo codes $(echo "$answers" | grep -ao 'code=[0-9]*$' | sort | uniq -c)
curl -sv --max-time 5 http://example.org/ 2>&1 | grep -aE "$pattern" | sed 's/^/FOUND in an answer of the proxy: /'
echo searched
`

// searchKey and searchDecoy are what an agent is told to run: one finds nothing, the other what is there.
var searchKey, searchDecoy = agenttest.Shell("env; sh search.sh key.txt"), agenttest.Shell("sh search.sh decoys.txt")

// putSearch commits what the searches need. A bracket keeps patterns from finding themselves.
func (w *work) putSearch() {
	const decoy = "dk-decoy-5f1e9a77"
	hide := func(s string) string { return s[:4] + "[" + s[4:5] + "]" + s[5:] + "\n" }
	for name, text := range map[string]string{"search.sh": search, "key.txt": hide(w.key), "decoys.txt": hide(decoy),
		"decoy.txt": decoy + "\n"} {
		w.put(name, text)
	}
}

// tokenInBox is what an agent has in place of its key, as each of them is told.
var tokenInBox = regexp.MustCompile(`(?m)^(ANTHROPIC_API_KEY|CCO_DOOR_TOKEN|GEMINI_API_KEY)=[0-9a-f]{32}$|` +
	`"apiKey": ?"[0-9a-f]{32}"`)

// keyIsNowhere checks what was found: the real key is used, and is neither in the box, nor in what push showed, nor in
// anything that cco leaves on disk.
func (w *work) keyIsNowhere(id, shown string) {
	w.t.Helper()
	heard := w.model.Heard()
	if strings.Count(heard, "searched") < 2 || !strings.Contains(heard, "decoy.txt") {
		w.t.Fatalf("the search does not find what is there: %s", heard)
	}
	if !tokenInBox.MatchString(heard) {
		w.t.Errorf("the box's environment has no token of the session: %s", heard)
	}
	if !strings.Contains(heard, "code=403") || !strings.Contains(heard, "code=404") {
		w.t.Errorf("the door did not answer: %s", heard)
	}
	for line := range strings.Lines(heard) {
		if strings.Contains(line, "FOUND") && !strings.Contains(line, "decoy") && !strings.Contains(line, ".git/") {
			w.t.Errorf("the key is in the box: %s", line)
		}
	}
	for name, text := range map[string]string{"what tools answered": heard, "what push showed": shown,
		"the transcript":          w.kept(id, "transcript.jsonl"),
		"the record of what left": w.kept(id, "net.jsonl")} {
		if strings.Contains(text, w.key) {
			w.t.Errorf("the key is in %s", name)
		}
	}
	w.onDisk(w.key)
}

// onDisk looks for a text in every file that cco has made.
func (w *work) onDisk(text string) {
	w.t.Helper()
	err := filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (path == w.bin || d.Name() == "node_modules") {
			if err == nil {
				return filepath.SkipDir
			}
			return nil // gone in the meantime
		}
		if !d.Type().IsRegular() {
			return nil
		}
		if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), text) {
			w.t.Errorf("the key is in %s", path)
		}
		return nil
	})
	if err != nil {
		w.t.Error(err)
	}
}
