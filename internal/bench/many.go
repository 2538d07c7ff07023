package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// many runs sessions at once and looks for cross-talk: each writes its own id, and all must arrive with it.
func (b *bench) many(ctx context.Context) error {
	repo := filepath.Join(b.dir, "many")
	if err := b.quiet(ctx, b.dir, "git", "init", "-q", repo); err != nil {
		return err
	}
	const plan = "# Many\n\n## Task 1: Say who\n\n```sh\necho \"$CCO_SESSION\" > who.txt; ls /workspace >> who.txt; " +
		"sleep 5\n```\n"
	if err := b.commit(ctx, repo, "plan.md", plan); err != nil {
		return err
	}
	start := time.Now()
	ids, err := b.pushMany(ctx, repo)
	if err != nil {
		return err
	}
	resident, share, keepers := keeperMemory()
	for _, id := range ids {
		if err := b.quiet(ctx, repo, b.cco, "box", "pull", id, "--quiet", "--branch", "from-"+id); err != nil {
			return err
		}
		who, err := b.output(ctx, repo, "git", "show", "from-"+id+":who.txt")
		if err != nil {
			return err
		}
		if who != id+"\n"+id+"\n" {
			return fmt.Errorf("session %s says that it is %q", id, who)
		}
	}
	b.rows = append(b.rows,
		row{fmt.Sprintf("%d sessions at once, pushed and pulled, no cross-talk", len(ids)), ms(time.Since(start)), "", "",
			"all arrive"},
		row{fmt.Sprintf("memory of a keeper, resident and its share of it (mean of %d)", keepers), resident, share,
			"", "20 MB"})
	return nil
}

func (b *bench) pushMany(ctx context.Context, repo string) ([]string, error) {
	ids, errs := make([]string, b.sessions), make([]error, b.sessions)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() { ids[i], errs[i] = b.pushed(ctx, repo, "--detach") })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// keeperMemory is what a keeper costs: all the pages that it has in memory, and its share of them, since keepers have
// most of theirs in common.
func keeperMemory() (resident, share string, n int) {
	procs, _ := filepath.Glob("/proc/[0-9]*")
	var rss, pss int
	for _, p := range procs {
		cmdline, _ := os.ReadFile(filepath.Join(p, "cmdline"))
		if !strings.HasPrefix(string(cmdline), "cco\x00keeper\x00") {
			continue
		}
		rollup, err := os.ReadFile(filepath.Join(p, "smaps_rollup"))
		if err != nil {
			continue
		}
		n++
		for line := range strings.Lines(string(rollup)) {
			f := strings.Fields(line)
			if len(f) != 3 {
				continue
			}
			kb, _ := strconv.Atoi(f[1])
			switch f[0] {
			case "Rss:":
				rss += kb
			case "Pss:":
				pss += kb
			}
		}
	}
	if n == 0 {
		return "none was seen", "", 0
	}
	mean := func(kb int) string { return fmt.Sprintf("%.1f MB", float64(kb)/float64(n)/1024) }
	return mean(rss), mean(pss), n
}
