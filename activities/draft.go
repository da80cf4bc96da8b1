package activities

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
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
		faults, err := s.QA.Check(ctx, in.Draft, content)
		if err != nil {
			return blocked("qa_failed", err.Error(), "see to the checker, then decide retry"), nil
		}
		if len(faults) > 0 {
			return faulty(in, faults), nil
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

// faulty is a draft that is not kept: it can be mended, and is read again then.
func faulty(in publish.Intent, faults []publish.Fault) publish.Result {
	res := blocked("qa_failed", "", "mend the draft, then decide retry: it is read again")
	file := path.Base(filepath.ToSlash(in.Draft))
	for n, f := range faults {
		if n < 5 {
			res.Detail += fmt.Sprintf("; %s: %s (%s)", f.In(file), f.Detail, f.Rule)
		}
		res.Evidence = append(res.Evidence, publish.Evidence{At: now(), Look: f.In(file), Saw: f.Rule + ": " + f.Detail})
	}
	res.Detail = strings.TrimPrefix(res.Detail, "; ")
	if more := len(faults) - 5; more > 0 {
		res.Detail += fmt.Sprintf("; and %d more", more)
	}
	return res
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
	if res, ok := s.novel(ctx, task, plan, a, content); !ok {
		return res, nil
	}
	if plan, err = s.Ledger.Pin(ctx, in.Key, in.Revision, plan); err != nil {
		return publish.Result{}, err
	}
	return planned(plan), nil
}

func planned(p publish.Plan) publish.Result {
	return publish.Result{
		Outcome: publish.Passed, Plan: &p,
		Receipts: []publish.Named{{What: "planned commit", Receipt: publish.Receipt{SHA: p.Commit}}},
	}
}
