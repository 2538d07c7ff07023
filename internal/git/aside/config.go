package aside

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git"
)

// shown is what a private repository takes from the user's configuration, by section; a section with a dot is one with
// a name in it. Nothing here names a program, a hook, a key or a login, and what is not here stays outside.
func shown() map[string]string {
	return map[string]string{
		"core": "filemode ignorecase precomposeunicode symlinks autocrlf eol safecrlf quotepath abbrev logallrefupdates " +
			"protecthfs protectntfs sparsecheckout sparsecheckoutcone trustctime checkstat untrackedcache preloadindex " +
			"bigfilethreshold compression loosecompression commentchar whitespace splitindex excludesfile attributesfile " +
			"checkroundtripencoding",
		"user":       "name email useconfigonly",
		"author":     "name email",
		"committer":  "name email",
		"init":       "defaultbranch",
		"branch":     "autosetupmerge autosetuprebase sort",
		"branch.":    "remote pushremote merge mergeoptions rebase description",
		"remote":     "pushdefault",
		"remote.":    "url pushurl fetch push mirror tagopt prune prunetags skipdefaultupdate skipfetchall",
		"url.":       "insteadof pushinsteadof",
		"submodule":  "active recurse fetchjobs propagatebranches",
		"submodule.": "url path branch update ignore active fetchrecursesubmodules shallow",
		"pull":       "rebase ff twohead octopus",
		"push":       "default autosetupremote followtags recursesubmodules",
		"fetch":      "prune prunetags recursesubmodules parallel writecommitgraph",
		"merge": "conflictstyle ff log renames renamelimit directoryrenames renormalize autostash branchdesc suppressdest " +
			"stat verbosity",
		"rebase": "autosquash autostash updaterefs backend abbreviatecommands missingcommitscheck stat instructionformat",
		"diff": "algorithm colormoved colormovedws context interhunkcontext indentheuristic mnemonicprefix noprefix " +
			"relative renames renamelimit suppressblankempty submodule ignoresubmodules wordregex wserrorhighlight " +
			"statgraphwidth",
		"diff.":      "xfuncname funcname binary wordregex algorithm",
		"commit":     "cleanup verbose status",
		"status":     "branch short showstash showuntrackedfiles relativepaths renames renamelimit aheadbehind",
		"log":        "date decorate follow abbrevcommit excludedecoration graphcolors showroot mailmap",
		"format":     "pretty",
		"pretty":     "*",
		"stash":      "showpatch showstat showincludeuntracked",
		"tag":        "sort",
		"notes":      "displayref mergestrategy rewritemode rewriteref",
		"checkout":   "defaultremote guess workers",
		"worktree":   "guessremote",
		"apply":      "whitespace ignorewhitespace",
		"grep":       "linenumber patterntype extendedregexp fullname column threads",
		"blame":      "blankboundary coloring date showemail showroot ignorerevsfile",
		"color":      "*",
		"color.":     "*",
		"column":     "*",
		"advice":     "*",
		"i18n":       "*",
		"rerere":     "enabled autoupdate",
		"index":      "sparse version threads skiphash",
		"feature":    "manyfiles experimental",
		"am":         "threeway keepcr",
		"lfs":        "repositoryformatversion",
		"filter.lfs": "clean smudge process required",
	}
}

// extensions are those that the private repository understands, and whether it has them too: it has refs in files and
// one configuration, whatever the user's has.
func extensions() map[string]bool {
	return map[string]bool{"objectformat": true, "worktreeconfig": false, "refstorage": false, "noop": false,
		"preciousobjects": false, "relativeworktrees": false}
}

// config gives the private repository's configuration, from that of the user's repository and worktree.
func (p *part) config(ctx context.Context) ([]byte, error) {
	all, err := settings(ctx, p.user, "--local")
	if err != nil {
		return nil, err
	}
	apart := func(s git.Setting) bool { return s.Key == "extensions.worktreeconfig" && isTrue(s.Value) }
	if slices.ContainsFunc(all, apart) {
		more, err := settings(ctx, p.user, "--worktree")
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	format := 0
	if p.user.ObjectFormat != "sha1" {
		format = 1
	}
	ours := []git.Setting{{Key: "core.repositoryformatversion", Value: fmt.Sprint(format)},
		{Key: "core.bare", Value: "false"}}
	// An agent may have git overlook the user's own settings, in which this stands most often.
	if id := p.user.Identity(); id.Name != "" && id.Email != "" {
		ours = append(ours, git.Setting{Key: "user.name", Value: id.Name}, git.Setting{Key: "user.email", Value: id.Email})
	}
	if p.worktree != "" {
		ours = append(ours, git.Setting{Key: "core.worktree", Value: p.worktree})
	}
	cleaned, err := clean(all)
	if err != nil {
		return nil, err
	}
	return render(append(ours, cleaned...)), nil
}

// settings lists one file of the user's configuration, without what it includes. A key without a value is true.
func settings(ctx context.Context, r *git.Repo, scope string) ([]git.Setting, error) {
	out, err := r.Host().Out(ctx, "config", scope, "--no-includes", "-z", "--list")
	if err != nil {
		return nil, fmt.Errorf("read git config: %w", err)
	}
	var all []git.Setting
	for field := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		key, value, ok := strings.Cut(field, "\n")
		if !ok {
			value = "true"
		}
		if key != "" {
			all = append(all, git.Setting{Key: key, Value: value})
		}
	}
	return all, nil
}

func isTrue(value string) bool {
	return slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(value))
}

// clean leaves only what is shown. An extension that is not understood is an error: git inside would read the
// repository wrongly.
func clean(all []git.Setting) ([]git.Setting, error) {
	table, kept := shown(), []git.Setting(nil)
	for _, s := range all {
		section, name, key := splitKey(s.Key)
		if section == "extensions" {
			has, known := extensions()[key]
			if !known {
				return nil, fmt.Errorf("the repository has the extension %s, which a private one can't have", git.Quote(key))
			}
			if has {
				kept = append(kept, s)
			}
			continue
		}
		row := table[section]
		if name != "" {
			row = table[section+"."] + " " + table[section+"."+name]
		}
		if words := strings.Fields(row); !slices.Contains(words, key) && !slices.Contains(words, "*") {
			continue
		}
		if s, ok := withoutLogin(s, section, name, key); ok {
			kept = append(kept, s)
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

// withoutLogin takes users and passwords out of addresses, and leaves out settings that are commands.
func withoutLogin(s git.Setting, section, name, key string) (git.Setting, bool) {
	switch {
	case section == "url":
		plain, ok := plainURL(name)
		return s, ok && plain == name
	case key == "url" || key == "pushurl":
		plain, ok := plainURL(s.Value)
		s.Value = plain
		return s, ok
	case section == "submodule" && key == "update":
		return s, !strings.HasPrefix(s.Value, "!")
	case section == "filter":
		return s, key == "required" || strings.HasPrefix(s.Value, "git-lfs ")
	}
	return s, true
}

// plainURL removes a login from an address. The user of an ssh address is no secret, and needed.
func plainURL(address string) (string, bool) {
	if scheme, _, ok := strings.Cut(address, "::"); ok && !strings.ContainsAny(scheme, "/.@[") {
		return "", false // a program of the user's takes it
	}
	if !strings.Contains(address, "://") {
		return address, true
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", false
	}
	_, password := u.User.Password()
	switch {
	case strings.HasSuffix(u.Scheme, "ssh") && password:
		u.User = url.User(u.User.Username())
	case strings.HasSuffix(u.Scheme, "ssh"):
		return address, true
	case u.User == nil && u.RawQuery == "" && u.Fragment == "":
		return address, true
	default:
		u.User, u.RawQuery, u.Fragment = nil, "", ""
	}
	return u.String(), true
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
