package ledgertest

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"colophon/internal/ledger"
	"colophon/publish"
)

func export(t *testing.T, l *ledger.Ledger) string {
	t.Helper()
	var b bytes.Buffer
	if _, err := l.Export(bg, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// rebuilt checks that the other ledger, which is empty, is equal to l after it has imported what l exports.
func rebuilt(t *testing.T, l, other *ledger.Ledger, dump func(*testing.T, *ledger.Ledger) string) {
	t.Helper()
	exported := export(t, l)
	if _, err := other.Import(bg, strings.NewReader(exported)); err != nil {
		t.Fatalf("import: %v\n%s", err, exported)
	}
	if again := export(t, other); again != exported {
		t.Errorf("exported %s\nimported, and exported again %s", exported, again)
	}
	if was, is := dump(t, l), dump(t, other); was != is {
		t.Errorf("the tables held\n%s\nrebuilt, they hold\n%s", was, is)
	}
}

// imports checks that an export that is not whole, or was changed, leaves an empty ledger.
func imports(t *testing.T, open func(t *testing.T) *ledger.Ledger) {
	l := open(t)
	if _, err := l.Admit(bg, Intent()); err != nil {
		t.Fatal(err)
	}
	for kind, content := range map[string]string{"draft": "# Idempotency\n", "picture": "\xff\xd8\xff"} {
		if _, _, err := l.Keep(bg, Intent().Key, 1, kind, []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Attempt(bg, Operation(), nil, func(context.Context, publish.Prior) (publish.Receipt, error) { return publish.Receipt{ID: "1"}, nil }); err != nil {
		t.Fatal(err)
	}
	good := export(t, l)
	lines := strings.SplitAfter(good, "\n")
	other := open(t)
	for name, c := range map[string]struct {
		export string
		line   int
		says   string
	}{
		"a line is missing":       {strings.Join(append(append([]string{}, lines[:2]...), lines[3:]...), ""), 3, "lines are missing"},
		"it breaks off":           {strings.TrimSuffix(good, "}\n"), 5, "breaks off"},
		"an artifact was changed": {strings.ReplaceAll(good, "# Idempotency", "# Potency"), 0, "has been changed"},
		"a later version's kind":  {strings.Replace(good, `"kind":"admitted"`, `"kind":"adopted"`, 1), 1, "later version"},
		"a later version's field": {strings.Replace(good, `"number":1`, `"number":1,"mood":"good"`, 1), 4, "mood"},
		"another kind's body":     {strings.Replace(good, `"kind":"sent"`, `"kind":"failed"`, 1), 5, "sent"},
		"no time":                 {strings.Replace(good, `"at":"2`, `"at":"x2`, 1), 1, "time"},
		"no JSON":                 {"hello\n", 1, "invalid"},
		"two of them":             {good + good, 6, "out of order"},
	} {
		_, err := other.Import(bg, strings.NewReader(c.export))
		var bad *ledger.ImportError
		if !errors.As(err, &bad) || c.line != 0 && bad.Line != c.line || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want line %d, %q", name, err, c.line, c.says)
		}
		if left := export(t, other); left != "" {
			t.Fatalf("%s: something was imported:\n%s", name, left)
		}
	}
	if _, err := other.Import(bg, strings.NewReader(good)); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Import(bg, strings.NewReader(good)); !errors.Is(err, ledger.ErrNotEmpty) || !strings.Contains(err.Error(), "5 events") {
		t.Errorf("into a ledger that is not empty: %v", err)
	}
	if export(t, other) != good {
		t.Error("the second import changed the ledger")
	}
}

// bytesOfARemote: what a remote says may hold any bytes; it must not keep an attempt's end from being written.
func bytesOfARemote(t *testing.T, l *ledger.Ledger) {
	const hostile = "a\x00b\xff\xed\xa0\x80\u2028\U0001F980"
	if err := l.Connect(bg, publish.Backlog{Destination: "example/1", Posts: []publish.Post{{
		Receipt: publish.Receipt{ID: hostile, URL: hostile}, Links: []string{hostile, "https://example.org/" + hostile}, Created: time.Now(),
	}}}); err != nil {
		t.Error(err)
	}
	if st, err := l.Standing(bg, "example/1", hostile); err != nil || len(st.Posted) != 1 {
		t.Errorf("%+v, %v", st, err)
	}
	op := Operation()
	op.Lane = publish.Lane{Name: op.Destination, Gap: time.Millisecond}
	done, err := l.Attempt(bg, op, nil, func(context.Context, publish.Prior) (publish.Receipt, error) {
		return publish.Receipt{}, &publish.Trouble{Kind: publish.Deferred, Condition: "rate_limited", Detail: hostile + strings.Repeat("ü", 400), After: time.Hour}
	})
	if err != nil || done.State != publish.NotPerformed {
		t.Fatalf("%+v, %v", done, err)
	}
	done, err = l.Attempt(bg, Operation(), &publish.Approval{Operation: op.Key(), Attempt: 1, By: "rule"}, func(context.Context, publish.Prior) (publish.Receipt, error) {
		return publish.Receipt{ID: hostile, URL: hostile, Status: 200}, nil
	})
	if err != nil || done.State != publish.Done {
		t.Fatalf("%+v, %v", done, err)
	}
	if st, err := l.Standing(bg, "example/1", ""); err != nil || st.Newest == "" {
		t.Errorf("%+v, %v", st, err)
	}
}
