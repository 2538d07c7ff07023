package term

import (
	"sync"
	"sync/atomic"
)

// maxQueued and maxJobs bound what waits: it is more than anybody pastes into a program that reads.
const (
	maxQueued = 4 << 20
	maxJobs   = 4096
)

// Queue does what it is given in turn, so that whoever gives it never waits. What is too much is dropped, as a terminal
// drops keys that its program doesn't read.
type Queue struct {
	jobs   chan job
	queued atomic.Int64
	quit   chan struct{}
	once   sync.Once
}

type job struct {
	size int
	do   func()
}

// NewQueue gives one that works until it is closed.
func NewQueue() *Queue {
	q := &Queue{jobs: make(chan job, maxJobs), quit: make(chan struct{})}
	go q.work()
	return q
}

func (q *Queue) work() {
	for {
		select {
		case <-q.quit:
			return
		case j := <-q.jobs:
			j.do()
			q.queued.Add(-int64(j.size))
		}
	}
}

// Put has something done that holds size bytes until then.
func (q *Queue) Put(size int, do func()) {
	if q.queued.Add(int64(size)) <= maxQueued {
		select {
		case q.jobs <- job{size, do}:
			return
		default:
		}
	}
	q.queued.Add(-int64(size))
}

// Close forgets what waits. What is being done may go on, and nobody waits for that.
func (q *Queue) Close() { q.once.Do(func() { close(q.quit) }) }
