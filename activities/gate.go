package activities

import (
	"context"
	"fmt"
	"strings"

	"colophon/internal/article"
	"colophon/publish"
)

// novel says whether the site says nothing of the kind yet, or a person has decided that the draft may go out although
// it does. All objections are one question.
func (s *Steps) novel(ctx context.Context, task publish.Task, plan publish.Plan, a article.Article, content []byte) (publish.Result, bool) {
	served, err := s.served(ctx, task, a)
	if err != nil {
		return unreadable("the site", err), false
	}
	c, err := s.Corpus.Compare(ctx, task.Intent, plan.Parent, content)
	if err != nil {
		return stopped("compare with the repository's articles", err), false
	}
	if len(c.SameSlug) > 0 {
		return blocked("slug_taken", fmt.Sprintf("the slug %s is that of %s", task.Intent.Slug, strings.Join(c.SameSlug, ", ")),
			"choose another slug under a new key; abandon this one"), false
	}
	objections := append(served, alike(task, c)...)
	if len(objections) == 0 {
		return publish.Result{}, true
	}
	res := objections[0]
	about := []string{string(res.Operation)}
	for _, o := range objections[1:] {
		res.Detail, res.Next, res.Evidence = res.Detail+"; "+o.Detail, res.Next+"; "+o.Next, append(res.Evidence, o.Evidence...)
		about = append(about, string(o.Operation))
	}
	res.Operation = publish.Question(about...)
	return res, task.Approval.ByPerson() && task.Approval.Operation == res.Operation
}

// served objects to an article at whose URL production serves something already.
func (s *Steps) served(ctx context.Context, task publish.Task, a article.Article) ([]publish.Result, error) {
	in := task.Intent
	if in.Revision > 1 { // what is corrected is served
		return nil, nil
	}
	j, evidence, err := s.Site.Serves(ctx, expected(in, a))
	if err != nil || j.Verdict == publish.Missing {
		return nil, err
	}
	res := blocked("url_taken", fmt.Sprintf("production serves something else at %s: %s", in.URL, j.Detail),
		"choose another slug under a new key, and abandon this one; decide retry only if the page is to be replaced")
	if j.Verdict == publish.IsLive {
		res.Condition, res.Detail = "already_live", fmt.Sprintf("production serves this article at %s already, and %s does not hold it at %s", in.URL, in.Repository, in.Path)
		res.Next = "find out where the page comes from; abandon, or decide retry to publish it from the repository too"
	}
	res.Operation, res.Evidence = publish.Question("served", string(task.Plan.Draft), string(in.URL), string(j.Verdict)), evidence
	return []publish.Result{res}, nil
}

// alike objects to a draft that is too much like articles that the repository has.
func alike(task publish.Task, c publish.Comparison) []publish.Result {
	if len(c.Alike) == 0 {
		return nil
	}
	first := c.Alike[0]
	res := blocked("alike", fmt.Sprintf("the draft is like %s (%s): %s", first.Path, first.Title, first.Why),
		"read both; decide retry if it says something else, or abandon; articles of one series say so in their front matter (series)")
	if first.Copy {
		res.Condition, res.Next = "says_it_again", "publish a correction of that article as its next revision instead, and abandon this one; decide retry only if it is meant"
	}
	about := []string{"alike", string(task.Plan.Draft)}
	for _, l := range c.Alike {
		about = append(about, l.Path)
	}
	res.Operation, res.Evidence = publish.Question(about...), c.Evidence(now())
	return []publish.Result{res}
}
