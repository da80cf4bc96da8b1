package publish

import (
	"strings"
	"testing"
	"time"
)

func TestRecordKeepsReceiptsAndTurnsAndNeverGoesBack(t *testing.T) {
	at := time.Date(2026, 10, 4, 9, 0, 0, 0, time.UTC)
	r := Record{Intent: intent()}
	r.Note(PullRequest, Result{Outcome: Passed, Receipts: []Named{{"pull request", Receipt{ID: "7"}}}}, at, "")
	r.Note(Merge, Result{Outcome: NotConfirmed, Detail: "reset", Attempt: 1}, at, "")
	r.Note(Merge, Result{Outcome: Passed, Receipts: []Named{{"merge", Receipt{ID: "7", SHA: "abc"}}}, Detail: "found"}, at, "")
	r.Note(Draft, Result{Outcome: Passed}, at, "")
	if r.Plan.PullRequest != 7 {
		t.Errorf("the pull request's number is not part of the plan: %+v", r.Plan)
	}
	if r.State != Merged {
		t.Errorf("state %s, want merged", r.State)
	}
	merge := r.line(Merge)
	if len(merge.Turns) != 2 || merge.Turns[0].Outcome != NotConfirmed || len(merge.Receipts) != 1 || merge.Outcome != Passed {
		t.Errorf("merge: %+v", merge)
	}
}

func TestRecordShowsWhoseMoveItIsAndWhatToSend(t *testing.T) {
	r := Record{Intent: intent(), State: LiveVerified}
	r.Waiting = &Waiting{Step: Syndicate, Channel: "mastodon", For: "a decision", Owner: Person, Next: "look at the account"}
	md := r.Markdown()
	for _, want := range []string{"a person's move", "look at the account", "`confirm`", "media-001:2026-10-04:idempotency/mastodon", `"step":"Syndicate"`} {
		if !strings.Contains(md, want) {
			t.Errorf("no %q in\n%s", want, md)
		}
	}
}

func TestRecordMakesHostileTextHarmless(t *testing.T) {
	in := intent()
	in.Topic = "x | y\n# big <script>alert(1)</script> [a](javascript:1) `code`"
	r := Record{Intent: in}
	r.Note(Merge, Result{Outcome: Blocked, Detail: "| a | b |\n\n# heading <b>", Receipts: []Named{{"merge", Receipt{ID: "7", URL: "https://x/)|<>"}}}}, time.Time{}, "<i>")
	md := r.Markdown()
	for _, bad := range []string{"<script", "\n# big", "\n# heading", "<b>", "<i>", "[a](javascript"} {
		if strings.Contains(md, bad) {
			t.Errorf("%q survives in\n%s", bad, md)
		}
	}
}

func TestARecordDoesNotGrowWithTheTimeThatIsWaited(t *testing.T) {
	at := time.Date(2026, 10, 4, 9, 0, 0, 0, time.UTC)
	r := Record{Intent: intent()}
	r.Note(Merge, Result{Outcome: Blocked}, at, "")
	r.Note(Merge, Result{Outcome: NotConfirmed}, at, "")
	waiting := Result{Outcome: Blocked, Condition: "review_outstanding", Detail: "waits for reviews", Wait: time.Minute}
	for n := range 1000 {
		r.Note(Merge, waiting, at.Add(time.Duration(n)*time.Minute), "")
	}
	if turns := r.line(Merge).Turns; len(turns) != 3 || turns[2].Times != 999 || !turns[2].At.Equal(at.Add(999*time.Minute)) {
		t.Errorf("%d turns, the last %+v", len(turns), turns[len(turns)-1])
	}
	for n := range 1000 {
		waiting.Attempt = n + 1
		r.Note(Merge, waiting, at, "")
	}
	if line := r.line(Merge); len(line.Turns) != maxTurns || line.Turns[maxTurns-1].Attempt != 1000 || line.Omitted != 1003-maxTurns {
		t.Errorf("%d turns, %d omitted, the last %+v", len(line.Turns), line.Omitted, line.Turns[len(line.Turns)-1])
	}
	if !r.Unclear(Merge) {
		t.Error("that it was unclear once is forgotten with the turn that said so")
	}
	if md := r.Markdown(); !strings.Contains(md, "more, in the history") {
		t.Errorf("not told:\n%s", md)
	}
}
