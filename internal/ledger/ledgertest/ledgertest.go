// Package ledgertest is the contract that every storage of the ledger must keep.
package ledgertest

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"colophon/internal/ledger"
	"colophon/internal/permit"
	"colophon/publish"
)

// Intent is a good intent to test with.
func Intent() publish.Intent {
	return publish.Intent{
		Key: "media-001:2026-10-04:idempotency", Topic: "Idempotency", Slug: "idempotency", Date: "2026-10-04",
		Repository: "acme/blog", BaseBranch: "main", Revision: 1, Path: "posts/idempotency.md", URL: "https://example.org/posts/idempotency/",
	}
}

// Operation is an operation of that intent.
func Operation() publish.Operation {
	return publish.Operation{What: "post", Intent: Intent().Key, Destination: "example/1", ContentID: string(Intent().Key), Revision: 1, Account: "1", Channel: "example"}
}

// Run checks a storage. open answers a new, empty ledger, and dump all that its tables hold. After each check, what
// the ledger has exported has to build another that is equal to it.
func Run(t *testing.T, open func(t *testing.T) *ledger.Ledger, dump func(t *testing.T, l *ledger.Ledger) string) {
	for name, f := range map[string]func(*testing.T, *ledger.Ledger){
		"KeyIsBoundToItsInputs":         bound,
		"SlugAndPathHaveOneHolder":      holders,
		"ARevisionFollowsTheOneBefore":  revisions,
		"FirstArtifactStands":           artifacts,
		"FirstTerminalRecordStands":     records,
		"RowIsDurableBeforeTheRequest":  twoPhases,
		"EveryEndIsToldApart":           ends,
		"AnotherAttemptNeedsAnApproval": approvals,
		"ManyClaimantsOneWinner":        race,
		"OneChangeAtATimeOnALane":       lanes,
		"ALimitClosesTheLane":           limits,
		"ALookCanConfirm":               looks,
		"AnAttemptHoldsWhatIsNeeded":    holds,
		"NothingSecretIsKept":           secrets,
		"AnUnknownStopsItsAccountAlone": unresolved,
		"NoTextIsSentToAnAccountTwice":  repeated,
		"ADaysAttemptsAreCounted":       capped,
		"ABacklogIsTheBaseline":         backlog,
		"TheNewestKnownPostIsTold":      newest,
		"WhatAnAuditAcceptedIsKept":     accepts,
		"NoBytesOfARemoteStopAnEntry":   bytesOfARemote,
	} {
		t.Run(name, func(t *testing.T) {
			l := open(t)
			f(t, l)
			rebuilt(t, l, open(t), dump)
		})
	}
	t.Run("AnImportIsWholeOrNothing", func(t *testing.T) { imports(t, open) })
}

var bg = context.Background()

func bound(t *testing.T, l *ledger.Ledger) {
	in := Intent()
	a, err := l.Admit(bg, in)
	if err != nil || !a.New {
		t.Fatalf("%+v, %v", a, err)
	}
	if a, err = l.Admit(bg, in); err != nil || a.New || a.Publication.Fingerprint != in.Fingerprint() {
		t.Fatalf("again: %+v, %v", a, err)
	}
	other := in
	other.Topic, other.Slug = "Something else", "else"
	_, err = l.Admit(bg, other)
	var conflict *publish.ConflictError
	if !errors.As(err, &conflict) || len(conflict.Differences) != 2 {
		t.Fatalf("changed inputs: %v", err)
	}
	if p, ok, err := l.Publication(bg, in.Key, 1); err != nil || !ok || p.Intent.Topic != in.Topic {
		t.Errorf("the first inputs did not stand: %+v, %v", p, err)
	}
	if _, ok, err := l.Publication(bg, "no:2026-10-04:such", 1); ok || err != nil {
		t.Errorf("an unknown key: %v, %v", ok, err)
	}
}

func holders(t *testing.T, l *ledger.Ledger) {
	if _, err := l.Admit(bg, Intent()); err != nil {
		t.Fatal(err)
	}
	for _, change := range []func(*publish.Intent){
		func(i *publish.Intent) { i.Path = "other.md" },
		func(i *publish.Intent) { i.Slug, i.Path = "other", "Posts/Idempotency.md" },
	} {
		in := Intent()
		in.Key = "media-001:2026-10-04:second"
		change(&in)
		var taken *publish.TakenError
		if _, err := l.Admit(bg, in); !errors.As(err, &taken) || taken.By != Intent().Key {
			t.Errorf("%s, %s: %v", in.Slug, in.Path, err)
		}
	}
}

func revisions(t *testing.T, l *ledger.Ledger) {
	in := Intent()
	ask := func(revision int, want string) {
		t.Helper()
		in.Revision = revision
		_, err := l.Admit(bg, in)
		var wrong *publish.CorrectionError
		if want == "" && err != nil || want != "" && (!errors.As(err, &wrong) || !strings.Contains(err.Error(), want)) {
			t.Errorf("revision %d: %v, want %q", revision, err, want)
		}
	}
	end := func(revision int, o publish.Outcome) {
		t.Helper()
		in.Revision = revision
		if _, _, err := l.Keep(bg, in.Key, revision, "draft", []byte{byte(revision)}); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Settle(bg, publish.Record{Intent: in, Outcome: o}); err != nil {
			t.Fatal(err)
		}
	}
	ask(2, "never published from here")
	ask(1, "")
	ask(2, "revision 1, which it corrects, is not published")
	end(1, publish.Passed)
	ask(3, "revision 2, which it corrects, is not published")
	ask(2, "")
	end(2, publish.FailedStep)
	ask(3, "revision 2")
	for revision, want := range map[int]publish.Outcome{0: publish.FailedStep, 1: publish.Passed, 2: publish.FailedStep} {
		if p, ok, err := l.Publication(bg, in.Key, revision); err != nil || !ok || p.Record == nil || p.Record.Outcome != want {
			t.Errorf("revision %d: %+v, %v", revision, p.Record, err)
		}
	}
}

func artifacts(t *testing.T, l *ledger.Ledger) {
	d, first, err := l.Keep(bg, "k", 1, "draft", []byte("one"))
	if err != nil || string(first) != "one" {
		t.Fatalf("%s, %v", first, err)
	}
	again, kept, err := l.Keep(bg, "k", 1, "draft", []byte("two"))
	if err != nil || again != d || string(kept) != "one" {
		t.Errorf("the second draft replaced the first: %s, %v", kept, err)
	}
	if got, err := l.Artifact(bg, d); err != nil || string(got) != "one" {
		t.Errorf("%s, %v", got, err)
	}
	if _, _, ok, err := l.Kept(bg, "k", 2, "draft"); ok || err != nil {
		t.Errorf("another revision's draft: %v, %v", ok, err)
	}
	p, err := l.Pin(bg, "k", 1, publish.Plan{Title: "one", PullRequest: 3})
	if err != nil || p.Title != "one" {
		t.Fatal(err)
	}
	if p, err = l.Pin(bg, "k", 1, publish.Plan{Title: "two"}); err != nil || p.Title != "one" || p.PullRequest != 3 {
		t.Errorf("the second plan replaced the first: %+v, %v", p, err)
	}
}

func records(t *testing.T, l *ledger.Ledger) {
	r := publish.Record{Intent: Intent(), Outcome: publish.Passed}
	if _, err := l.Admit(bg, r.Intent); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Settle(bg, r); err != nil {
		t.Fatal(err)
	}
	r.Outcome = publish.FailedStep
	if got, err := l.Settle(bg, r); err != nil || got.Outcome != publish.Passed {
		t.Errorf("a second terminal record replaced the first: %+v, %v", got, err)
	}
	if p, _, err := l.Publication(bg, r.Intent.Key, 1); err != nil || p.Record == nil || p.Record.Outcome != publish.Passed {
		t.Errorf("%+v, %v", p.Record, err)
	}
}

func twoPhases(t *testing.T, l *ledger.Ledger) {
	op := Operation()
	_, err := l.Attempt(bg, op, nil, func(ctx context.Context, was publish.Prior) (publish.Receipt, error) {
		p, err := l.Prior(bg, op.Key())
		if err != nil || p.State != publish.InFlight || p.Attempts != 1 {
			t.Errorf("while the request is under way the ledger says %+v, %v", p, err)
		}
		if permit.Spend(ctx) != nil || permit.Spend(ctx) == nil {
			t.Error("the permit is not for exactly one request")
		}
		return publish.Receipt{ID: "7", URL: "https://x/7", Status: 200}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := l.Prior(bg, op.Key()); err != nil || p.State != publish.Done || p.Receipt.ID != "7" {
		t.Errorf("%+v, %v", p, err)
	}
	var claimed *ledger.ClaimedError
	for _, a := range []*publish.Approval{nil, {Operation: op.Key(), Attempt: 1, By: "Ada"}} {
		if _, err := l.Attempt(bg, op, a, never(t)); !errors.As(err, &claimed) {
			t.Errorf("done, and attempted again: %v", err)
		}
	}
}

func never(t *testing.T) func(context.Context, publish.Prior) (publish.Receipt, error) {
	return func(context.Context, publish.Prior) (publish.Receipt, error) {
		t.Error("a request was sent")
		return publish.Receipt{}, nil
	}
}

func ends(t *testing.T, l *ledger.Ledger) {
	for name, c := range map[string]struct {
		receipt publish.Receipt
		err     error
		want    publish.AttemptState
	}{
		"success":            {publish.Receipt{ID: "1"}, nil, publish.Done},
		"success of nothing": {publish.Receipt{Status: 200}, nil, publish.Unconfirmed},
		"rejected":           {publish.Receipt{}, &publish.Trouble{Kind: publish.Rejected}, publish.Failed},
		"not sent":           {publish.Receipt{}, &publish.Trouble{Kind: publish.NotSent}, publish.NotPerformed},
		"reset":              {publish.Receipt{}, errors.New("connection reset"), publish.Unconfirmed},
		"gone caller":        {publish.Receipt{}, context.Canceled, publish.Unconfirmed},
	} {
		op := Operation()
		op.Destination = name
		ctx, cancel := context.WithCancel(bg)
		got, err := l.Attempt(ctx, op, nil, func(context.Context, publish.Prior) (publish.Receipt, error) {
			cancel() // the end is written down even when nobody waits for it
			return c.receipt, c.err
		})
		p, _ := l.Prior(bg, op.Key())
		if err != nil || got.State != c.want || p.State != c.want {
			t.Errorf("%s: answered %s, kept %s, want %s (%v)", name, got.State, p.State, c.want, err)
		}
	}
	op := Operation()
	func() {
		defer func() { _ = recover() }()
		_, _ = l.Attempt(bg, op, nil, func(context.Context, publish.Prior) (publish.Receipt, error) { panic("boom") })
	}()
	if p, _ := l.Prior(bg, op.Key()); p.State != publish.Unconfirmed {
		t.Errorf("after a panic: %s", p.State)
	}
}

func approvals(t *testing.T, l *ledger.Ledger) {
	op := Operation()
	lost := func(context.Context, publish.Prior) (publish.Receipt, error) {
		return publish.Receipt{}, errors.New("reset")
	}
	if _, err := l.Attempt(bg, op, nil, lost); err != nil {
		t.Fatal(err)
	}
	var claimed *ledger.ClaimedError
	for name, a := range map[string]*publish.Approval{
		"none": nil, "stale": {Operation: op.Key(), Attempt: 0}, "early": {Operation: op.Key(), Attempt: 2}, "of another": {Operation: "x", Attempt: 1},
	} {
		if _, err := l.Attempt(bg, op, a, never(t)); !errors.As(err, &claimed) || claimed.Attempt != 1 {
			t.Errorf("approval %s: %v", name, err)
		}
	}
	good := &publish.Approval{Operation: op.Key(), Attempt: 1, By: "rule"}
	if got, err := l.Attempt(bg, op, good, lost); err != nil || got.Number != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := l.Attempt(bg, op, good, never(t)); !errors.As(err, &claimed) {
		t.Errorf("an approval was used twice: %v", err)
	}
}

func race(t *testing.T, l *ledger.Ledger) {
	op := Operation()
	var sent, refused atomic.Int32
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			_, err := l.Attempt(bg, op, nil, func(context.Context, publish.Prior) (publish.Receipt, error) {
				sent.Add(1)
				return publish.Receipt{ID: "1"}, nil
			})
			var claimed *ledger.ClaimedError
			switch {
			case errors.As(err, &claimed):
				refused.Add(1)
			case err != nil:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if sent.Load() != 1 || refused.Load() != 15 {
		t.Errorf("%d sent, %d refused", sent.Load(), refused.Load())
	}
}

// onLane is one of many operations on a lane.
func onLane(name string, gap time.Duration) publish.Operation {
	op := Operation()
	op.ContentID, op.Lane = name, publish.Lane{Name: "example/blog", Gap: gap}
	return op
}

// lanes checks that changes on one lane are made one at a time and apart, and that other lanes go on.
func lanes(t *testing.T, l *ledger.Ledger) {
	const gap = 50 * time.Millisecond
	sent := func(context.Context, publish.Prior) (publish.Receipt, error) {
		return publish.Receipt{ID: "1"}, nil
	}
	var busy *publish.BusyError
	_, err := l.Attempt(bg, onLane("one", gap), nil, func(context.Context, publish.Prior) (publish.Receipt, error) {
		if _, err := l.Attempt(bg, onLane("two", gap), nil, never(t)); !errors.As(err, &busy) || busy.After <= 0 || busy.After > time.Second {
			t.Errorf("a second change at the same time, to come back soon: %v", err)
		}
		if _, err := l.Attempt(bg, Operation(), nil, sent); err != nil {
			t.Errorf("a change elsewhere: %v", err)
		}
		return publish.Receipt{ID: "1"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := time.Now()
	if _, err := l.Attempt(bg, onLane("two", gap), nil, never(t)); !errors.As(err, &busy) || busy.After > gap+time.Millisecond { // lanes open on whole milliseconds
		t.Errorf("right after the first: %v", err)
	}
	if p, err := l.Prior(bg, onLane("two", gap).Key()); err != nil || p.Attempts != 0 {
		t.Errorf("waiting for the lane is taken for an attempt: %+v, %v", p, err)
	}
	for err = error(busy); errors.As(err, &busy); time.Sleep(time.Millisecond) {
		_, err = l.Attempt(bg, onLane("two", gap), nil, sent)
	}
	if waited := time.Since(ended); err != nil || waited < gap-5*time.Millisecond {
		t.Errorf("the next came after %s: %v", waited, err)
	}
}

// limits checks that a rate limit that one change meets holds up all of its lane, and that what was put off is
// told from what was refused. A process that died leaves its lane to whoever looks into its attempt.
func limits(t *testing.T, l *ledger.Ledger) {
	op := onLane("one", 0)
	got, err := l.Attempt(bg, op, nil, func(context.Context, publish.Prior) (publish.Receipt, error) {
		return publish.Receipt{}, &publish.Trouble{Kind: publish.Deferred, Detail: "slow down", After: time.Hour}
	})
	if err != nil || got.State != publish.NotPerformed || got.Deferrals != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	var busy *publish.BusyError
	approval := &publish.Approval{Operation: op.Key(), Attempt: 1, By: "rule"}
	for _, try := range []struct {
		op publish.Operation
		a  *publish.Approval
	}{{op, approval}, {onLane("two", 0), nil}} {
		if _, err := l.Attempt(bg, try.op, try.a, never(t)); !errors.As(err, &busy) || busy.After < 59*time.Minute || !strings.Contains(busy.Error(), "slow down") {
			t.Errorf("during the limit: %v", err)
		}
	}
	dead := onLane("dead", 0)
	dead.Lane.Name = "example/other"
	func() {
		defer func() { _ = recover() }()
		_, _ = l.Attempt(bg, dead, nil, func(context.Context, publish.Prior) (publish.Receipt, error) {
			after := onLane("after", 0)
			after.Lane.Name = dead.Lane.Name
			if err := l.Confirm(bg, dead, publish.Receipt{ID: "1"}, nil); err != nil {
				t.Error(err)
			}
			if _, err := l.Attempt(bg, after, nil, func(context.Context, publish.Prior) (publish.Receipt, error) { return publish.Receipt{ID: "1"}, nil }); err != nil {
				t.Errorf("the lane of what was found stays taken: %v", err)
			}
			return publish.Receipt{ID: "1"}, nil
		})
	}()
}

func looks(t *testing.T, l *ledger.Ledger) {
	op := Operation()
	if err := l.Confirm(bg, op, publish.Receipt{ID: "9"}, nil); err != nil {
		t.Fatal(err)
	}
	if p, _ := l.Prior(bg, op.Key()); p.State != publish.Done || p.Attempts != 0 || p.Receipt.ID != "9" {
		t.Errorf("adopted: %+v", p)
	}
	if err := l.Observe(bg, op.Key(), publish.Present, []publish.Evidence{{Look: "GET x", Saw: "it"}}); err != nil {
		t.Error(err)
	}
	rows, err := l.Operations(bg, op.Intent)
	if err != nil || len(rows) != 1 || rows[0].Operation != op {
		t.Errorf("%+v, %v", rows, err)
	}
}

func secrets(t *testing.T, l *ledger.Ledger) {
	op := Operation()
	const token = "ghp_abcdefghijklmnop0123456789"
	_, err := l.Attempt(bg, op, nil, func(context.Context, publish.Prior) (publish.Receipt, error) {
		return publish.Receipt{}, &publish.Trouble{Kind: publish.Rejected, Detail: "sent Authorization: Bearer " + token + " and token=" + token + strings.Repeat("x", 5000)}
	})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := l.Export(bg, &b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), token) {
		t.Error("the token is in the export")
	}
	if b.Len() > 3000 {
		t.Errorf("an error's summary is %d bytes long", b.Len())
	}
}

// holds checks what the ledger can tell of an attempt, its beginning and its end.
func holds(t *testing.T, l *ledger.Ledger) {
	op := Operation()
	op.Text = "0123abcd"
	for n, err := range []error{&publish.Trouble{Kind: publish.Unknown, Detail: "no answer", Status: 502}, nil} {
		var a *publish.Approval
		if n > 0 {
			a = &publish.Approval{Operation: op.Key(), Attempt: n, By: "Ada", Reason: "looked twice"}
		}
		if _, refused := l.Attempt(bg, op, a, func(context.Context, publish.Prior) (publish.Receipt, error) {
			return publish.Receipt{ID: "7", URL: "https://x/7", Status: 201}, err
		}); refused != nil {
			t.Fatal(refused)
		}
	}
	if err := l.Observe(bg, op.Key(), publish.Absent, []publish.Evidence{{Look: "GET own posts", Saw: "none"}}); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := l.Export(bg, &b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	for n, want := range [][]string{
		{`"kind":"attempt"`, string(op.Key()), `"intent":"` + string(op.Intent) + `"`, `"destination":"example/1"`, `"content_id":`, `"account":"1"`, `"revision":1`, `"text":"0123abcd"`, `"number":1`, `"by":"`, `"at":"2`},
		{`"kind":"unknown"`, `"status":502`, `"error":"no answer (HTTP 502)"`},
		{`"kind":"attempt"`, `"number":2`, `"by":"Ada"`, `"reason":"looked twice"`},
		{`"kind":"sent"`, `"status":201`, `"id":"7"`, `"url":"https://x/7"`},
		{`"kind":"reconciled"`, `"presence":"absent"`, `"look":"GET own posts"`},
	} {
		for _, part := range want {
			if n >= len(lines) || !strings.Contains(lines[n], part) {
				t.Fatalf("event %d does not hold %s:\n%s", n+1, part, b.String())
			}
		}
	}
}
