package channel

import (
	"context"
	"sync"
	"time"
)

// Daily keeps what was read for a day: whose a credential is, what a server allows.
type Daily[T any] struct {
	mu      sync.Mutex
	known   T
	expires time.Time
}

// Get answers what is known, or reads it. What could not be read is not kept.
func (d *Daily[T]) Get(ctx context.Context, read func(context.Context) (T, error)) (T, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Now().Before(d.expires) {
		return d.known, nil
	}
	v, err := read(ctx)
	if err != nil {
		var none T
		return none, err
	}
	d.known, d.expires = v, time.Now().Add(24*time.Hour)
	return v, nil
}
