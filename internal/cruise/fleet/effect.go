package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/forge"
)

// effects are the steps that others see.
func effects() []string {
	return []string{cruise.StepPush.Name, cruise.StepPullRequest.Name, cruise.StepPostReview.Name, cruise.StepAnswer.Name,
		cruise.StepSay.Name, cruise.StepClose.Name, cruise.StepReady.Name, cruise.StepMerge.Name,
		cruise.StepRerun.Name}
}

// moot are the steps that need nobody's leave: they only read, or are asked of the service itself.
func moot() []string { return []string{cruise.StepLook.Name, cruise.StepSave.Name} }

// doubt is how long a request of a life that has died may still take effect.
const doubt = 30 * time.Second

// effect names what a step does, the same for whoever does it: where a machine has its files makes no difference.
func effect(step string, in json.RawMessage) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(in, &fields) == nil {
		delete(fields, "repo")
		delete(fields, "workspace")
		if same, err := json.Marshal(fields); err == nil {
			in = same
		}
	}
	sum := sha256.Sum256(append([]byte(step+"\x00"), in...))
	return step + " " + hex.EncodeToString(sum[:8])
}

// within runs a step while this is the phase's life, and an effect only while the service says so.
func (l *life) within(ctx context.Context, step string, in json.RawMessage, run func(context.Context) error) error {
	ctx = forge.WithFence(ctx, l.check)
	var err error
	switch {
	case slices.Contains(moot(), step):
		err = run(ctx)
	case slices.Contains(effects(), step):
		err = l.act(ctx, effect(step, in), run)
	default:
		if err = l.await(ctx); err == nil {
			err = run(ctx)
		}
	}
	if err != nil && l.lost.Err() != nil {
		return errors.Join(&LostError{Phase: l.Phase}, err)
	}
	if _, lapsed := errors.AsType[*lapsedError](err); lapsed {
		return &cruise.Temporary{Err: err}
	}
	return err
}

// act has an effect. It is broken off when the service has not answered for too long, and begun again when it does:
// every effect looks first.
func (l *life) act(ctx context.Context, key string, run func(context.Context) error) (err error) {
	if err := l.waitOut(ctx, key); err != nil {
		return err
	}
	l.note(key, 1)
	defer func() { l.done(key, err) }()
	for {
		if err := l.await(ctx); err != nil {
			return err
		}
		err, lapsed := l.bounded(ctx, run)
		if _, asked := errors.AsType[*lapsedError](err); err == nil || !lapsed && !asked {
			return err
		}
	}
}

// bounded runs an effect until the life's time is over.
func (l *life) bounded(ctx context.Context, run func(context.Context) error) (err error, lapsed bool) {
	inner, cancel := context.WithCancel(ctx)
	done := make(chan bool, 1)
	go func() {
		for {
			left := l.left()
			if left <= 0 {
				cancel()
				done <- true
				return
			}
			select {
			case <-inner.Done():
				done <- false
				return
			case <-time.After(min(left, time.Second)): // the clock of timers may stop where that since boot goes on
			}
		}
	}()
	err = run(inner)
	cancel()
	return err, <-done && ctx.Err() == nil
}

func (l *life) note(key string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.doing[key] += n; l.doing[key] == 0 {
		delete(l.doing, key)
	}
}

// done notes the end of an effect. The request of one that went wrong may still take effect.
func (l *life) done(key string, err error) {
	l.note(key, -1)
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.tried[key] = l.Boot() + doubt
	}
}

// waitOut waits until a request of the life before can no longer take effect.
func (l *life) waitOut(ctx context.Context, key string) error {
	l.mu.Lock()
	left := l.wary[key] - l.Boot()
	l.mu.Unlock()
	if left <= 0 {
		return nil
	}
	select {
	case <-time.After(left):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
