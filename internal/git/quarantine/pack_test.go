package quarantine_test

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/git/quarantine"
	"github.com/cco-dev/cco/internal/must"
)

func TestBrokenBundlesAreRefused(t *testing.T) {
	h := newHandOff(t)
	tip := h.box.Commit("work", "big", strings.Repeat("some text\n", 1000), "other", "x\n")
	b := must.Get(os.ReadFile(h.publish(tip)))(t)
	good := string(b)
	head, pack, _ := strings.Cut(good, "\n\n")
	flipped := []byte(good)
	flipped[len(flipped)-40] ^= 0x55
	for name, c := range map[string]struct {
		content string
		rule    quarantine.Rule
	}{
		"empty file":          {"", quarantine.RuleHeader},
		"not a bundle":        {"hello\n", quarantine.RuleHeader},
		"version 1":           {strings.Replace(good, "# v2", "# v1", 1), quarantine.RuleHeader},
		"only a header":       {head + "\n\n", quarantine.RulePack},
		"cut in the header":   {good[:30], quarantine.RuleHeader},
		"cut in the pack":     {good[:len(good)-30], quarantine.RulePack},
		"cut after 12 bytes":  {head + "\n\n" + pack[:12], quarantine.RulePack},
		"a flipped bit":       {string(flipped), quarantine.RulePack},
		"garbage at its end":  {good + "garbage", quarantine.RulePack},
		"another pack at end": {good + pack, quarantine.RulePack},
		"no pack":             {head + "\n\nPUCK" + pack[4:], quarantine.RulePack},
		"no objects":          {head + "\n\nPACK\x00\x00\x00\x02\x00\x00\x00\x00", quarantine.RulePackLimit},
		"too many promised":   {head + "\n\nPACK\x00\x00\x00\x02\xff\xff\xff\xff" + pack[12:], quarantine.RulePackLimit},
		"a branch":            {strings.Replace(good, quarantine.OutRef, "refs/heads/main", 1), quarantine.RuleRef},
		"HEAD":                {strings.Replace(good, quarantine.OutRef, "HEAD", 1), quarantine.RuleRef},
		"a ref that climbs":   {strings.Replace(good, quarantine.OutRef, "refs/cco/../heads/main", 1), quarantine.RuleRef},
		"one ref too many":    {strings.Replace(good, "\n\n", "\n"+h.base+" refs/heads/x\n\n", 1), quarantine.RuleRef},
		"another HEAD":        {strings.Replace(good, "\n\n", "\n"+h.base+" HEAD\n\n", 1), quarantine.RuleRef},
		"a ref twice":         {strings.Replace(good, "\n\n", "\n"+tip+" "+quarantine.OutRef+"\n\n", 1), quarantine.RuleRef},
		"ref to elsewhere":    {strings.Replace(good, tip+" ", strings.Repeat("1", 40)+" ", 1), quarantine.RuleRef},
		"unknown prerequisite": {strings.Replace(good, "-"+h.base, "-"+strings.Repeat("2", 40), 1),
			quarantine.RulePrerequisite},
		"a capability in v2": {strings.Replace(good, "\n", "\n@object-format=sha1\n", 1), quarantine.RuleHeader},
		"a filter": {strings.Replace(good, "# v2 git bundle\n", "# v3 git bundle\n@filter=blob:none\n", 1),
			quarantine.RuleHeader},
		"another format": {strings.Replace(good, "# v2 git bundle\n", "# v3 git bundle\n@object-format=sha256\n", 1),
			quarantine.RuleHeader},
		"endless header": {"# v2 git bundle\n" + strings.Repeat("-"+h.base+" "+strings.Repeat("x", 1000)+"\n", 1100),
			quarantine.RuleHeader},
		"endless line": {"# v2 git bundle\n-" + strings.Repeat("x", 2<<20), quarantine.RuleHeader},
	} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			h.refused(h.file(c.content), c.rule)
		})
	}
}

// Guards against being too strict with what git itself writes.
func TestVersionThreeBundlePasses(t *testing.T) {
	h := newHandOff(t)
	h.publish(h.box.Commit("work", "x", "x\n"))
	path := filepath.Join(t.TempDir(), "v3.bundle")
	h.box.Git("bundle", "create", "-q", "--version=3", path, quarantine.OutRef, "^"+h.base)
	h.taken(path)
}

func TestABaseThatIsNotOursIsRefused(t *testing.T) {
	user := gittest.New(t)
	user.Commit("first", "README", "hello\n")
	h := send(t, user)
	// The user has these, but never sent them.
	user.Git("checkout", "-q", "-b", "private")
	private := user.Commit("private", "secret", "s\n")
	user.Git("checkout", "-q", "main")
	h.box.Git("fetch", "-q", user.Dir, "private")
	tree := h.box.Git("rev-parse", h.base+"^{tree}")
	t.Run("as prerequisite", func(t *testing.T) {
		h := h.in(t)
		tip := h.box.CommitTree(tree, h.base, private)
		h.refused(h.bundleOf([]string{h.base, private}, map[string]string{quarantine.OutRef: tip}, tip),
			quarantine.RulePrerequisite)
	})
	t.Run("unsaid", func(t *testing.T) {
		h := h.in(t)
		tip := h.box.CommitTree(tree, h.base, private)
		h.refused(h.bundleOf([]string{h.base}, map[string]string{quarantine.OutRef: tip}, tip), quarantine.RuleBase)
	})
	t.Run("unrelated history", func(t *testing.T) {
		h := h.in(t)
		tip := h.box.CommitTree(tree)
		h.refused(h.bundleOf(nil, map[string]string{quarantine.OutRef: tip}, tip), quarantine.RuleBase)
	})
	t.Run("leftovers on unrelated history", func(t *testing.T) {
		h := h.in(t)
		tip, wip := h.box.CommitTree(tree, h.base), h.box.CommitTree(tree)
		h.refused(h.bundleOf(nil, map[string]string{quarantine.OutRef: tip, quarantine.WipRef: wip}, tip, wip),
			quarantine.RuleBase)
	})
	t.Run("not a commit", func(t *testing.T) {
		h := h.in(t)
		blob := h.box.Object("blob", "x")
		h.refused(h.bundleOf(nil, map[string]string{quarantine.OutRef: blob}, blob), quarantine.RuleRef)
	})
	t.Run("a tag", func(t *testing.T) {
		h := h.in(t)
		tip := h.box.CommitTree(tree, h.base)
		tag := h.box.Object("tag", "object "+tip+"\ntype commit\ntag x\ntagger A <a@b> 1700000000 +0000\n\nx\n")
		h.refused(h.bundleOf(nil, map[string]string{quarantine.OutRef: tag}, tip, tag), quarantine.RuleObject)
	})
}

func TestMalformedObjectsAreRefused(t *testing.T) {
	h := newHandOff(t)
	tree := h.box.Git("rev-parse", h.base+"^{tree}")
	who := " A <a@example.org> 1700000000 +0000\n"
	for name, text := range map[string]string{
		"no author": "tree " + tree + "\nparent " + h.base + "\ncommitter" + who + "\nx\n",
		"malformed author": "tree " + tree + "\nparent " + h.base + "\nauthor A <a@example.org 1 +0\ncommitter" + who +
			"\nx\n",
		"NUL in the header": "tree " + tree + "\nparent " + h.base + "\nauthor A\x00B <a@example.org> 1 +0000\ncommitter" +
			who + "\nx\n",
		"NUL in the message": "tree " + tree + "\nparent " + h.base + "\nauthor" + who + "committer" + who + "\nx\x00y\n",
		"date overflow": "tree " + tree + "\nparent " + h.base +
			"\nauthor A <a@b> 99999999999999999999 +0000\ncommitter" + who + "\nx\n",
		"no tree": "parent " + h.base + "\nauthor" + who + "committer" + who + "\nx\n",
		"tree that is a blob": "tree " + h.box.Object("blob", "x") + "\nparent " + h.base + "\nauthor" + who + "committer" +
			who + "\nx\n",
		"tree not there": "tree " + strings.Repeat("3", 40) + "\nparent " + h.base + "\nauthor" + who + "committer" + who +
			"\nx\n",
		"parent not there": "tree " + tree + "\nparent " + strings.Repeat("4", 40) + "\nauthor" + who + "committer" + who +
			"\nx\n",
	} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			tip := h.box.Object("commit", text)
			h.refused(h.bundleOf([]string{h.base}, map[string]string{quarantine.OutRef: tip}, tip), quarantine.RulePack)
		})
	}
	blob := h.box.Object("blob", "x")
	for name, entries := range map[string][]gittest.Entry{
		"not sorted":         {{Mode: "100644", Name: "b", OID: blob}, {Mode: "100644", Name: "a", OID: blob}},
		"twice":              {{Mode: "100644", Name: "a", OID: blob}, {Mode: "100644", Name: "a", OID: blob}},
		"file and dir":       {{Mode: "100644", Name: "a", OID: blob}, {Mode: "40000", Name: "a", OID: h.box.Tree()}},
		"blob not there":     {{Mode: "100644", Name: "a", OID: strings.Repeat("5", 40)}},
		"zero id":            {{Mode: "100644", Name: "a", OID: strings.Repeat("0", 40)}},
		"dir that is a file": {{Mode: "40000", Name: "a", OID: blob}},
	} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			tree := h.box.Tree(entries...)
			tip := h.box.Object("commit", "tree "+tree+"\nparent "+h.base+"\nauthor"+who+"committer"+who+"\nx\n")
			h.refused(h.bundleOf([]string{h.base}, map[string]string{quarantine.OutRef: tip}, tip, tree, blob, h.box.Tree()),
				quarantine.RulePack)
		})
	}
}

// rawPack writes a pack of objects whose bytes come as they are: no delta is checked, no size believed.
func rawPack(objects ...[]byte) []byte {
	var b bytes.Buffer
	b.WriteString("PACK\x00\x00\x00\x02")
	_ = binary.Write(&b, binary.BigEndian, uint32(len(objects)))
	for _, o := range objects {
		b.Write(o)
	}
	sum := sha1.Sum(b.Bytes())
	b.Write(sum[:])
	return b.Bytes()
}

// packObject is one object in a pack: kind 1 commit, 2 tree, 3 blob, 7 delta to the id in base.
func packObject(kind int, base []byte, content []byte) []byte {
	size := len(content)
	var b bytes.Buffer
	c := byte(kind<<4 | size&15)
	for size >>= 4; size > 0; size >>= 7 {
		b.WriteByte(c | 0x80)
		c = byte(size & 0x7f)
	}
	b.WriteByte(c)
	b.Write(base)
	if len(content) < 1<<16 {
		// As it is: a writer for each of many small objects takes long.
		n := uint16(len(content))
		b.Write([]byte{0x78, 0x01, 0x01, byte(n), byte(n >> 8), byte(^n), byte(^n >> 8)})
		b.Write(content)
		_ = binary.Write(&b, binary.BigEndian, adler32.Checksum(content))
		return b.Bytes()
	}
	z, _ := zlib.NewWriterLevel(&b, zlib.BestSpeed)
	_, _ = z.Write(content)
	_ = z.Close()
	return b.Bytes()
}

func TestBombsAreRefused(t *testing.T) {
	h := newHandOff(t)
	zeros := make([]byte, 8<<20)
	commit := func(t *testing.T, tree string) string { return h.in(t).box.CommitTree(tree, h.base) }
	t.Run("one large object", func(t *testing.T) {
		h := h.in(t)
		tree := h.evil(gittest.Entry{Mode: "100644", Name: "z", OID: h.box.Object("blob", string(zeros))})
		h.within(quarantine.Limits{ObjectBytes: 1 << 20}).refused(h.publish(commit(t, tree)),
			quarantine.RuleTooLarge)
	})
	t.Run("many objects together", func(t *testing.T) {
		h := h.in(t)
		var entries []gittest.Entry
		for i := range 9 {
			zeros[0] = byte(i)
			entries = append(entries, gittest.Entry{Mode: "100644", Name: fmt.Sprint(i),
				OID: h.box.Object("blob", string(zeros))})
		}
		h.within(quarantine.Limits{TotalBytes: 50 << 20}).refused(h.publish(commit(t, h.box.Tree(entries...))),
			quarantine.RulePackLimit)
	})
	t.Run("number of objects", func(t *testing.T) {
		h := h.in(t)
		h.within(quarantine.Limits{Objects: 4}).refused(h.publish(h.box.Commit("many", "p/q/r/s/t/u", "x")),
			quarantine.RulePackLimit)
	})
	t.Run("size of the pack", func(t *testing.T) {
		h := h.in(t)
		noise := make([]byte, 1<<16)
		for i := range noise {
			noise[i] = byte(i * i >> 3 * 31)
		}
		h.within(quarantine.Limits{PackBytes: 100}).refused(h.publish(h.box.Commit("large", "noise", string(noise))),
			quarantine.RuleTooLarge)
	})
	t.Run("number of commits", func(t *testing.T) {
		h := h.in(t)
		for range 4 {
			h.box.Commit("again")
		}
		h.within(quarantine.Limits{Commits: 3}).refused(h.publish(h.box.Git("rev-parse", "HEAD")),
			quarantine.RulePackLimit)
	})
	t.Run("tree of trees", func(t *testing.T) {
		h := h.in(t)
		at := h.box.Tree(gittest.Entry{Mode: "100644", Name: "f", OID: h.box.Object("blob", "x")})
		for range 12 {
			var es []gittest.Entry
			for i := range 10 {
				es = append(es, gittest.Entry{Mode: "40000", Name: fmt.Sprint(i), OID: at})
			}
			at = h.box.Tree(es...)
		}
		// Git's own walk is quick, because it sees each tree once.
		h.within(quarantine.Limits{Entries: 10_000}).refused(h.publish(commit(t, at)),
			quarantine.RuleTree)
	})
	t.Run("too deep", func(t *testing.T) {
		h := h.in(t)
		at := h.box.Tree(gittest.Entry{Mode: "100644", Name: "f", OID: h.box.Object("blob", "x")})
		for range 120 {
			at = h.box.Tree(gittest.Entry{Mode: "40000", Name: "d", OID: at})
		}
		h.refused(h.publish(commit(t, at)), quarantine.RuleTree)
	})
	t.Run("path too long", func(t *testing.T) {
		h := h.in(t)
		at := h.box.Tree(gittest.Entry{Mode: "100644", Name: "f", OID: h.box.Object("blob", "x")})
		for range 10 {
			at = h.box.Tree(gittest.Entry{Mode: "40000", Name: strings.Repeat("d", 200), OID: at})
		}
		h.refused(h.publish(commit(t, at)), quarantine.RuleName)
	})
}

// A pack of a few hundred kilobytes that unpacks to hundreds of megabytes: git has to inflate it before it knows.
func TestPackBombMeetsTheLimitsOfTheProcess(t *testing.T) {
	h := newHandOff(t)
	header := "# v2 git bundle\n-" + h.base + "\n" + h.base + " " + quarantine.OutRef + "\n\n"
	bomb := packObject(3, nil, make([]byte, 64<<20))
	t.Run("processor time", func(t *testing.T) {
		h := h.in(t)
		var objects [][]byte
		for range 100 {
			objects = append(objects, bomb)
		}
		h.within(quarantine.Limits{CPU: time.Second}).refused(h.file(header+string(rawPack(objects...))),
			quarantine.RulePackLimit)
	})
	t.Run("memory", func(t *testing.T) {
		h := h.in(t)
		// A delta of a few bytes that makes 1 GiB: copy the base, 64 KiB, again and again.
		base := make([]byte, 64<<10)
		sum := sha1.Sum(append([]byte(fmt.Sprintf("blob %d\x00", len(base))), base...))
		delta := append(varint(len(base)), varint(1<<30)...)
		for range 1 << 14 {
			delta = append(delta, 0x80) // size 0 stands for 64 KiB
		}
		pack := rawPack(packObject(3, nil, base), packObject(7, sum[:], delta))
		h.within(quarantine.Limits{Memory: 512 << 20}).refused(h.file(header+string(pack)),
			quarantine.RulePackLimit)
	})
}

// A chain of deltas without end is quick to unpack, but every later look at its end walks all of it.
func TestEndlessDeltaChainMeetsTheLimits(t *testing.T) {
	h := newHandOff(t)
	header := "# v2 git bundle\n-" + h.base + "\n" + h.base + " " + quarantine.OutRef + "\n\n"
	content := make([]byte, 8)
	objects := [][]byte{packObject(3, nil, content)}
	for i := range 40_000 {
		sum := sha1.Sum(append([]byte("blob 8\x00"), content...))
		binary.BigEndian.PutUint64(content, uint64(i+1))
		delta := append([]byte{8, 8, 8}, content...) // from 8 bytes, to 8 bytes, insert 8
		objects = append(objects, packObject(7, sum[:], delta))
	}
	h.within(quarantine.Limits{CPU: 2 * time.Second}).refused(h.file(header+string(rawPack(objects...))),
		quarantine.RulePackLimit)
}

func varint(n int) []byte {
	var b []byte
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

// Guards against the names for fetching by hand being taken for more than names.
func TestOtherNamesOfTheTipBringNothing(t *testing.T) {
	h := newHandOff(t)
	tip := h.box.Commit("work", "new", "x\n")
	b := string(must.Get(os.ReadFile(h.publish(tip)))(t))
	file := filepath.Join(t.TempDir(), "named")
	must.Do(t, os.WriteFile(file, []byte(strings.Replace(b, "\n\n", "\n"+tip+" HEAD\n"+tip+" refs/heads/main\n\n", 1)),
		0o600))
	for _, kept := range []bool{false, true} {
		q := must.Get(quarantine.New(t.Context(), h.repo, filepath.Join(t.TempDir(), "q"), quarantine.Options{Kept: kept}))(t)
		found, err := q.Unpack(t.Context(), file, h.base)
		if err != nil || found.Tip != tip || len(found.Kept) > 0 {
			t.Errorf("%+v, %v", found, err)
		}
	}
}
