package e2e

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"colophon/internal/devenv/temporal"
	"colophon/internal/sandbox/fault"
	"colophon/publish"
)

// blockDelivery makes Mastodon refuse the token, and waits until the delivery waits for a person.
func blockDelivery(t *testing.T, w *world) string {
	t.Helper()
	w.World.MastodonFaults.Add(fault.Rule{Method: "POST", Kind: fault.StatusBefore, Status: 401})
	w.begin()
	id := publish.DeliveryID(key, "mastodon")
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		var rec publish.Record
		v, err := w.Client.QueryWorkflow(context.Background(), id, "", publish.RecordQuery)
		if err == nil && v.Get(&rec) == nil && rec.Waiting != nil && rec.Waiting.Owner == publish.Person {
			if !strings.Contains(rec.Markdown(), "temporal workflow signal") || rec.Waiting.Condition != "bad_credentials" || rec.Waiting.Next == "" {
				t.Errorf("the record does not say what to do:\n%s", rec.Markdown())
			}
			return id
		}
	}
	t.Fatal("the delivery never waited for a person")
	return ""
}

// TestABlockedDeliveryIsSettledBySignalFromTheCommandLine uses Temporal's own program.
func TestABlockedDeliveryIsSettledBySignalFromTheCommandLine(t *testing.T) {
	w := start(t)
	id := blockDelivery(t, w)
	binary, err := temporal.Find(context.Background(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	if code, out, _ := w.starter("status", string(key)); code != 4 || !strings.Contains(out, "signal -w '"+id+"'") || !strings.Contains(out, "renew the channel's token") {
		t.Errorf("status of a run whose delivery waits: %d\n%s", code, out)
	}
	signal := func(input string) {
		t.Helper()
		code, out, errOut := run(t, nil, binary, "workflow", "signal", "--address", w.Temporal.Address(), "-w", id, "--name", publish.DecideName, "--input", input)
		if code != 0 {
			t.Fatalf("signal: %d %s%s", code, out, errOut)
		}
	}
	signal(`{"step":"Merge","action":"retry","by":"Ada"}`) // which does not wait: it is refused, on the record
	signal(`{"step":"Syndicate","action":"retry","by":"Ada","note":"renewed the token"}`)
	rec := w.finish()
	w.oneOfEverything(rec)
	if rows, err := w.ledger().Operations(context.Background(), key); err != nil || len(rows) == 0 || rows[len(rows)-1].Prior.Attempts > 2 {
		t.Errorf("%+v, %v", rows, err)
	}
}

// TestADecisionByUpdateIsCheckedAndAnswered confirms a post that was made by hand.
func TestADecisionByUpdateIsCheckedAndAnswered(t *testing.T) {
	w := start(t)
	id := blockDelivery(t, w)
	binary, err := temporal.Find(context.Background(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	update := func(input string) (int, string) {
		t.Helper()
		code, out, errOut := run(t, nil, binary, "workflow", "update", "execute", "--address", w.Temporal.Address(), "-w", id, "--name", publish.DecideName, "--input", input)
		return code, out + errOut
	}
	for input, want := range map[string]string{
		`{"step":"Merge","action":"retry","by":"Ada"}`:       "Syndicate does",
		`{"step":"Syndicate","action":"retry"}`:              "say who decides",
		`{"step":"Syndicate","action":"explode","by":"Ada"}`: "takes one of",
		`{"step":"Syndicate","action":"confirm","by":"Ada"}`: "needs the id",
	} {
		if code, out := update(input); code == 0 || !strings.Contains(out, want) {
			t.Errorf("%s: %d %s; want %q", input, code, out, want)
		}
	}
	if code, out := update(`{"step":"Syndicate","action":"skip","by":"Ada","note":"not this one"}`); code != 0 {
		t.Fatalf("skip: %d %s", code, out)
	}
	rec := w.finish()
	if rec.Outcome != publish.Passed || len(w.World.Mastodon.Statuses()) != 0 {
		t.Errorf("%s, %d posts", rec.Outcome, len(w.World.Mastodon.Statuses()))
	}
	skipped := false
	for _, d := range rec.Deliveries {
		skipped = skipped || d.Channel == "mastodon" && d.Skipped
	}
	if !skipped {
		t.Errorf("the record does not say skipped: %+v", rec.Deliveries)
	}
}

// TestADeliveryThatWasMadeByHandIsConfirmed gives the receipt of a post that a person made.
func TestADeliveryThatWasMadeByHandIsConfirmed(t *testing.T) {
	w := start(t)
	id := blockDelivery(t, w)
	st := w.World.Mastodon.Add("By hand: "+w.World.SitePort.URL()+"/posts/idempotency/", time.Now())
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	d := publish.Decision{Step: publish.Syndicate, Action: publish.Confirm, By: "Ada", Receipt: publish.Receipt{ID: st.ID, URL: "https://mastodon.example/@press/" + st.ID}}
	if err := w.Client.SignalWorkflow(ctx, id, "", publish.DecideName, d); err != nil {
		t.Fatal(err)
	}
	rec := w.finish()
	w.oneOfEverything(rec)
	for _, got := range rec.Deliveries {
		if got.Channel == "mastodon" && (got.Receipt.ID != st.ID || !strings.Contains(got.Detail, "Ada")) {
			t.Errorf("%+v", got)
		}
	}
}

// TestASecondDecisionDoesNotSettleTheNextBlock lets two people decide at once, while no worker runs: the run
// hears both in one turn, and may take only one of them.
func TestASecondDecisionDoesNotSettleTheNextBlock(t *testing.T) {
	w := start(t)
	id := blockDelivery(t, w)
	w.World.MastodonFaults.Add(fault.Rule{Method: "POST", Times: 5, Kind: fault.StatusBefore, Status: 401})
	w.kill()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, who := range []string{"Ada", "Bob"} {
		if err := w.Client.SignalWorkflow(ctx, id, "", publish.DecideName, publish.Decision{Step: publish.Syndicate, Action: publish.Retry, By: who}); err != nil {
			t.Fatal(err)
		}
	}
	w.work()
	if err := w.World.MastodonFaults.Wait(ctx, 2); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * time.Second) // a third would follow at once
	if hits := w.World.MastodonFaults.Hits(); len(hits) != 2 {
		t.Errorf("%d attempts; the second decision was taken for the next block", len(hits))
	}
	w.World.MastodonFaults.Clear()
	if err := w.Client.SignalWorkflow(ctx, id, "", publish.DecideName, publish.Decision{Step: publish.Syndicate, Action: publish.Retry, By: "Ada"}); err != nil {
		t.Fatal(err)
	}
	w.oneOfEverything(w.finish())
}

// TestADeliveryThatOutlivesItsRunIsJoined ends a run by force while a delivery waits for a person. The next
// run of the intent waits for that delivery, and takes its answer.
func TestADeliveryThatOutlivesItsRunIsJoined(t *testing.T) {
	w := start(t)
	id := blockDelivery(t, w)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := w.Client.TerminateWorkflow(ctx, string(key), "", "test"); err != nil {
		t.Fatal(err)
	}
	w.begin()
	w.await(string(key), string(publish.Syndicate), publish.Colophon)
	time.Sleep(2 * time.Second) // it has asked for the delivery by now, which is still the first run's
	if err := w.Client.SignalWorkflow(ctx, id, "", publish.DecideName, publish.Decision{Step: publish.Syndicate, Action: publish.Retry, By: "Ada"}); err != nil {
		t.Fatal(err)
	}
	w.oneOfEverything(w.finish())
}

// TestAReceiptThatDoesNotHoldIsAskedAboutAgain confirms a post that does not exist, and one that is about
// something else: neither is believed, neither brings about a post, and the reason is on the record.
func TestAReceiptThatDoesNotHoldIsAskedAboutAgain(t *testing.T) {
	w := start(t)
	id := blockDelivery(t, w)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	other := w.World.Mastodon.Add("Lunch", time.Now())
	confirm := func(post string) {
		t.Helper()
		d := publish.Decision{Step: publish.Syndicate, Action: publish.Confirm, By: "Ada", Receipt: publish.Receipt{ID: post, URL: "https://mastodon.example/@press/" + post}}
		if err := w.Client.SignalWorkflow(ctx, id, "", publish.DecideName, d); err != nil {
			t.Fatal(err)
		}
	}
	for _, post := range []string{"12345", other.ID} {
		confirm(post)
		rec := w.await(id, "a decision about Syndicate: post: the receipt \""+post+"\"", publish.Person)
		if asked := rec.Waiting; asked.Condition != "receipt_not_verified" || len(asked.Evidence) < 2 || asked.Confirmed != publish.LiveVerified || asked.Operation == "" {
			t.Errorf("what a person is shown: %+v", asked)
		}
	}
	if posts := w.World.Mastodon.Statuses(); len(posts) != 1 {
		t.Errorf("a receipt that does not hold brought about %d posts", len(posts)-1)
	}
	ours := w.World.Mastodon.Add("By hand: "+w.World.SitePort.URL()+"/posts/idempotency/", time.Now())
	confirm(ours.ID)
	if rec := w.finish(); rec.Outcome != publish.Passed || len(w.World.Mastodon.Statuses()) != 2 {
		t.Errorf("%s, %d posts", rec.Outcome, len(w.World.Mastodon.Statuses()))
	}
}
