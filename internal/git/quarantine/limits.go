package quarantine

import "time"

// Limits bound what a bundle may do. A zero field takes its default.
type Limits struct {
	PackBytes   int64         // of the pack, as it comes (default 2 GiB)
	ObjectBytes int64         // of one object, expanded (100 MiB)
	TotalBytes  int64         // of all objects, expanded (8 GiB)
	Objects     int           // number of objects (2,000,000)
	Commits     int           // number of new commits (100,000)
	Entries     int           // new tree entries, summed over all commits (4,000,000)
	Depth       int           // of directories (100)
	PathBytes   int           // of a path (1024, which is what macOS can take)
	CPU         time.Duration // of git index-pack, on Linux (1 min, and 2 s for each MiB of the pack)
	Memory      int64         // of git index-pack, on Linux: address space, beside the user's pack indexes (4 GiB)
}

func (l Limits) withDefaults(pack int64) Limits {
	def(&l.PackBytes, 2<<30)
	def(&l.ObjectBytes, 100<<20)
	def(&l.TotalBytes, 8<<30)
	def(&l.Objects, 2_000_000)
	def(&l.Commits, 100_000)
	def(&l.Entries, 4_000_000)
	def(&l.Depth, 100)
	def(&l.PathBytes, 1024)
	def(&l.CPU, time.Minute+time.Duration(pack>>20)*2*time.Second)
	def(&l.Memory, 4<<30)
	return l
}

func def[T int | int64 | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}
