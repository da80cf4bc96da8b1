package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"colophon/internal/article"
	"colophon/publish"
)

// Prepare fixes an announcement to the byte and keeps it, before anything is sent, and checks what can be checked
// without the account being free: that the article is due and approved, that the account is the configured one, that
// the text fits and links to nothing unexpected. What the account allows just now, its lane in the ledger says when
// the announcement is claimed.
//
// The first time that an account is met, its own posts are read: what was announced before Colophon knew it is
// recorded, and never announced again.
func (s *Steps) Prepare(ctx context.Context, task publish.Task) (publish.Result, error) {
	defer heartbeat(ctx)()
	in := task.Intent
	if res, ok := allowed(in, now()); !ok {
		return res, nil
	}
	ch, err := s.channel(task.Channel)
	if err != nil {
		return stopped("prepare", err), nil
	}
	if in.Revision > 1 && !ch.Updates() && !slices.Contains(in.Repost, task.Channel) {
		return publish.Result{
			Outcome: publish.Passed, Condition: publish.NotAnnouncedAgain,
			Detail: "a correction is not announced again here; name the channel under repost to do so",
		}, nil
	}
	e, err := s.announcement(ctx, task)
	if err != nil {
		return stopped("prepare the announcement", err), nil
	}
	return s.known(ctx, task, e)
}

// allowed says whether an article may be announced at all.
func allowed(in publish.Intent, at time.Time) (publish.Result, bool) {
	switch {
	case in.Approved == nil:
		return blocked("not_approved", "nobody has approved the entry", "approve it in the calendar, then start the intent again; or skip"), false
	case at.Before(in.Due):
		res := blocked("not_due", "its day begins at "+in.Due.UTC().Format(time.RFC3339), "it goes on by itself")
		res.Wait = in.Due.Sub(at)
		return res, false
	}
	return publish.Result{}, true
}

// known says how a prepared announcement stands: done already, as the ledger or the account's backlog shows, or to be
// sent when its line gives it a turn.
func (s *Steps) known(ctx context.Context, task publish.Task, e publish.Effect) (publish.Result, error) {
	op, in := e.Operation(), task.Intent
	prior, err := s.Ledger.Prior(ctx, op.Key())
	if err != nil {
		return publish.Result{}, err
	}
	if prior.State == publish.Done {
		return passed(op, prior.Receipt, nil), nil
	}
	res := publish.Result{Outcome: publish.Passed}
	if op.Lane.Strict || op.Lane.Gap > 0 || op.Lane.Cap > 0 {
		res.Line, res.Gap = op.Lane.Name, op.Lane.Gap
	}
	if prior.Attempts > 0 || in.Revision > 1 {
		return res, nil
	}
	st, err := s.Ledger.Standing(ctx, op.Destination, string(in.URL))
	if err != nil {
		return publish.Result{}, err
	}
	if len(st.Posted) > 0 {
		seen := []publish.Evidence{{At: now(), Look: "what " + op.Destination + " had published before", Saw: st.Posted[0].URL + " links to the article"}}
		if err := s.Ledger.Confirm(ctx, op, st.Posted[0], seen); err != nil {
			return publish.Result{}, err
		}
		res = passed(op, st.Posted[0], seen)
		res.Condition, res.Detail = "in_backlog", "it had been announced before Colophon knew the account"
		return res, nil
	}
	if !st.Whole && in.Date.Midnight().Before(st.Reach) && (task.Approval == nil || task.Approval.By == "rule") {
		res = blocked("backlog_incomplete",
			fmt.Sprintf("what %s published before %s could not be read, and the article is older", op.Destination, st.Reach.UTC().Format(time.RFC3339)),
			"see whether it was announced then: decide confirm with that post, or retry to announce it now, or skip")
		res.Operation = op.Key()
	}
	return res, nil
}

// channel is a configured channel.
func (s *Steps) channel(name string) (Channel, error) {
	ch, ok := s.Channels[name]
	if !ok {
		return nil, &publish.Trouble{
			Kind: publish.Halted, Condition: "unknown_channel", Detail: fmt.Sprintf("channel %q is not configured", name),
			Next: "add it to the configuration and restart the worker, or decide skip",
		}
	}
	return ch, nil
}

// announcement is the effect of the message that is kept, or else of the one that is composed now and kept.
func (s *Steps) announcement(ctx context.Context, task publish.Task) (publish.Effect, error) {
	ch, err := s.channel(task.Channel)
	if err != nil {
		return nil, err
	}
	in, kind := task.Intent, messageKind+task.Channel
	_, raw, ok, err := s.Ledger.Kept(ctx, in.Key, in.Revision, kind)
	if err != nil {
		return nil, err
	}
	if !ok {
		m, err := s.compose(ctx, task, ch)
		if err != nil {
			return nil, err
		}
		if raw, err = json.Marshal(m); err != nil {
			return nil, err
		}
		if _, raw, err = s.Ledger.Keep(ctx, in.Key, in.Revision, kind, raw); err != nil {
			return nil, err
		}
	}
	var m publish.Message
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("the message that was kept for %s: %w", task.Channel, err)
	}
	return ch.Effect(ctx, m)
}

// compose has a channel fix what it will say.
func (s *Steps) compose(ctx context.Context, task publish.Task, ch Channel) (publish.Message, error) {
	in := task.Intent
	draft, err := s.Ledger.Artifact(ctx, task.Plan.Draft)
	if err != nil {
		return publish.Message{}, err
	}
	a, err := article.Parse(in.Path, draft)
	if err != nil {
		return publish.Message{}, err
	}
	account, err := ch.Account(ctx)
	if err != nil {
		return publish.Message{}, err
	}
	st, err := s.standing(ctx, account, in, ch)
	if err != nil {
		return publish.Message{}, err
	}
	previous, err := s.previous(ctx, account, in, st)
	if err != nil {
		return publish.Message{}, err
	}
	return ch.Compose(ctx, publish.Announcement{
		Intent: in, Title: a.Title, Description: a.Description, URL: string(in.URL), Language: a.Language, Tags: a.Tags,
		Markdown: a.Body, Made: now(), Newest: st.Newest, Previous: previous,
	})
}

// standing is what the ledger knows of an account; what it had published is read the first time it is met.
func (s *Steps) standing(ctx context.Context, account string, in publish.Intent, ch Channel) (publish.Standing, error) {
	st, err := s.Ledger.Standing(ctx, account, string(in.URL))
	if err != nil || st.Known {
		return st, err
	}
	backlog, err := ch.Backlog(ctx)
	if err != nil {
		return st, err
	}
	if err := s.Ledger.Connect(ctx, backlog); err != nil {
		return st, err
	}
	return s.Ledger.Standing(ctx, account, string(in.URL))
}

// previous is the receipt of the newest revision before this one that was announced on the account, by us or before
// our time.
func (s *Steps) previous(ctx context.Context, account string, in publish.Intent, st publish.Standing) (publish.Receipt, error) {
	for revision := in.Revision - 1; revision > 0; revision-- {
		op := publish.Operation{Destination: account, ContentID: in.ContentID(), Revision: revision}
		prior, err := s.Ledger.Prior(ctx, op.Key())
		if err != nil || prior.State == publish.Done {
			return prior.Receipt, err
		}
	}
	if in.Revision > 1 && len(st.Posted) > 0 {
		return st.Posted[0], nil
	}
	return publish.Receipt{}, nil
}
