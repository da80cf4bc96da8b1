package main

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"strings"
	"time"

	"colophon/internal/calendar"
	"colophon/internal/ledger"
	"colophon/internal/site"
	"colophon/internal/wire"
	"colophon/publish"
)

type auditCmd struct {
	Accept bool `help:"Let the articles be that are live and were announced nowhere: they are not told again."`
}

// Help is shown by audit --help.
func (auditCmd) Help() string {
	return `Reads the live site's sitemap, feed and index, and compares them with the ledger and the calendar:

  never_announced     live, and announced nowhere, or not on a channel it should be on
  announced_not_live  published, and not in the sitemap any more
  listed_twice        in one surface, as itself or as a variant of its URL
  overdue             its day has begun, and it is not published
  unreadable          a surface that could not be read, or not whole

Exit code 1 says that there are findings. Nothing is changed, and nothing is asked for but the site, the ledger and the
calendar. On a site that had articles before Colophon came, look at them once, and accept them:

  starter audit
  starter audit --accept`
}

// audited is the answer.
type audited struct {
	Live     int                    `json:"live"` // articles that the site lists
	Findings []publish.AuditFinding `json:"findings"`
	Accepted int                    `json:"accepted,omitempty"` // findings that are let be from now on
}

func (c auditCmd) Run(ctx context.Context, g *globals) error {
	return g.withLedger(ctx, func(l *ledger.Ledger, _ string) error {
		d, err := open(ctx, g)
		if err != nil {
			return err
		}
		facts, err := d.facts(ctx, l)
		if err != nil {
			return err
		}
		a := audited{Findings: []publish.AuditFinding{}}
		var all []publish.AuditFinding
		a.Live, all = publish.Audit(facts)
		var accept []string
		for _, f := range all {
			if c.Accept && f.Kind == publish.Silent && f.Key == "" {
				accept = append(accept, f.URL)
				continue
			}
			a.Findings = append(a.Findings, f)
		}
		if a.Accepted = len(accept); a.Accepted > 0 {
			if err := l.Accept(ctx, whoami(), accept); err != nil {
				return err
			}
		}
		if err := g.answer(a, a.text()); err != nil {
			return err
		}
		if n := len(a.Findings); n > 0 {
			return silent{fmt.Errorf("%d findings", n)}
		}
		return nil
	})
}

// facts gathers what is compared.
func (d *desk) facts(ctx context.Context, l *ledger.Ledger) (f publish.AuditFacts, err error) {
	cal, err := calendar.Read(d.cfg.Calendar)
	if err != nil {
		return f, wrong(err)
	}
	for _, e := range cal.Entries {
		in, err := d.cfg.Intent(e)
		if err != nil {
			return f, wrong(err)
		}
		f.Calendar = append(f.Calendar, in)
	}
	s := site.New(wire.New(wire.Options{MaxBody: 64 << 20}), site.Options{Index: d.cfg.Site.Index, Sitemap: d.cfg.Site.Sitemap, Feed: d.cfg.Site.Feed})
	f.IsArticle, f.Now = d.cfg.IsArticle, time.Now()
	var errs [4]error
	f.Surfaces, errs[0] = s.Listings(ctx)
	f.Published, errs[1] = l.Publications(ctx)
	f.Backlog, errs[2] = l.Backlog(ctx)
	f.Accepted, errs[3] = l.Accepted(ctx)
	return f, errors.Join(errs[:]...)
}

func whoami() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "unknown"
}

func (a audited) text() string {
	var b strings.Builder
	for _, f := range a.Findings {
		what := f.URL
		if f.Key != "" {
			what = string(f.Key) + " " + what
		}
		if f.Channel != "" {
			what += " on " + f.Channel
		}
		fmt.Fprintf(&b, "%-18s %s\n%-18s %s\n%-18s → %s\n", f.Kind, what, "", f.Detail, "", f.Next)
	}
	fmt.Fprintf(&b, "%d articles are live, %d findings", a.Live, len(a.Findings))
	if a.Accepted > 0 {
		fmt.Fprintf(&b, ", %d articles are let be from now on", a.Accepted)
	}
	return b.String()
}
