package keep

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/door"
)

// openDoor opens the way out for as long as a run lasts. It is in the exchange directory, which both sides see.
func (k *keeper) openDoor(ctx context.Context, limits broker.Limits) (*door.Door, error) {
	if k.Door == nil {
		return nil, nil
	}
	c, err := k.Door(ctx, k.rec, k.box)
	if err != nil {
		return nil, err
	}
	c.Session, c.Limits, c.Now = k.rec.ID, limits, k.Now
	c.Dir, c.Inside, c.Log = k.Exchange(k.rec.ID), k.place.Exchange, k.NetFile(k.rec.ID)
	return door.Open(ctx, c)
}

// newUUID is a random one, for CLIs that let us choose the name of their conversation.
func newUUID() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
