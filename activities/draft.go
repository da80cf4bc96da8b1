package activities

import (
	"context"
	"fmt"
	"strings"

	"colophon/internal/article"
	"colophon/publish"
)

// Draft keeps the intent's draft. The first draft is used for ever: when one is kept, none is made.
func (s *Steps) Draft(ctx context.Context, task publish.Task) (publish.Result, error) {
	defer heartbeat(ctx)()
	in := task.Intent
	digest, content, ok, err := s.Ledger.Kept(ctx, in.Key, in.Revision, draftKind)
	if err != nil {
		return publish.Result{}, err
	}
	if !ok {
		if content, err = s.Drafts.Draft(ctx, in); err != nil {
			return stopped("draft", err), nil
		}
		if _, err := article.Parse(in.Draft, content); err != nil {
			return blocked("draft_unreadable", err.Error(), "mend the draft, then decide retry"), nil
		}
		if digest, content, err = s.Ledger.Keep(ctx, in.Key, in.Revision, draftKind, content); err != nil {
			return publish.Result{}, err
		}
	}
	a, err := article.Parse(in.Draft, content)
	if err != nil {
		return blocked("draft_unreadable", err.Error(), "the draft that was kept cannot be read"), nil
	}
	plan := task.Plan
	plan.Draft, plan.Title = digest, a.Title
	return publish.Result{
		Outcome: publish.Passed, Plan: &plan,
		Receipts: []publish.Named{{What: "draft", Receipt: publish.Receipt{ID: string(digest[:min(12, len(digest))])}}},
	}, nil
}

// Validate checks the draft against the intent and the repository, and pins the plan: from here on the
// commit's SHA is known, and every later run of the intent uses this plan.
func (s *Steps) Validate(ctx context.Context, task publish.Task) (publish.Result, error) {
	defer heartbeat(ctx)()
	in := task.Intent
	if task.Plan.Commit.Valid() { // pinned by an earlier run, whose changes would stand in the way of a new plan
		return planned(task.Plan), nil
	}
	content, err := s.Ledger.Artifact(ctx, task.Plan.Draft)
	if err != nil {
		return publish.Result{}, err
	}
	a, err := article.Parse(in.Draft, content)
	if err != nil {
		return blocked("draft_unreadable", err.Error(), "mend the draft and publish it under a new key"), nil
	}
	if problems := article.Complete(a, in); len(problems) > 0 {
		lines := make([]string, len(problems))
		for n, p := range problems {
			lines[n] = fmt.Sprint(p)
		}
		return blocked("draft_incomplete", strings.Join(lines, "; "), "mend the draft and publish it under a new key, or abandon"), nil
	}
	plan := task.Plan
	plan.Author = publish.Author{Name: s.Author.Name, Email: s.Author.Email, Date: in.Date.Midnight()}
	if plan, err = s.Repository.Plan(ctx, in, plan, content); err != nil {
		return stopped("plan the change", err), nil
	}
	compared, err := s.Corpus.Compare(ctx, in, plan.Parent, content)
	if err != nil {
		return stopped("compare with the repository's articles", err), nil
	}
	if res, ok := novel(in, task, compared); !ok {
		return res, nil
	}
	if plan, err = s.Ledger.Pin(ctx, in.Key, in.Revision, plan); err != nil {
		return publish.Result{}, err
	}
	return planned(plan), nil
}

// novel says whether a draft says something that the site does not say yet, or a person has decided that it may go out.
func novel(in publish.Intent, task publish.Task, c publish.Comparison) (publish.Result, bool) {
	if len(c.SameSlug) > 0 {
		return blocked("slug_taken", fmt.Sprintf("the slug %s is that of %s", in.Slug, strings.Join(c.SameSlug, ", ")),
			"choose another slug under a new key; abandon this one"), false
	}
	if len(c.Alike) == 0 {
		return publish.Result{}, true
	}
	first := c.Alike[0]
	res := blocked("alike", fmt.Sprintf("the draft is like %s (%s): %s", first.Path, first.Title, first.Why),
		"read both; decide retry if it says something else, or abandon; articles of one series say so in their front matter (series)")
	if first.Copy {
		res.Condition, res.Next = "says_it_again", "publish a correction of that article as its next revision instead, and abandon this one; decide retry only if it is meant"
	}
	res.Operation, res.Evidence = c.Question(task.Plan.Draft), c.Evidence()
	for n := range res.Evidence {
		res.Evidence[n].At = now()
	}
	if a := task.Approval; a.ByPerson() && a.Operation == res.Operation {
		return publish.Result{}, true
	}
	return res, false
}

func planned(p publish.Plan) publish.Result {
	return publish.Result{
		Outcome: publish.Passed, Plan: &p,
		Receipts: []publish.Named{{What: "planned commit", Receipt: publish.Receipt{SHA: p.Commit}}},
	}
}
