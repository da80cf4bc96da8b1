package activities

import (
	"context"
	"errors"
	"time"

	"colophon/publish"

	"go.temporal.io/sdk/temporal"
)

// ConflictType is the type of the application error with which a conflicting intent is refused.
const ConflictType = "Conflict"

// Admit binds the key to its inputs in the ledger, or finds it bound: to the same inputs, and then
// answers what is known of them, or to others, and then refuses.
func (s *Steps) Admit(ctx context.Context, in publish.Intent) (publish.Admission, error) {
	defer heartbeat(ctx)()
	a, err := s.Ledger.Admit(ctx, in)
	if conflict, ok := errors.AsType[*publish.ConflictError](err); ok {
		return a, temporal.NewNonRetryableApplicationError(conflict.Error(), ConflictType, nil, conflict)
	}
	if taken, ok := errors.AsType[*publish.TakenError](err); ok {
		return a, temporal.NewNonRetryableApplicationError(taken.Error(), ConflictType, nil, taken)
	}
	if wrong, ok := errors.AsType[*publish.CorrectionError](err); ok {
		return a, temporal.NewNonRetryableApplicationError(wrong.Error(), ConflictType, nil, wrong)
	}
	return a, err
}

// Close writes the terminal record; the first one stands.
func (s *Steps) Close(ctx context.Context, r publish.Record) (publish.Record, error) {
	defer heartbeat(ctx)()
	return s.Ledger.Settle(ctx, r)
}

func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
