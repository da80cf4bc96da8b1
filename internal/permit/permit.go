// Package permit is permission to send one request that changes something. The ledger grants it, after
// the attempt is durable; the HTTP client demands it, before the request leaves.
//
// A permit is for now. A process that was stopped between the two, and comes back when its attempt has
// long been looked into and followed by another, may no longer send.
package permit

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// The refusals of Spend.
var (
	ErrNone  = errors.New("a change outside an attempt: no permit on the context, nothing was sent")
	ErrSpent = errors.New("a second change within one attempt: the permit is used up, nothing was sent")
	ErrStale = errors.New("the attempt began too long ago to be sent now, nothing was sent")
)

type key struct{}

type permit struct {
	granted time.Time
	spent   atomic.Bool
}

// Life is how long a permit lasts. It is shorter than it takes to find a worker dead, and longer than any
// process that is at work needs from the ledger to the wire.
const Life = 10 * time.Second

// Grant puts a fresh permit for one request on the context.
func Grant(ctx context.Context) context.Context { return grant(ctx, time.Now()) }

func grant(ctx context.Context, at time.Time) context.Context {
	return context.WithValue(ctx, key{}, &permit{granted: at.Round(0)}) // the wall clock: it goes on while a machine sleeps
}

// Spend uses the context's permit up. It fails with ErrNone, ErrSpent or ErrStale.
func Spend(ctx context.Context) error {
	p, ok := ctx.Value(key{}).(*permit)
	if !ok {
		return ErrNone
	}
	if p.spent.Swap(true) {
		return ErrSpent
	}
	if time.Now().Round(0).Sub(p.granted) > Life {
		return ErrStale
	}
	return nil
}
