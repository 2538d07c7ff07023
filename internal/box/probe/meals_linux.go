package probe

import (
	"bytes"
	"time"

	"golang.org/x/sys/unix"
)

// eat fills a number of megabytes of the given kind. The box should end it before it is done.
func eat(args []string) int {
	kind := "own"
	if len(args) > 1 {
		kind = args[1]
	}
	bite, ok := map[string]func([]byte) error{"own": eatOwn, "memfd": eatFile(), Segment: eatSegment}[kind]
	if !ok {
		return 2
	}
	full := bytes.Repeat([]byte{1}, 1<<20)
	for range number(args) {
		if err := bite(full); err != nil {
			return 3
		}
		// This is slower than memory, so that a watchdog can act before all memory is used.
		time.Sleep(2 * time.Millisecond)
	}
	time.Sleep(digestion)
	return 0
}

// digestion is how long everything is held in the end: on a busy machine a watchdog may look only now and then.
const digestion = 10 * time.Second

// eatFile uses memory that is mapped nowhere.
func eatFile() func([]byte) error {
	file, err := unix.MemfdCreate("cco", unix.MFD_CLOEXEC)
	return func(full []byte) error {
		if err == nil {
			_, err = unix.Write(file, full)
		}
		return err
	}
}

// eatOwn uses memory that this process maps, and keeps it.
func eatOwn(full []byte) error {
	block, err := unix.Mmap(-1, 0, len(full), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err == nil {
		copy(block, full)
	}
	return err
}

// eatSegment uses memory that no process has attached.
func eatSegment(full []byte) error {
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, len(full), unix.IPC_CREAT|0o600)
	if err != nil {
		return err
	}
	block, err := unix.SysvShmAttach(id, 0, 0)
	if err != nil {
		return err
	}
	copy(block, full)
	return unix.SysvShmDetach(block)
}
