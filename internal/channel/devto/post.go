package devto

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"colophon/internal/channel"
	"colophon/publish"
)

// shown is an article as the server shows it.
type shown struct {
	ID           int64
	Title        string
	URL          string
	CanonicalURL string `json:"canonical_url"`
	Body         string `json:"body_markdown"`
	Published    *bool  // told of own articles
	PublishedAt  string `json:"published_at"`
	User         struct {
		ID int64 `json:"user_id"`
	}
}

func (s shown) at() time.Time {
	t, _ := time.Parse(time.RFC3339, s.PublishedAt) // zero, for a draft
	return t
}

func (s shown) receipt() publish.Receipt {
	return publish.Receipt{ID: strconv.FormatInt(s.ID, 10), URL: s.URL}
}

// post is the announcement of one article, or its correction, with every byte fixed.
type post struct {
	*Channel
	me identity
	m  publish.Message
}

func (p post) Operation() publish.Operation { return p.m.Operation }

func (p post) Traits() publish.Traits {
	return publish.Traits{Class: publish.Reconciled, Settle: p.Policy().Settle}
}

// Apply makes the article, or updates the one that it replaces, and does nothing after it.
func (p post) Apply(ctx context.Context, _ publish.Prior) (publish.Receipt, error) {
	method, path, want := http.MethodPost, "/api/articles", http.StatusCreated
	if p.m.Replaces != "" {
		method, path, want = http.MethodPut, "/api/articles/"+url.PathEscape(p.m.Replaces), http.StatusOK
	}
	var made shown
	status, err := p.call(ctx, method, path, p.m.Body, &made, want)
	if err != nil {
		return publish.Receipt{}, err
	}
	if made.ID == 0 || !strings.HasPrefix(made.URL, "http") || p.m.Replaces != "" && made.receipt().ID != p.m.Replaces {
		return publish.Receipt{}, &publish.Trouble{Kind: publish.Unknown, Condition: "empty_answer", Detail: "post: the answer does not name the article", Status: status}
	}
	r := made.receipt()
	r.Status = status
	return r, nil
}

// canonicalTaken is the condition of an article whose canonical URL another has.
const canonicalTaken publish.Condition = "canonical_url_taken"

// Find reads the account's own articles, newest first, to the newest that was known when the message was fixed. An
// article is ours when its canonical URL is; no two that are published have the same.
func (p post) Find(ctx context.Context, prior publish.Prior) (publish.Finding, error) {
	if prior.Receipt.ID != "" {
		return p.named(ctx, prior.Receipt.ID)
	}
	var found *shown
	draft, over := int64(0), shown{}
	whole, err := p.own(ctx, "all", func(s shown) bool {
		over = s
		public := s.Published == nil || *s.Published
		switch {
		case s.CanonicalURL != p.m.URL:
		case public:
			found = &s
			return false
		default:
			draft = s.ID
		}
		return p.m.Replaces != "" || !public || !p.known(s)
	})
	if err != nil {
		return publish.Finding{}, err
	}
	f := publish.Finding{Presence: publish.Absent}
	saw := "none of the articles has the canonical URL"
	switch {
	case found != nil:
		f, saw = p.judge(*found)
	case draft != 0:
		f.Presence, f.Condition = publish.Foreign, "orphan_draft"
		saw = fmt.Sprintf("a draft with the canonical URL was left behind, article %d: delete it, or publish it and confirm with its number", draft)
	case !whole:
		f.Presence, f.Condition = publish.Incomplete, "history_incomplete"
		saw = fmt.Sprintf("own articles were read back to %s of %s, and there are more", over.URL, over.PublishedAt)
	case prior.Condition == canonicalTaken:
		f.Presence, f.Condition = publish.Foreign, "canonical_url_of_another"
		saw = "the canonical URL is taken, and not by an article of @" + p.me.username
	case p.m.Replaces != "":
		f.Presence, f.Condition = publish.Foreign, "article_gone"
		saw = "the article that was to be updated, " + p.m.Replaces + ", is gone; what its owner took away is not brought back"
	}
	if f.Presence != publish.Present && f.Presence != publish.Absent {
		f.Detail = saw
	}
	f.Evidence = []publish.Evidence{{At: time.Now().UTC(), Look: "own articles on " + p.host(), Saw: saw}}
	return f, nil
}

// judge says whether the article that has the canonical URL is as the message has it.
func (p post) judge(s shown) (publish.Finding, string) {
	f := publish.Finding{Presence: publish.Present, Receipt: s.receipt()}
	saw := fmt.Sprintf("article %d has the canonical URL", s.ID)
	if p.m.Replaces != "" && strings.TrimSpace(s.Body) != strings.TrimSpace(p.m.Text) {
		return publish.Finding{Presence: publish.Absent}, saw + ", and says what it said before"
	}
	return f, saw
}

// known says that an article is not newer than the newest that is known: by its number, and by when it was published,
// for a draft may lie for long.
func (p post) known(s shown) bool {
	newest, err := strconv.ParseInt(p.m.Newest, 10, 64)
	return err == nil && s.ID <= newest && !s.at().After(p.m.Made)
}

const perPage = 100

// own reads the account's articles, newest first, until f has enough. It is not whole when the limit of pages came first.
func (c *Channel) own(ctx context.Context, which string, f func(shown) bool) (whole bool, err error) {
	for page := range c.Policy().Pages {
		var got []shown
		if _, err := c.call(ctx, http.MethodGet, fmt.Sprintf("/api/articles/me/%s?page=%d&per_page=%d", which, page+1, perPage), nil, &got, http.StatusOK); err != nil {
			return false, err
		}
		for _, s := range got {
			if !f(s) {
				return true, nil
			}
		}
		if len(got) < perPage {
			return true, nil
		}
	}
	return false, nil
}

// Backlog reads what the account has published.
func (c *Channel) Backlog(ctx context.Context) (publish.Backlog, error) {
	me, err := c.daily.Get(ctx, c.identify)
	if err != nil {
		return publish.Backlog{}, err
	}
	b := publish.Backlog{Destination: c.destination(me)}
	b.Whole, err = c.own(ctx, "published", func(s shown) bool {
		b.Posts = append(b.Posts, publish.Post{Receipt: s.receipt(), Links: []string{s.CanonicalURL, s.URL}, Created: s.at()})
		b.Reach = s.at()
		return true
	})
	return b, err
}

// named reads one article: it is ours when it is the account's and has the canonical URL.
func (p post) named(ctx context.Context, id string) (publish.Finding, error) {
	var s shown
	_, err := p.call(ctx, http.MethodGet, "/api/articles/"+url.PathEscape(id), nil, &s, http.StatusOK)
	f, saw := publish.Finding{Presence: publish.Present, Receipt: s.receipt()}, "it is the account's and has the canonical URL"
	switch {
	case publish.AsTrouble(err).Status == http.StatusNotFound:
		f, saw = publish.Finding{Presence: publish.Absent}, "there is no such article"
	case err != nil:
		return publish.Finding{}, err
	case strconv.FormatInt(s.User.ID, 10) != p.me.id || s.CanonicalURL != p.m.URL:
		saw = fmt.Sprintf("article %s is not @%s's with the canonical URL %s", id, p.me.username, p.m.URL)
		f = publish.Finding{Presence: publish.Foreign, Condition: "another_post", Detail: saw}
	}
	f.Evidence = []publish.Evidence{{At: time.Now().UTC(), Look: "article " + id + " on " + p.host(), Saw: saw}}
	return f, nil
}

// call makes one request and reads its answer.
func (c *Channel) call(ctx context.Context, method, path string, body []byte, v any, want int) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, method, c.options.Server+path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Accept", "application/vnd.forem.api-v1+json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return 0, err
	}
	what := method + " " + strings.SplitN(path, "?", 2)[0]
	if resp.StatusCode != want {
		return resp.StatusCode, refused(what, resp)
	}
	if err := channel.ReadJSON(resp, v); err != nil {
		return want, &publish.Trouble{Kind: publish.Unknown, Condition: "unreadable_answer", Detail: what, Status: want, Err: err}
	}
	return want, nil
}

// refused reads an error answer and closes it. That something is there already may be our own doing.
func refused(what string, resp *http.Response) error {
	defer resp.Body.Close()
	var said struct{ Error string }
	parsed := channel.ReadJSON(resp, &said) == nil && said.Error != ""
	t := channel.Refused(what, resp.StatusCode, said.Error, parsed, channel.RetryAfter(resp.Header, time.Now()))
	if resp.StatusCode == http.StatusUnprocessableEntity {
		switch said := strings.ToLower(said.Error); {
		case strings.Contains(said, "canonical") && strings.Contains(said, "taken"):
			t.Kind, t.Condition = publish.Unknown, canonicalTaken
		case strings.Contains(said, "already"):
			t.Kind, t.Condition = publish.Unknown, "title_used_lately"
		}
	}
	return t
}
