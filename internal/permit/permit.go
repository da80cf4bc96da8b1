// Package permit is permission to send one request that changes something. The ledger grants it, after
// the attempt is durable; the HTTP client demands it, before the request leaves.
package permit

import (
	"context"
	"errors"
	"sync/atomic"
)

// The refusals of Spend.
var (
	ErrNone  = errors.New("a change outside an attempt: no permit on the context, nothing was sent")
	ErrSpent = errors.New("a second change within one attempt: the permit is used up, nothing was sent")
)

type key struct{}

type permit struct{ spent atomic.Bool }

// Grant puts a fresh permit for one request on the context.
func Grant(ctx context.Context) context.Context {
	return context.WithValue(ctx, key{}, new(permit))
}

// Spend uses the context's permit up. It fails with ErrNone or ErrSpent.
func Spend(ctx context.Context) error {
	p, ok := ctx.Value(key{}).(*permit)
	if !ok {
		return ErrNone
	}
	if p.spent.Swap(true) {
		return ErrSpent
	}
	return nil
}
