package activities

import (
	"context"
	"fmt"
	"time"

	"colophon/internal/article"
	"colophon/publish"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// NotLiveType is the type of the application error that makes Temporal look at the site again.
const NotLiveType = "NotLiveYet"

// livePause bounds how often the site is looked at: often at first, then every minute.
const livePause = time.Minute

// VerifyLive looks at production once: the page, the index, the sitemap and the feed. While waiting can
// mend what it sees and the task's deadline has not passed, it fails in a way that Temporal repeats;
// however long no worker ran, the last word is a look and never a clock.
func (s *Steps) VerifyLive(ctx context.Context, task publish.Task) (publish.Result, error) {
	defer heartbeat(ctx)()
	content, err := s.Ledger.Artifact(ctx, task.Plan.Draft)
	if err != nil {
		return publish.Result{}, err
	}
	a, err := article.Parse(task.Intent.Path, content)
	if err != nil {
		return blocked("draft_unreadable", err.Error(), ""), nil
	}
	seen, evidence, err := s.Site.Look(ctx, expected(task.Intent, a))
	if err != nil {
		return publish.Result{}, err
	}
	ok, hopeless, summary := publish.Live(seen)
	switch {
	case ok:
		return publish.Result{
			Outcome: publish.Passed, Evidence: evidence,
			Receipts: []publish.Named{{What: "live", Receipt: publish.Receipt{ID: "page, index, sitemap, feed", URL: string(task.Intent.URL)}}},
		}, nil
	case hopeless || !now().Before(task.Deadline):
		res := blocked("not_live", summary, "look at the site and its deployment; then decide retry")
		res.Evidence = evidence
		return res, nil
	}
	tries := int(activity.GetInfo(ctx).Attempt)
	return publish.Result{}, temporal.NewApplicationErrorWithOptions(fmt.Sprintf("not live yet: %s", summary), NotLiveType,
		temporal.ApplicationErrorOptions{
			NextRetryDelay: min(time.Duration(tries)*time.Second, livePause),
			Category:       temporal.ApplicationErrorCategoryBenign, // expected: not worth an error in the log
		})
}

// expected is what production should show of an article.
func expected(in publish.Intent, a article.Article) publish.Expected {
	return publish.Expected{URL: in.URL, Title: a.Title, Date: in.Date, Blocks: article.Text(a).Visible()}
}
