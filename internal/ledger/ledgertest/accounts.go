package ledgertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"colophon/internal/ledger"
	"colophon/publish"
)

// onAccount is the post of one article on an account.
func onAccount(account, article string) publish.Operation {
	return publish.Operation{
		What: "post", Intent: publish.Key("media-001:2026-10-04:" + article), Destination: account, ContentID: "media-001:2026-10-04:" + article, Revision: 1,
		Channel: "example", Account: "1", Text: "about " + article, Lane: publish.Lane{Name: account, Strict: true},
	}
}

func ending(id string, err error) func(context.Context, publish.Prior) (publish.Receipt, error) {
	return func(context.Context, publish.Prior) (publish.Receipt, error) {
		if err != nil {
			return publish.Receipt{}, err
		}
		return publish.Receipt{ID: id}, nil
	}
}

// refused checks that a claim is refused, and why.
func refused(t *testing.T, l *ledger.Ledger, op publish.Operation, want publish.Condition) *publish.BusyError {
	t.Helper()
	_, err := l.Attempt(bg, op, nil, never(t))
	busy, ok := errors.AsType[*publish.BusyError](err)
	if !ok || busy.Why != want || busy.Lane != op.Lane.Name || busy.By == "" {
		t.Errorf("%s: %v; want %s", op.ContentID, err, want)
		return &publish.BusyError{}
	}
	return busy
}

func made(t *testing.T, l *ledger.Ledger, op publish.Operation, id string) {
	t.Helper()
	if got, err := l.Attempt(bg, op, nil, ending(id, nil)); err != nil || got.State != publish.Done {
		t.Errorf("%s: %+v, %v", op.ContentID, got, err)
	}
}

// unresolved: while one post may have been made, no other is on that account, whoever claims it.
func unresolved(t *testing.T, l *ledger.Ledger) {
	lost := onAccount("example:a/1", "lost")
	if got, err := l.Attempt(bg, lost, nil, ending("", errors.New("reset"))); err != nil || got.State != publish.Unconfirmed {
		t.Fatalf("%+v, %v", got, err)
	}
	if p, err := l.Prior(bg, lost.Key()); err != nil || p.Condition == "" {
		t.Errorf("why it did not succeed is not kept: %+v, %v", p, err)
	}
	if busy := refused(t, l, onAccount("example:a/1", "next"), publish.LaneStopped); busy.After <= 0 {
		t.Errorf("when to ask again: %s", busy.After)
	}
	made(t, l, onAccount("example:b/1", "next"), "1")
	if err := l.Confirm(bg, lost, publish.Receipt{ID: "7"}, nil); err != nil {
		t.Fatal(err)
	}
	made(t, l, onAccount("example:a/1", "next"), "8")
}

// repeated: what was sent to an account is not sent there again, under no other name either. What was refused may be.
func repeated(t *testing.T, l *ledger.Ledger) {
	made(t, l, onAccount("example:a/1", "one"), "1")
	again := onAccount("example:a/1", "two")
	again.Text = onAccount("example:a/1", "one").Text
	refused(t, l, again, publish.SameText)
	elsewhere := again
	elsewhere.Destination, elsewhere.Lane.Name = "example:b/1", "example:b/1"
	made(t, l, elsewhere, "1")
	update := again
	update.What, update.ContentID, update.Revision = publish.Update, "one", 2
	made(t, l, update, "1")
	no := onAccount("example:c/1", "one")
	if _, err := l.Attempt(bg, no, nil, ending("", &publish.Trouble{Kind: publish.Rejected})); err != nil {
		t.Fatal(err)
	}
	no.ContentID = "two"
	made(t, l, no, "1")
}

// capped: every attempt counts, until the day ends where the account is at home.
func capped(t *testing.T, l *ledger.Ledger) {
	op := func(n string) publish.Operation {
		o := onAccount("example:a/1", n)
		o.Lane.Cap, o.Lane.Zone = 2, "Pacific/Kiritimati"
		return o
	}
	made(t, l, op("one"), "1")
	if _, err := l.Attempt(bg, op("two"), nil, ending("", &publish.Trouble{Kind: publish.Rejected})); err != nil {
		t.Fatal(err)
	}
	busy := refused(t, l, op("three"), publish.LaneCap)
	zone, err := time.LoadLocation("Pacific/Kiritimati")
	if err != nil {
		t.Fatal(err)
	}
	if opens := time.Now().Add(busy.After).In(zone); opens.Add(time.Minute).Day() == time.Now().In(zone).Day() && busy.After < 23*time.Hour || opens.Add(time.Minute).Hour() != 0 {
		t.Errorf("opens %s", opens)
	}
	free := op("four")
	free.Lane.Cap = 3
	made(t, l, free, "2")
}

// backlog: what an account had published before it was met is kept once.
func backlog(t *testing.T, l *ledger.Ledger) {
	const account, url = "example:a/1", "https://blog.example/posts/old/"
	if st, err := l.Standing(bg, account, url); err != nil || st.Known {
		t.Fatalf("%+v, %v", st, err)
	}
	at := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	b := publish.Backlog{Destination: account, Reach: at.Add(-time.Hour), Posts: []publish.Post{
		{Receipt: publish.Receipt{ID: "9", URL: "https://a/9"}, Links: []string{"https://other.example/"}, Created: at},
		{Receipt: publish.Receipt{ID: "8", URL: "https://a/8"}, Links: []string{url, "https://else.example/"}, Created: at.Add(-time.Hour)},
	}}
	if err := l.Connect(bg, b); err != nil {
		t.Fatal(err)
	}
	if err := l.Connect(bg, publish.Backlog{Destination: account, Whole: true}); err != nil {
		t.Fatal(err)
	}
	st, err := l.Standing(bg, account, url)
	if err != nil || !st.Known || st.Whole || !st.Reach.Equal(b.Reach) || st.Newest != "9" || len(st.Posted) != 1 || st.Posted[0].ID != "8" {
		t.Errorf("%+v, %v", st, err)
	}
	if st, err := l.Standing(bg, account, "https://blog.example/posts/new/"); err != nil || len(st.Posted) != 0 || !st.Known {
		t.Errorf("another article: %+v, %v", st, err)
	}
	if st, err := l.Standing(bg, "example:b/1", url); err != nil || st.Known {
		t.Errorf("another account: %+v, %v", st, err)
	}
	if err := l.Connect(bg, publish.Backlog{Destination: "example:c/1", Whole: true}); err != nil {
		t.Fatal(err)
	}
	if st, err := l.Standing(bg, "example:c/1", url); err != nil || !st.Known || !st.Whole || st.Newest != "" {
		t.Errorf("an empty account: %+v, %v", st, err)
	}
}

// newest: what was sent through the ledger is newer than the backlog.
func newest(t *testing.T, l *ledger.Ledger) {
	const account = "example:a/1"
	if err := l.Connect(bg, publish.Backlog{Destination: account, Whole: true, Posts: []publish.Post{{Receipt: publish.Receipt{ID: "9"}}}}); err != nil {
		t.Fatal(err)
	}
	made(t, l, onAccount(account, "one"), "10")
	time.Sleep(2 * time.Millisecond) // for the next to be later
	made(t, l, onAccount(account, "two"), "11")
	if _, err := l.Attempt(bg, onAccount(account, "three"), nil, ending("", errors.New("reset"))); err != nil {
		t.Fatal(err)
	}
	if st, err := l.Standing(bg, account, "https://blog.example/"); err != nil || st.Newest != "11" {
		t.Errorf("%+v, %v", st, err)
	}
}

func accepts(t *testing.T, l *ledger.Ledger) {
	for range 2 {
		if err := l.Accept(bg, "Ada", []string{"HTTPS://example.org:443/posts/b/", "https://example.org/posts/a/"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Accept(bg, "Ada", nil); err != nil {
		t.Error(err)
	}
	got, err := l.Accepted(bg)
	if err != nil || len(got) != 2 || !got["https://example.org/posts/a/"] || !got["https://example.org/posts/b/"] {
		t.Errorf("%v, %v", got, err)
	}
	if err := l.Connect(bg, publish.Backlog{Destination: "example/1", Posts: []publish.Post{{Receipt: publish.Receipt{ID: "1"}, Links: []string{"https://EXAMPLE.org/posts/c/"}}}}); err != nil {
		t.Fatal(err)
	}
	if got, err := l.Backlog(bg); err != nil || len(got) != 1 || !got["https://example.org/posts/c/"] {
		t.Errorf("%v, %v", got, err)
	}
}
