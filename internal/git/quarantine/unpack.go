package quarantine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/safetext"
)

// Unpack checks the bundle's header, and unpacks it with every check that git has, within the limits. The file must be
// out of the agent's reach. base is the commit that was sent.
func (q *Repo) Unpack(ctx context.Context, bundle, base string) (Found, error) {
	if err := q.repo.CheckOID(base); err != nil {
		return Found{}, err
	}
	// Objects of an earlier bundle would complete this one here, and be missing in the user's repository.
	if q.used {
		return Found{}, errors.New("unpack: a quarantine takes one bundle")
	}
	q.used = true
	f, err := os.Open(bundle)
	if err != nil {
		return Found{}, fmt.Errorf("unpack: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return Found{}, fmt.Errorf("unpack: %w", err)
	}
	q.limits = q.options.Limits.withDefaults(info.Size())
	h, err := q.readHeader(ctx, f, base)
	if err != nil {
		return Found{}, fmt.Errorf("verify bundle: %w", err)
	}
	q.needs = h.prerequisites
	if size := info.Size() - h.size; size > q.limits.PackBytes {
		return Found{}, refuse(RuleTooLarge, "the pack has %d bytes (limit %d)", size, q.limits.PackBytes)
	}
	if err := q.indexPack(ctx, f, h.size); err != nil {
		return Found{}, fmt.Errorf("unpack: %w", err)
	}
	if err := q.measure(ctx, h.tips()); err != nil {
		return Found{}, fmt.Errorf("unpack: %w", q.packError(err))
	}
	return q.findTips(h, base)
}

func (q *Repo) readHeader(ctx context.Context, f *os.File, base string) (header, error) {
	in := bufio.NewReader(f)
	h, err := readHeader(in, q.options.Kept)
	if err != nil {
		return header{}, err
	}
	if h.format != q.repo.ObjectFormat {
		return header{}, refuse(RuleHeader, "the bundle is for %s, the repository is %s", h.format, q.repo.ObjectFormat)
	}
	if err := checkPackHeader(in, q.limits.Objects); err != nil {
		return header{}, err
	}
	return h, q.checkPrerequisites(ctx, h.prerequisites, base)
}

// checkPrerequisites allows the base and what comes before it. Anything else was never sent.
func (q *Repo) checkPrerequisites(ctx context.Context, oids []string, base string) error {
	oids = slices.DeleteFunc(slices.Clone(oids), func(oid string) bool { return oid == base })
	if len(oids) == 0 {
		return nil
	}
	err := q.repo.Host().Kinds(ctx, oids, func(o git.Object) error {
		if o.Kind != "commit" {
			return refuse(RulePrerequisite, "missing prerequisite %s", git.Short(o.OID))
		}
		return nil
	})
	if err != nil {
		return err
	}
	out, err := q.repo.Host().Feed(ctx, git.Revisions(oids, append([]string{base}, q.options.Also...)), "rev-list",
		"--max-count=1", "--stdin")
	if err != nil {
		return fmt.Errorf("check prerequisites: %w", err)
	}
	if oid := strings.TrimSpace(string(out)); oid != "" {
		return refuse(RulePrerequisite, "the bundle builds on %s, which is not part of what was sent", git.Short(oid))
	}
	return nil
}

// indexPack runs git index-pack until its only complaints may be about entries that the user had before.
func (q *Repo) indexPack(ctx context.Context, f *os.File, offset int64) error {
	var demoted []string
	for {
		words, err := q.tryIndexPack(ctx, f, offset, demoted)
		if err == nil {
			q.tolerate = words
			return nil
		}
		more := oldFaults(err)
		if len(more) == 0 || slices.ContainsFunc(more, func(id string) bool { return slices.Contains(demoted, id) }) {
			return q.packError(err)
		}
		demoted = append(demoted, more...)
	}
}

// oldFaults gives the findings that git ended with, if each of them is about a new tree but possibly about an old
// entry in it. They become warnings, and Examine decides: it refuses such an entry when it is new.
func oldFaults(err error) []string {
	exit, ok := errors.AsType[*proc.ExitError](err)
	if !ok {
		return nil
	}
	var ids []string
	for _, m := range regexp.MustCompile(`(?m)^error: object [0-9a-f]+: ([A-Za-z0-9]+): `).FindAllStringSubmatch(
		exit.Stderr, -1) {
		switch m[1] {
		case "hasDotgit", "zeroPaddedFilemode", "badFilemode", "largePathname",
			"gitmodulesName", "gitmodulesUrl", "gitmodulesPath", "gitmodulesUpdate", "gitmodulesParse", "gitmodulesLarge",
			"gitmodulesSymlink", "gitattributesSymlink", "gitattributesLarge", "gitattributesLineLength",
			"gitignoreSymlink", "mailmapSymlink", "symlinkTargetLength", "symlinkPointsToGitDir":
			if !slices.Contains(ids, m[1]) {
				ids = append(ids, m[1])
			}
		default:
			return nil
		}
	}
	return ids
}

// tryIndexPack runs git index-pack once, and returns its warnings.
func (q *Repo) tryIndexPack(ctx context.Context, f *os.File, offset int64, demoted []string) ([]string, error) {
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, err
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	strict := "--strict"
	if len(demoted) > 0 {
		strict += "=" + strings.Join(demoted, "=warn,") + "=warn"
	}
	args := []string{"index-pack", "--stdin", "--fix-thin", strict, "--max-input-size=" +
		strconv.FormatInt(q.limits.PackBytes, 10)}
	if q.options.Progress != nil {
		args = append(args, "-v")
	}
	out := head{max: 256}
	c, m := q.host.Cmd(args...), git.NewMeter(q.options.Progress)
	c.Stdin, c.Stdout, c.Stderr = inR, &out, m
	p, err := q.host.Start(ctx, c)
	_ = inR.Close()
	if err != nil {
		_ = inW.Close()
		return nil, err
	}
	// The limits hold by now: nothing hostile was in the pipe before.
	_, feed := io.Copy(inW, f)
	_ = inW.Close()
	err = m.Explain(p.Wait())
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, err
	case feed != nil:
		return nil, feed
	}
	name, ok := strings.CutPrefix(strings.TrimSuffix(string(out.b), "\n"), "pack\t")
	if !ok || !git.IsOID(name, q.repo.OIDLen()) {
		// Git hands through what comes after the pack.
		return nil, refuse(RulePack, "there is something after the end of the pack")
	}
	q.pack = "pack-" + name
	return strings.FieldsFunc(m.Words(), func(r rune) bool { return r == '\n' }), nil
}

func (q *Repo) confine(pid int) error {
	memory := q.limits.Memory
	indexes, _ := filepath.Glob(filepath.Join(q.repo.CommonDir, "objects", "pack", "*"))
	for _, path := range indexes {
		if info, err := os.Stat(path); err == nil && filepath.Ext(path) != ".pack" {
			memory += info.Size()
		}
	}
	return confine(pid, q.limits.CPU, memory, q.limits.PackBytes+q.limits.TotalBytes)
}

// head keeps the first max bytes written to it.
type head struct {
	max int
	b   []byte
}

// Write never fails.
func (h *head) Write(p []byte) (int, error) {
	h.b = append(h.b, p[:min(len(p), h.max-len(h.b))]...)
	return len(p), nil
}

// packError says for the user why git index-pack ended.
func (q *Repo) packError(err error) error {
	exit, ok := errors.AsType[*proc.ExitError](err)
	if !ok {
		return err
	}
	words := safetext.Line(strings.ReplaceAll(strings.TrimSpace(exit.Stderr), "\n", "; "))
	switch {
	case strings.Contains(words, "No space left on device") || strings.Contains(words, "Disk quota exceeded"):
		return err // which is no fault of the pack's
	case exit.Signal == syscall.SIGXCPU || exit.Signal == syscall.SIGKILL:
		return refuse(RulePackLimit, "git took more than %s of processor time on the pack", q.limits.CPU)
	case exit.Signal == syscall.SIGXFSZ:
		return refuse(RulePackLimit, "unpacking wrote more than %d bytes", q.limits.PackBytes+q.limits.TotalBytes)
	case strings.Contains(words, "ut of memory") || strings.Contains(words, "annot allocate memory") ||
		strings.Contains(words, "mmap failed"):
		return refuse(RulePackLimit, "git took more than %d bytes of memory on the pack: %s", q.limits.Memory, words)
	case strings.Contains(words, "maximum allowed size"):
		return refuse(RuleTooLarge, "the pack is larger than the limit of %d bytes", q.limits.PackBytes)
	case exit.Signal != 0:
		return refuse(RulePack, "git index-pack was killed by %s", exit.Signal)
	}
	return refuse(RulePack, "git found a fault: %s", words)
}

// maxCommitBytes bounds a commit: many places read its complete message.
const maxCommitBytes = 1 << 20

// measure checks the size of every object before anything expands them again.
func (q *Repo) measure(ctx context.Context, tips []string) error {
	oids, err := readIndex(filepath.Join(q.Dir, "objects", "pack", q.pack+".idx"), q.repo.OIDLen(), q.limits.Objects)
	if err != nil {
		return err
	}
	q.commits = map[string]bool{}
	var total int64
	var large []string
	err = q.host.Kinds(ctx, oids, func(o git.Object) error {
		most := q.limits.ObjectBytes
		switch o.Kind {
		case "commit":
			most = min(most, maxCommitBytes)
			if q.commits[o.OID] = true; len(q.commits) > q.limits.Commits {
				return refuse(RulePackLimit, "more than %d commits", q.limits.Commits)
			}
		case "tag", "missing":
			return refuse(RuleObject, "object %s is %s", git.Short(o.OID), o.Kind)
		}
		if o.Size > most {
			large = append(large, o.OID)
			return nil
		}
		if total += o.Size; total > q.limits.TotalBytes {
			return refuse(RulePackLimit, "the objects have more than %d bytes together", q.limits.TotalBytes)
		}
		return nil
	})
	if err != nil {
		return err
	}
	// A thin pack is completed with objects that the user had before, and those may be of any size.
	return q.repo.Host().Kinds(ctx, large, func(o git.Object) error {
		if o.Kind == "missing" {
			no := refuse(RuleTooLarge, "object %s is larger than the limit (%d bytes, and %d for a commit)", git.Short(o.OID),
				q.limits.ObjectBytes, maxCommitBytes)
			no.Path = q.nameOf(ctx, tips, o.OID)
			return no
		}
		return nil
	})
}

// tips are the commits of a bundle's refs.
func (h header) tips() (oids []string) {
	for _, r := range h.refs {
		oids = append(oids, r.OID)
	}
	return oids
}

// nameOf finds a path at which the tips have an object; "" if there is none.
func (q *Repo) nameOf(ctx context.Context, tips []string, oid string) (path string) {
	c := q.host.Cmd("rev-list", "--objects", "--stdin")
	c.Stdin = git.Revisions(tips, nil)
	_ = q.host.Scan(ctx, c, '\n', func(line []byte) error { // without a path the message names the object
		if rest, ok := strings.CutPrefix(string(line), oid+" "); ok && path == "" {
			path = rest
		}
		return nil
	})
	return path
}

// findTips reads the tips from the header. They must be commits of this pack; only the tip may also be the base.
func (q *Repo) findTips(h header, base string) (Found, error) {
	found := Found{Base: base, Tip: base}
	for _, r := range h.refs {
		if !q.commits[r.OID] && r.OID != base {
			return Found{}, refuse(RuleRef, "%s is %s, which is not a commit of the bundle", r.Name, git.Short(r.OID))
		}
		switch kept, ok := keptName(r.Name); {
		case r.Name == OutRef:
			found.Tip = r.OID
		case ok:
			found.Kept = append(found.Kept, git.NamedRef{Name: kept, OID: r.OID})
		case r.OID != base:
			found.Wip = r.OID
		}
	}
	q.found = found
	return found, nil
}
