package publish

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func places(n int) (out []Place) {
	for k := range n {
		out = append(out, Place{Delivery: fmt.Sprintf("d%d", k), Run: "r", Title: "an article"})
	}
	return out
}

// TestTheLineKeepsOrderAndGap: one holder at a time, in the order in which they came, each not before the line opens.
func TestTheLineKeepsOrderAndGap(t *testing.T) {
	now := time.Date(2026, 10, 4, 9, 0, 0, 0, time.UTC)
	l := Line{Account: "x:api.x.com/1", Queue: places(3)}
	for n := range 3 {
		tell, _, over := l.Move(now)
		if tell == nil || over || tell.Delivery != fmt.Sprintf("d%d", n) {
			t.Fatalf("turn %d: %+v", n, tell)
		}
		l.Nudged = now
		if n < 2 {
			if tell, again, _ := l.Move(now.Add(time.Minute)); tell != nil || !again.Equal(now.Add(nudge)) {
				t.Errorf("a second holder, or nobody looks again: %+v, %s", tell, again)
			}
		}
		l.Leave(Leaving{Delivery: tell.Delivery, Opens: now.Add(50 * time.Minute)})
		if tell, again, over := l.Move(now.Add(time.Minute)); tell != nil || over || !again.Equal(now.Add(50*time.Minute)) {
			t.Errorf("within the gap: %+v, %s, over %v", tell, again, over)
		}
		now = now.Add(50 * time.Minute)
	}
	if tell, _, over := l.Move(now); tell != nil || !over || l.Served != 3 {
		t.Errorf("an empty line: %+v, over %v, %d served", tell, over, l.Served)
	}
}

// TestAnUnsettledHolderStopsItsLine: nobody else has a turn, however long it takes; the holder alone is told again.
func TestAnUnsettledHolderStopsItsLine(t *testing.T) {
	now := time.Date(2026, 10, 4, 9, 0, 0, 0, time.UTC)
	l := Line{Account: "x:api.x.com/1", Queue: places(2)}
	for hour := range 48 {
		tell, _, over := l.Move(now.Add(time.Duration(hour) * nudge))
		if over || tell == nil || tell.Delivery != "d0" {
			t.Fatalf("after %d hours: %+v, over %v", hour, tell, over)
		}
		l.Nudged = now.Add(time.Duration(hour) * nudge)
	}
	if md := l.Markdown(); !strings.Contains(md, "has its turn since 2026-10-04 09:00:00") || !strings.Contains(md, "`d1`") {
		t.Errorf("not shown:\n%s", md)
	}
}

// TestAPlaceIsTakenOnce: who comes again keeps the place, under the run that came; who leaves without the turn does not
// count as served.
func TestAPlaceIsTakenOnce(t *testing.T) {
	var l Line
	for _, p := range places(3) {
		l.Enter(p)
		p.Run = "again"
		l.Enter(p)
	}
	if len(l.Queue) != 3 || l.Queue[1].Run != "again" {
		t.Fatalf("%+v", l.Queue)
	}
	l.Leave(Leaving{Delivery: "d1"})
	l.Leave(Leaving{Delivery: "nobody", Opens: time.Now()})
	if len(l.Queue) != 2 || l.Served != 0 || !l.Opens.IsZero() {
		t.Errorf("%+v", l)
	}
	tell, _, _ := l.Move(time.Now())
	l.Nudged = time.Now()
	l.Enter(Place{Delivery: tell.Delivery, Run: "third"})
	if l.Holder.Run != "third" || !l.Nudged.IsZero() {
		t.Errorf("a holder's new run is not told: %+v", l.Holder)
	}
}
