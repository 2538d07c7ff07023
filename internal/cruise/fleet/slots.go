package fleet

import (
	"context"
	"time"

	"go.temporal.io/sdk/worker"
)

// slots are the places of this machine for phases that have no home. Who has more of them asks later for another, so
// that machines that could all take a phase share them.
type slots struct{ host *Host }

// later is how much later a machine asks for another phase, for each that it has.
const later = 150 * time.Millisecond

// ReserveSlot waits for a place.
func (s slots) ReserveSlot(ctx context.Context, _ worker.SlotReservationInfo) (*worker.SlotPermit, error) {
	for wait := later; ; wait = later {
		held := s.host.held()
		if held < s.host.Slots {
			wait = time.Duration(held) * later
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if held < s.host.Slots && s.host.held() <= held {
			return &worker.SlotPermit{}, nil
		}
	}
}

// TryReserveSlot gives none: nothing is eager here.
func (s slots) TryReserveSlot(worker.SlotReservationInfo) *worker.SlotPermit { return nil }

// MarkSlotUsed needs no note: lives are counted.
func (s slots) MarkSlotUsed(worker.SlotMarkUsedInfo) {}

// ReleaseSlot needs no note.
func (s slots) ReleaseSlot(worker.SlotReleaseInfo) {}

// MaxSlots is unknown to the service.
func (s slots) MaxSlots() int { return 0 }
