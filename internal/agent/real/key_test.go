//go:build heavy

package real

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/agent/agenttest"
)

// search is a script that looks for a pattern in all that can be read in a box, and says where it is. Files that were
// not changed in the last minutes can't hold what was made up a moment ago.
const search = `pattern=$1
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

// The real key is used, and is nowhere to be found: not by what runs in the box, and not in anything that cco leaves on
// disk.
func TestTheKeyIsNowhere(t *testing.T) {
	eachBox(t, agents, func(t *testing.T, agent, box string) {
		var w *work
		// The bracket keeps the pattern from finding itself in command lines and transcripts.
		hide := func(s string) string { return s[:4] + "[" + s[4:5] + "]" + s[5:] }
		const decoy = "dk-decoy-5f1e9a77"
		key := newKey()
		w = newWork(t, agent,
			agenttest.Shell("env; sh search.sh '"+hide(key)+"'"),
			agenttest.Shell("sh search.sh '"+hide(decoy)+"'"),
			agenttest.Say("done"))
		w.box = box
		for i, v := range w.env {
			w.env[i] = strings.Replace(v, w.key, key, 1)
		}
		w.put("search.sh", search)
		w.put("decoy.txt", decoy+"\n")
		out, id := w.push(0)
		heard := w.model.Heard()
		if strings.Count(heard, "searched") < 2 || !strings.Contains(heard, "decoy.txt") {
			t.Fatalf("the search does not find what is there: %s", heard)
		}
		if !regexp.MustCompile(`(?m)^(ANTHROPIC_API_KEY|CCO_DOOR_TOKEN|GEMINI_API_KEY)=[0-9a-f]{32}$`).MatchString(heard) {
			t.Errorf("the box's environment has no token of the session: %s", heard)
		}
		if !strings.Contains(heard, "code=403") || !strings.Contains(heard, "code=404") {
			t.Errorf("the door did not answer: %s", heard)
		}
		for line := range strings.Lines(heard) {
			if strings.Contains(line, "FOUND") && !strings.Contains(line, "decoy") && !strings.Contains(line, ".git/") {
				t.Errorf("the key is in the box: %s", line)
			}
		}
		for name, text := range map[string]string{"what tools answered": heard, "what push showed": out,
			"the transcript":          w.kept(id, "transcript.jsonl"),
			"the record of what left": w.kept(id, "net.jsonl")} {
			if strings.Contains(text, key) {
				t.Errorf("the key is in %s", name)
			}
		}
		w.onDisk(key)
		for _, r := range w.model.Requests() {
			if r.Turn && r.Key() != key {
				t.Errorf("the model got %q, not the real key", r.Key())
			}
		}
	})
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
