package inside

import (
	"context"
	"errors"
	"strings"
)

// maxPrograms is the limit of configured filters that are switched off: more would not fit into an environment.
const maxPrograms = 200

// quiet is the configuration that overrides the agent's.
func quiet() [][2]string {
	all := [][2]string{
		{"core.hooksPath", "/dev/null"}, {"core.fsmonitor", "false"}, {"core.pager", "cat"}, {"gc.auto", "0"},
		{"maintenance.auto", "false"},
		{"commit.gpgSign", "false"}, {"log.showSignature", "false"}, {"advice.addEmbeddedRepo", "false"},
		{"advice.graftFileDeprecated", "false"}, {"submodule.recurse", "false"}, {"safe.directory", "*"},
		{"core.sshCommand", "false"}, {"core.askPass", ""}, {"credential.helper", ""}, {"protocol.allow", "never"},
	}
	// Nothing here needs a transport. If an object is missing, git would fetch it with a program that the agent names.
	for _, p := range []string{"file", "git", "http", "https", "ssh", "ext"} {
		all = append(all, [2]string{"protocol." + p + ".allow", "never"})
	}
	return all
}

// calm switches off the filters that the repository configures: files are kept unchanged, and no filter program can
// hang or refuse them.
func (r repo) calm(ctx context.Context) (repo, error) {
	out, err := r.text(ctx, nil, "config", "-z", "--name-only", "--get-regexp", `^filter\.`)
	if err != nil && out == "" {
		return r, ctx.Err() // there are none
	}
	seen := map[string]bool{}
	for key := range strings.SplitSeq(out, "\x00") {
		name := strings.TrimPrefix(key, "filter.")
		dot := strings.LastIndexByte(name, '.')
		if dot < 0 || seen[name[:dot]] {
			continue
		}
		name = name[:dot]
		if seen[name] = true; len(seen) > maxPrograms {
			return r, errors.New("it has too many filters")
		}
		for _, kv := range [][2]string{{"clean", ""}, {"smudge", ""}, {"process", ""}, {"required", "false"}} {
			r.off = append(r.off, [2]string{"filter." + name + "." + kv[0], kv[1]})
		}
	}
	return r, nil
}
