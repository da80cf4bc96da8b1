package mastodon

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"colophon/internal/channel"
	"colophon/publish"

	"github.com/PuerkitoBio/goquery"
)

type account struct{ ID, Acct, URL string }

type status struct {
	ID        string
	URL       string
	Content   string
	CreatedAt time.Time `json:"created_at"`
	Account   account
}

// post is the announcement of one article, with every byte fixed.
type post struct {
	*Channel
	me identity
	m  publish.Message
}

func (p post) Operation() publish.Operation { return p.m.Operation }

func (p post) Traits() publish.Traits {
	return publish.Traits{Class: publish.Reconciled, Settle: p.Policy().Settle}
}

// Apply sends the post, and does nothing after it.
func (p post) Apply(ctx context.Context, prior publish.Prior) (publish.Receipt, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.options.Server+"/api/v1/statuses", bytes.NewReader(p.m.Body))
	if err != nil {
		return publish.Receipt{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", p.key(prior))
	resp, err := p.client.Do(req)
	if err != nil {
		return publish.Receipt{}, err
	}
	if resp.StatusCode != http.StatusOK {
		return publish.Receipt{}, refused("post", resp)
	}
	var st status
	if err := channel.ReadJSON(resp, &st); err != nil {
		return publish.Receipt{}, &publish.Trouble{Kind: publish.Unknown, Condition: "unreadable_answer", Detail: "post", Status: resp.StatusCode, Err: err}
	}
	if st.ID == "" || !strings.HasPrefix(st.URL, "http") || st.Account.ID != p.me.id {
		return publish.Receipt{}, &publish.Trouble{Kind: publish.Unknown, Condition: "empty_answer", Detail: "post: the answer lacks the post's id, URL or account", Status: resp.StatusCode}
	}
	return publish.Receipt{ID: st.ID, URL: st.URL, Status: resp.StatusCode}, nil
}

// key is the Idempotency-Key: one for the operation and account, another after each definite rejection,
// since some servers remember the rejection too.
func (p post) key(prior publish.Prior) string {
	return channel.Digest(fmt.Sprintf("%s:%d", p.m.ID, prior.Rejections))
}

// Find reads the account's own posts, newest first, to the newest that was known when the message was fixed, or else
// until they are older than the first attempt by more than clocks may differ. A post is ours when it links to the
// article and either says our words or was made since.
//
// A post that somebody names is read by its id alone.
func (p post) Find(ctx context.Context, prior publish.Prior) (publish.Finding, error) {
	if prior.Receipt.ID != "" {
		return p.named(ctx, prior.Receipt.ID)
	}
	since := time.Now().Add(-24 * time.Hour)
	if !prior.First.IsZero() {
		since = prior.First
	}
	since = since.Add(-p.Policy().Margin)
	var mine []status
	var over status
	whole, err := p.own(ctx, p.me.id, func(st status) bool {
		over = st
		if known(st.ID, p.m.Newest) || p.m.Newest == "" && st.CreatedAt.Before(since) {
			return false
		}
		if p.ours(st, since) {
			mine = append(mine, st)
		}
		return true
	})
	if err != nil {
		return publish.Finding{}, err
	}
	f := p.judge(mine)
	if !whole && f.Presence == publish.Absent {
		f.Presence, f.Condition = publish.Incomplete, "history_incomplete"
		f.Detail = fmt.Sprintf("own posts were read back to %s of %s, and there are more", over.URL, over.CreatedAt.UTC().Format(time.RFC3339))
	}
	return f, nil
}

// known says that a post is not newer than the newest that is known. The ids of all makes of servers grow.
func known(id, newest string) bool {
	return newest != "" && (len(id) < len(newest) || len(id) == len(newest) && id <= newest)
}

// own reads the account's posts, newest first, until f has enough. It is not whole when the limit of pages came first.
func (c *Channel) own(ctx context.Context, id string, f func(status) bool) (whole bool, err error) {
	path := fmt.Sprintf("/api/v1/accounts/%s/statuses?limit=40&exclude_reblogs=true", url.PathEscape(id))
	for range c.Policy().Pages {
		var got []status
		var next string
		if err := c.get(ctx, path, &got, &next); err != nil {
			return false, err
		}
		for _, st := range got {
			if st.Account.ID == id && !f(st) {
				return true, nil
			}
		}
		if next == "" || len(got) == 0 {
			return true, nil
		}
		path = next
	}
	return false, nil
}

// Backlog reads what the account has posted.
func (c *Channel) Backlog(ctx context.Context) (publish.Backlog, error) {
	me, err := c.daily.Get(ctx, c.identify)
	if err != nil {
		return publish.Backlog{}, err
	}
	b := publish.Backlog{Destination: c.destination(me)}
	b.Whole, err = c.own(ctx, me.id, func(st status) bool {
		links, _ := content(st)
		b.Posts = append(b.Posts, publish.Post{Receipt: publish.Receipt{ID: st.ID, URL: st.URL}, Links: links, Created: st.CreatedAt})
		b.Reach = st.CreatedAt
		return true
	})
	return b, err
}

// named reads one post: it is ours when it is on the account and links to the article, whatever it says.
func (p post) named(ctx context.Context, id string) (publish.Finding, error) {
	var st status
	err := p.get(ctx, "/api/v1/statuses/"+url.PathEscape(id), &st, nil)
	f := publish.Finding{Presence: publish.Present, Receipt: publish.Receipt{ID: st.ID, URL: st.URL}}
	saw := "it is on the account and links to the article"
	switch {
	case publish.AsTrouble(err).Status == http.StatusNotFound:
		f.Presence, f.Receipt, saw = publish.Absent, publish.Receipt{}, "there is no such post"
	case err != nil:
		return publish.Finding{}, err
	case st.Account.ID != p.me.id || !p.ours(st, time.Time{}):
		saw = fmt.Sprintf("post %s by @%s is not an announcement of the article by @%s", id, st.Account.Acct, p.me.acct)
		f = publish.Finding{Presence: publish.Foreign, Condition: "another_post", Detail: saw}
	}
	f.Evidence = []publish.Evidence{{At: time.Now().UTC(), Look: "post " + id + " on " + p.host(), Saw: saw}}
	return f, nil
}

func (p post) ours(st status, since time.Time) bool {
	links, text := content(st)
	same := text == strings.Join(strings.Fields(p.m.Text), "")
	return slices.Contains(links, p.m.URL) && (same || !st.CreatedAt.Before(since))
}

// content reads a post's HTML: where it links to, and its text without white space.
func content(st status) (links []string, text string) {
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(st.Content))
	if err != nil {
		return nil, ""
	}
	doc.Find("a[href]").Each(func(_ int, a *goquery.Selection) { links = append(links, a.AttrOr("href", "")) })
	return links, strings.Join(strings.Fields(doc.Text()), "")
}

func (p post) judge(mine []status) publish.Finding {
	f := publish.Finding{Presence: publish.Absent}
	saw := "none of the posts since links to the article"
	switch len(mine) {
	case 0:
	case 1:
		f.Presence, f.Receipt = publish.Present, publish.Receipt{ID: mine[0].ID, URL: mine[0].URL}
		saw = "post " + mine[0].ID + " links to the article"
	default:
		f.Presence, f.Condition = publish.Several, "several_posts"
		f.Detail = fmt.Sprintf("%d posts link to the article: %s and %s", len(mine), mine[0].URL, mine[1].URL)
		saw = f.Detail
	}
	f.Evidence = []publish.Evidence{{At: time.Now().UTC(), Look: "own posts on " + p.host(), Saw: saw}}
	return f
}

// get reads one answer; next becomes where the following page is, if there is one.
func (c *Channel) get(ctx context.Context, path string, v any, next *string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.options.Server+path, nil)
	if err != nil {
		return err
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return refused("read "+strings.SplitN(path, "?", 2)[0], resp)
	}
	if next != nil {
		*next = nextPage(resp.Header.Get("Link"), c.options.Server)
	}
	return channel.ReadJSON(resp, v)
}

// nextPage finds the next page in a Link header, if it is on the same server.
func nextPage(header, server string) string {
	for _, l := range strings.Split(header, ",") {
		target, params, _ := strings.Cut(strings.TrimSpace(l), ";")
		if strings.Contains(params, `rel="next"`) {
			if path, ok := strings.CutPrefix(strings.Trim(target, "<>"), server); ok && strings.HasPrefix(path, "/") {
				return path
			}
		}
	}
	return ""
}

// refused reads an error answer and closes it.
func refused(what string, resp *http.Response) error {
	defer resp.Body.Close()
	var said struct{ Error string }
	parsed := channel.ReadJSON(resp, &said) == nil && said.Error != ""
	return channel.Refused(what, resp.StatusCode, said.Error, parsed, channel.RetryAfter(resp.Header, time.Now()))
}
