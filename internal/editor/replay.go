package editor

import (
	"context"
	"errors"

	"github.com/cco-dev/cco/internal/session"
)

// maxReplayed is how many events of a session are told again when it is loaded.
const maxReplayed = 2000

// replay tells what was said before.
func (t *talk) replay(ctx context.Context) error {
	rec, err := t.s.Get(ctx, t.id)
	if err != nil {
		return err
	}
	if sent, err := t.s.Looking().Sent(ctx, rec, maxPrompt); err == nil && sent != "" {
		if err := t.tell(ctx, chunk(asked, sent)); err != nil {
			return err
		}
	}
	record, err := t.s.OpenRecord(t.id)
	if err != nil {
		return t.say(ctx, "What was said in session %s is gone.", t.id)
	}
	defer func() { _ = record.Close() }()
	n, err := record.Count()
	if err != nil {
		return err
	}
	from, err := record.Offset(n - maxReplayed)
	if err != nil {
		return err
	}
	tells := t.teller(ctx, rec)
	var broken error
	_, err = record.Read(from, func(l session.Line) bool {
		if l.Kind != session.KindStep {
			broken = t.tell(ctx, tells.of(l.Event)...)
		}
		return broken == nil
	})
	return errors.Join(err, broken, t.tell(ctx, tells.broken()...))
}

// maxPrompt bounds what is told again of a prompt.
const maxPrompt = 64 << 10
