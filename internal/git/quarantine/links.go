package quarantine

import (
	"slices"
	"strings"
)

// link is a symbolic link in a tree.
type link struct {
	path   string
	oid    string
	target string
	escape bool // it left the tree before, too
}

const (
	maxLinkBytes = 4095
	maxLinkHops  = 40
)

// checkTarget judges a link's target without looking at any tree.
func checkTarget(target string) *fault {
	switch {
	case target == "":
		return &fault{RuleSymlink, "a link to nothing"}
	case hasControl(target) || strings.Contains(target, "\x00"):
		return &fault{RuleSymlink, "a control character in the link's target"}
	case strings.HasPrefix(target, "/") || strings.HasPrefix(target, `\`) || len(target) > 1 && target[1] == ':':
		return &fault{RuleSymlink, "a link to an absolute path"}
	}
	for part := range strings.SplitSeq(target, "/") {
		if IsDotGit(part) {
			return &fault{RuleSymlink, "a link into .git"}
		}
	}
	return nil
}

// turnsBack says whether a target goes up after it has gone down: only then can another link on its path make it leave
// the tree.
func turnsBack(target string) bool {
	down := false
	for part := range strings.SplitSeq(target, "/") {
		switch part {
		case "", ".":
		case "..":
			if down {
				return true
			}
		default:
			down = true
		}
	}
	return false
}

// linkReader finds links for follow.
type linkReader interface {
	// linkAt gives the target of the link at a path, if there is one.
	linkAt(path []string) (target string, ok bool, err error)
}

// noLinks is a tree without links.
type noLinks struct{}

func (noLinks) linkAt([]string) (string, bool, error) { return "", false, nil }

// follow walks a target from a directory, through every link on the way, and says what is wrong with it.
func follow(tree linkReader, dir []string, target string) (*fault, error) {
	at := slices.Clone(dir)
	todo := strings.Split(target, "/")
	for hops := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if len(at) == 0 {
				return &fault{RuleSymlink, "a link that leaves the tree"}, nil
			}
			at = at[:len(at)-1]
			continue
		}
		at = append(at, part)
		next, ok, err := tree.linkAt(at)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if hops++; hops > maxLinkHops {
			return &fault{RuleSymlink, "a link that goes in circles"}, nil
		}
		if f := checkTarget(next); f != nil {
			return &fault{RuleSymlink, f.reason + ", through another link"}, nil
		}
		at = at[:len(at)-1]
		todo = append(strings.Split(next, "/"), todo...)
	}
	return nil, nil
}
