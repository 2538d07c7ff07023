package canary

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"
)

// isOID says whether a text is the name of an object.
func isOID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// symbolic precedes the name of another ref.
const symbolic = "ref: "

// looseRef records what a ref's own file holds.
func (p *picture) looseRef(name string, f io.Reader) error {
	text, err := readAll(f, 4096)
	if err != nil {
		return ignore(err, errLarge)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	p.Refs[name] = label(strings.TrimRight(line, " \t\r"))
	return nil
}

// packedRefs records refs that may have files of their own too, which then count.
func (p *picture) packedRefs(f io.Reader) error {
	in := bufio.NewScanner(io.LimitReader(f, maxPacked))
	for in.Scan() {
		value, name, ok := strings.Cut(in.Text(), " ")
		if ok && isOID(value) {
			parts := strings.Split(name, "/")
			for i := range parts {
				parts[i] = label(parts[i])
			}
			p.packed[strings.Join(parts, "/")] = value
		}
		if len(p.packed) > maxFiles {
			return errors.New("packed-refs: there are too many refs")
		}
	}
	return in.Err()
}

// stash is one entry of the list of stashes, which is a reflog.
type stash struct {
	OID   string `json:"oid"`
	Words string `json:"words"`
}

// stashLog reads the list of stashes.
func (p *picture) stashLog(f io.Reader) error {
	in := bufio.NewScanner(io.LimitReader(f, maxLog))
	in.Buffer(nil, maxLog)
	for in.Scan() {
		meta, words, _ := strings.Cut(in.Text(), "\t")
		if part := strings.SplitN(meta, " ", 3); len(part) == 3 && isOID(part[1]) {
			p.Stashes = append(p.Stashes, stash{part[1], label(words)})
		}
	}
	return in.Err()
}

// mine says whether a ref is the agent's to move. It may not make it a way to another.
func (o Own) mine(name string, now string) bool {
	return o.Branch != "" && name == "refs/heads/"+o.Branch && !strings.HasPrefix(now, symbolic)
}

// hides gives a ref that was there, and that git would no longer find by a short name because it finds name first; ""
// if there is none.
func (p *picture) hides(name string) string {
	// In this order git looks for what a short name means.
	rules := []string{"", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"}
	for i, rule := range rules {
		short, ok := strings.CutPrefix(name, rule)
		if !ok || short == "" {
			continue
		}
		for _, later := range rules[i+1:] {
			for _, other := range []string{later + short, later + short + "/HEAD"} {
				if _, there := p.Refs[other]; there && other != name {
					return other
				}
			}
		}
	}
	return ""
}

// harmless says whether a ref that was added is only new: it is where people and cco make refs, holds a commit of its
// own and hides none.
func (p *picture) harmless(name string, value string) bool {
	return isOID(value) && p.hides(name) == "" && slices.ContainsFunc(
		[]string{"refs/heads/", "refs/tags/", "refs/remotes/", "refs/notes/", "refs/cco/"},
		func(place string) bool { return strings.HasPrefix(name, place) })
}
