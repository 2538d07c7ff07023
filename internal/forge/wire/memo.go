package wire

import (
	"sync"
	"time"
)

// Memo remembers for a while what a forge said about people.
type Memo[T any] struct {
	For   time.Duration
	Clock Clock

	mu  sync.Mutex
	all map[string]remembered[T]
}

type remembered[T any] struct {
	value T
	until time.Time
}

// Get gives what is remembered, or asks. An error is not remembered.
func (m *Memo[T]) Get(key string, ask func() (T, error)) (T, error) {
	m.mu.Lock()
	r, ok := m.all[key]
	m.mu.Unlock()
	if ok && m.Clock.Now().Before(r.until) {
		return r.value, nil
	}
	value, err := ask()
	if err != nil {
		return value, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil || len(m.all) > 1000 {
		m.all = map[string]remembered[T]{}
	}
	m.all[key] = remembered[T]{value, m.Clock.Now().Add(m.For)}
	return value, nil
}
