package permit

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestOnePermitIsOneRequest(t *testing.T) {
	if err := Spend(context.Background()); err != ErrNone {
		t.Errorf("without a permit: %v", err)
	}
	ctx := Grant(context.Background())
	var granted atomic.Int32
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if Spend(ctx) == nil {
				granted.Add(1)
			}
		})
	}
	wg.Wait()
	if granted.Load() != 1 || Spend(ctx) != ErrSpent {
		t.Errorf("%d requests went out on one permit", granted.Load())
	}
}

func TestAPermitIsForNow(t *testing.T) {
	if err := Spend(grant(context.Background(), time.Now().Add(-Life-time.Second))); err != ErrStale {
		t.Errorf("a process that comes back late: %v", err)
	}
}
