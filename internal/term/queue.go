package term

import (
	"sync"
	"sync/atomic"
)

// maxQueued and maxJobs limit what waits: nobody pastes more than that into a program that reads.
const (
	maxQueued = 4 << 20
	maxJobs   = 4096
)

// Queue runs jobs in order, so that their giver never waits. It drops jobs beyond its limits, as a terminal drops keys
// that its program doesn't read.
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

// NewQueue returns a queue that works until it is closed.
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

// Put queues a job that holds size bytes until it is done.
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

// Close forgets the waiting jobs. A job that runs may continue, and nobody waits for it.
func (q *Queue) Close() { q.once.Do(func() { close(q.quit) }) }
