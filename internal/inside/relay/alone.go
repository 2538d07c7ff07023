package relay

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// AloneFile is a file in a session's exchange directory. While it exists, the agent's program has started nothing that
// still runs, beside what was there at its first connection: some CLIs are several processes themselves.
const AloneFile = "alone"

// exchangeVar names the exchange directory of a session.
const exchangeVar = "CCO_EXCHANGE"

// lookForChildren is how often the helper looks.
const lookForChildren = time.Second

// watchAlone keeps the file for as long as the helper lives. Where processes can't be seen there is none.
func watchAlone(program int, file string) {
	_ = os.Remove(file)
	own := children(program)
	for alone := false; ; time.Sleep(lookForChildren) {
		now := children(program)
		is := now != nil
		for pid := range now {
			is = is && own[pid]
		}
		switch {
		case is && !alone:
			is = os.WriteFile(file, nil, 0o644) == nil
		case !is && alone:
			_ = os.Remove(file)
		}
		alone = is
	}
}

// children are the processes below a process, nil if that can't be seen.
func children(program int) map[int]bool {
	all := map[int]bool{}
	for list := []int{program}; len(list) > 0; list = list[1:] {
		files, _ := filepath.Glob("/proc/" + strconv.Itoa(list[0]) + "/task/*/children")
		if len(files) == 0 && list[0] == program {
			return nil
		}
		for _, f := range files {
			text, _ := os.ReadFile(f) // a thread that is gone has none
			for _, word := range strings.Fields(string(text)) {
				if pid, err := strconv.Atoi(word); err == nil && !all[pid] {
					all[pid] = true
					list = append(list, pid)
				}
			}
		}
	}
	return all
}
