package aside

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git"
)

// shown are the sections of the user's configuration that a private repository has too. Programs that they name run in
// the cage.
const shown = "core user author committer init branch remote url submodule pull push fetch merge rebase diff commit " +
	"status log format pretty stash tag notes checkout worktree apply grep blame color column advice i18n rerere index " +
	"feature am lfs filter"

// hidden are the keys in them that it has not: hooks, signing, ways to log in, and what is its own.
const hidden = "hookspath fsmonitor sshcommand askpass gitproxy proxy signingkey gpgsign forcesignannotated " +
	"showsignature verifysignatures worktree bare repositoryformatversion templatedir"

// known are the extensions of a repository that a private one need not have: it has refs in files and one
// configuration, whatever the user's has.
const known = "worktreeconfig refstorage noop preciousobjects relativeworktrees"

// config gives the private repository's configuration, from that of the user's repository and worktree.
func (p *part) config() ([]byte, error) {
	ours := []git.Setting{{Key: "core.repositoryformatversion", Value: "1"}, {Key: "core.bare", Value: "false"},
		{Key: "extensions.objectformat", Value: p.user.ObjectFormat}}
	// An agent may have git overlook the user's own settings, in which this stands most often.
	if id := p.user.Identity(); id.Name != "" && id.Email != "" {
		ours = append(ours, git.Setting{Key: "user.name", Value: id.Name}, git.Setting{Key: "user.email", Value: id.Email})
	}
	if p.worktree != "" {
		ours = append(ours, git.Setting{Key: "core.worktree", Value: p.worktree})
	}
	cleaned, err := clean(p.user.Settings("local", "worktree"), shown)
	if err != nil {
		return nil, err
	}
	return render(append(ours, cleaned...)), nil
}

// named are the settings that name a file of the user's, and where git looks for it below the directory of settings if
// they don't.
func named() map[string]string {
	return map[string]string{"core.excludesfile": "git/ignore", "core.attributesfile": "git/attributes",
		"commit.template": ""}
}

// Personal gives the user's own settings of git without hooks, and the files that they name. Without logins it lacks
// ways to log in and to sign as well.
func Personal(all []git.Setting, home string, logins bool) (config []byte, files []string, err error) {
	cleaned := slices.DeleteFunc(slices.Clone(all), func(s git.Setting) bool {
		section, _, key := splitKey(s.Key)
		return strings.HasPrefix(section, "include") ||
			slices.Contains(strings.Fields("hookspath fsmonitor templatedir"), key)
	})
	if !logins {
		if cleaned, err = clean(cleaned, shown+" alias safe gc maintenance pack protocol"); err != nil {
			return nil, nil, err
		}
	}
	at := map[string]string{}
	for key, name := range named() {
		if name != "" {
			at[key] = filepath.Join(cmp.Or(os.Getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), name)
		}
	}
	var kept []git.Setting
	for _, s := range cleaned {
		if _, isFile := named()[s.Key]; isFile {
			at[s.Key] = s.Value
		} else {
			kept = append(kept, s)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(at)) {
		file := at[key]
		if rest, ok := strings.CutPrefix(file, "~/"); ok {
			file = filepath.Join(home, rest)
		}
		if st, err := os.Stat(file); err == nil && st.Mode().IsRegular() && filepath.IsAbs(file) {
			files, kept = append(files, file), append(kept, git.Setting{Key: key, Value: file})
		}
	}
	return render(kept), files, nil
}

// clean leaves only what is shown, without logins. An extension that is not understood is an error: git inside would
// read the repository wrongly.
func clean(all []git.Setting, shown string) (kept []git.Setting, err error) {
	for _, s := range all {
		section, name, key := splitKey(s.Key)
		if section == "extensions" && key != "objectformat" && !slices.Contains(strings.Fields(known), key) {
			return nil, fmt.Errorf("the repository has the extension %s, which a private one can't have", git.Quote(key))
		}
		if !slices.Contains(strings.Fields(shown), section) || slices.Contains(strings.Fields(hidden), key) {
			continue
		}
		value, ok := s.Value, true
		if strings.Contains(value, "://") || strings.HasSuffix(key, "url") {
			value, ok = plainURL(value)
		}
		if section == "url" {
			plain, fine := plainURL(name)
			ok = ok && fine && plain == name
		}
		if ok {
			kept = append(kept, git.Setting{Key: s.Key, Value: value})
		}
	}
	return kept, nil
}

// splitKey splits section.name.key; the name may have dots in it, or be missing.
func splitKey(full string) (section, name, key string) {
	section, rest, _ := strings.Cut(full, ".")
	if dot := strings.LastIndexByte(rest, '.'); dot >= 0 {
		return section, rest[:dot], rest[dot+1:]
	}
	return section, "", rest
}

// plainURL removes a login from an address, and says whether it is sure that there is none left. The user of an ssh
// address is no secret, and needed.
func plainURL(address string) (string, bool) {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return address, !strings.Contains(address, "::") // which a program takes that may be told anything
	}
	if end := strings.IndexAny(rest, "?#"); end >= 0 {
		rest = rest[:end]
	}
	host, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		user, _, _ := strings.Cut(host[:at], ":")
		plain := host[at+1:]
		if strings.HasSuffix(scheme, "ssh") {
			plain = user + "@" + plain
		}
		rest = plain + strings.TrimPrefix(rest, host)
	}
	return scheme + "://" + rest, !strings.Contains(path, "@")
}

// render writes a configuration file.
func render(all []git.Setting) []byte {
	var b strings.Builder
	value := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`)
	title := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	for _, s := range all {
		section, name, key := splitKey(s.Key)
		if name != "" {
			section += ` "` + title.Replace(name) + `"`
		}
		b.WriteString("[" + section + "]\n\t" + key + " = \"" + value.Replace(s.Value) + "\"\n")
	}
	return []byte(b.String())
}
