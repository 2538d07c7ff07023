package gitwrap

import (
	"path/filepath"
	"strings"
)

// call is the part of a command line before git's subcommand.
type call struct {
	command string
	dirs    []string // the values of -C, in order
	aimed   bool     // the caller names a repository
}

// dir is the directory in which git will look for its repository.
func (c call) dir(cwd string) string {
	for _, d := range c.dirs {
		switch {
		case d == "": // git ignores an empty one
		case filepath.IsAbs(d):
			cwd = d
		default:
			cwd = filepath.Join(cwd, d)
		}
	}
	return cwd
}

// parse reads git's own options, up to the subcommand.
func parse(args []string) (c call) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if !strings.HasPrefix(arg, "-") {
			c.command = arg
			return c
		}
		name, _, glued := strings.Cut(arg, "=")
		switch name {
		case "--git-dir", "--bare":
			c.aimed = true
		}
		if glued || !takesValue(name) || len(args) == 0 {
			continue
		}
		if name == "-C" {
			c.dirs = append(c.dirs, args[0])
		}
		args = args[1:]
	}
	return c
}

func takesValue(option string) bool {
	switch option {
	case "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--attr-source",
		"--shallow-file":
		return true
	}
	return false
}
