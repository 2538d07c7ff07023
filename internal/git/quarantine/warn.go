package quarantine

import (
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/safetext"
)

// Warning is something allowed that a person should look at before running it.
type Warning struct {
	Kind string `json:"kind"` // "ci", "hook", "agent", "editor", "environment", "attributes", "submodule", "executable"
	Path string `json:"path"` // safe to print
}

// maxWarnings keeps a report readable.
const maxWarnings = 500

// warnings looks at what the tips change in the base: an intermediate commit can't run.
func (x *examiner) warnings() ([]Warning, error) {
	seen := map[Warning]bool{}
	var all []Warning
	hooks := x.q.repo.HooksInTree()
	for _, tip := range x.q.found.tips() {
		root, err := x.rootOf(tip)
		if err != nil {
			return nil, err
		}
		err = x.changes(x.base, root, "", func(p string, was, is entry) {
			for _, kind := range warningKinds(p, was.mode, is.mode, hooks) {
				w := Warning{kind, safetext.Line(p)}
				if !seen[w] && len(all) < maxWarnings {
					seen[w] = true
					all = append(all, w)
				}
			}
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(all, func(a, b Warning) int { return strings.Compare(a.Kind, b.Kind) })
	return all, nil
}

// changes calls do for each file that differs between two trees. An entry that isn't there is empty.
func (x *examiner) changes(from, to, dir string, do func(path string, was, is entry)) error {
	olds, err := x.trees.load(from)
	if err != nil {
		return err
	}
	news, err := x.trees.load(to)
	if err != nil {
		return err
	}
	step := func(was, is entry) error {
		name := was.name + is.name
		if was.name != "" && is.name != "" {
			name = is.name
		}
		p := strings.TrimPrefix(dir+"/"+name, "/")
		if !was.dir() && !is.dir() {
			do(p, was, is)
			return nil
		}
		var a, b string
		if was.dir() {
			a = was.oid
		}
		if is.dir() {
			b = is.oid
		}
		return x.changes(a, b, p, do)
	}
	for len(olds) > 0 || len(news) > 0 {
		var was, is entry
		switch {
		case len(news) == 0 || len(olds) > 0 && olds[0].before(news[0]):
			was, olds = olds[0], olds[1:]
		case len(olds) == 0 || news[0].before(olds[0]):
			is, news = news[0], news[1:]
		default:
			was, olds = olds[0], olds[1:]
			is, news = news[0], news[1:]
		}
		if was == is {
			continue
		}
		if err := step(was, is); err != nil {
			return err
		}
	}
	return nil
}

// warningRules are directories (with a slash at the end), and names that count in any directory.
func warningRules() map[string][]string {
	return map[string][]string{
		"ci": {".github/workflows/", ".github/actions/", ".gitlab/", ".gitea/", ".forgejo/", ".circleci/", ".woodpecker/",
			".buildkite/", ".azure-pipelines/", ".teamcity/", ".ci/", "jenkinsfile", ".gitlab-ci.yml", ".travis.yml",
			"azure-pipelines.yml", "bitbucket-pipelines.yml", ".drone.yml", ".woodpecker.yml", "appveyor.yml", ".cirrus.yml"},
		"hook": {".husky/", ".githooks/", ".git-hooks/", "lefthook.yml", ".lefthook.yml", "lefthook.toml",
			".pre-commit-config.yaml",
			".overcommit.yml"},
		"agent": {".claude/", ".codex/", ".gemini/", ".opencode/", ".cursor/", ".windsurf/",
			".github/copilot-instructions.md",
			"claude.md", "claude.local.md", "agents.md", "gemini.md", "opencode.json", "opencode.jsonc", ".mcp.json",
			".cursorrules", ".aider.conf.yml", ".cco.toml"},
		"editor":      {".vscode/", ".idea/", ".devcontainer/", ".zed/", ".nvim.lua", ".exrc", ".vimrc"},
		"environment": {".envrc", ".env", "mise.toml", ".mise.toml", ".tool-versions", ".npmrc"},
		"attributes":  {".gitattributes"},
		"submodule":   {".gitmodules"},
	}
}

// warningKinds says what a changed file is, by its path and mode.
func warningKinds(p, was, is, hooks string) []string {
	lower := strings.ToLower(p)
	var kinds []string
	for kind, rules := range warningRules() {
		if slices.ContainsFunc(rules, func(rule string) bool { return matches(lower, rule) }) {
			kinds = append(kinds, kind)
		}
	}
	if hooks != "" && strings.HasPrefix(p, hooks+"/") && !slices.Contains(kinds, "hook") {
		kinds = append(kinds, "hook")
	}
	if (was == git.ModeGitlink || is == git.ModeGitlink) && !slices.Contains(kinds, "submodule") {
		kinds = append(kinds, "submodule")
	}
	if is == git.ModeExec && was != git.ModeExec {
		kinds = append(kinds, "executable")
	}
	slices.Sort(kinds)
	return kinds
}

func matches(p, rule string) bool {
	if strings.HasSuffix(rule, "/") {
		return strings.HasPrefix(p, rule) || strings.Contains(p, "/"+rule)
	}
	return p == rule || strings.HasSuffix(p, "/"+rule)
}
