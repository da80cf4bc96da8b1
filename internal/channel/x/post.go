package x

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"colophon/internal/channel"
	"colophon/publish"
)

// tweet is a post as the API shows it: its links are t.co's, and what they lead to is told beside.
type tweet struct {
	ID       string
	Text     string
	AuthorID string    `json:"author_id"`
	Created  time.Time `json:"created_at"`
	Entities entities
	Note     struct { // of a long post
		Text     string
		Entities entities
	} `json:"note_tweet"`
}

type entities struct {
	URLs []struct {
		URL      string
		Expanded string `json:"expanded_url"`
	}
}

const fields = "tweet.fields=author_id,created_at,entities,note_tweet"

// content is where a post links to, and its text with the links that were written.
func (t tweet) content() (links []string, text string) {
	text, e := t.Text, t.Entities
	if t.Note.Text != "" {
		text, e = t.Note.Text, t.Note.Entities
	}
	for _, u := range e.URLs {
		links = append(links, u.Expanded)
		text = strings.ReplaceAll(text, u.URL, u.Expanded)
	}
	return links, html.UnescapeString(text)
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
func (p post) Apply(ctx context.Context, _ publish.Prior) (publish.Receipt, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.options.Server+"/2/tweets", bytes.NewReader(p.m.Body))
	if err != nil {
		return publish.Receipt{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := p.client.Do(req)
	if err != nil {
		return publish.Receipt{}, err
	}
	if resp.StatusCode != http.StatusCreated {
		return publish.Receipt{}, refused("post", resp)
	}
	var made struct{ Data struct{ ID string } }
	if err := channel.ReadJSON(resp, &made); err != nil {
		return publish.Receipt{}, &publish.Trouble{Kind: publish.Unknown, Condition: "unreadable_answer", Detail: "post", Status: resp.StatusCode, Err: err}
	}
	if made.Data.ID == "" {
		return publish.Receipt{}, &publish.Trouble{Kind: publish.Unknown, Condition: "empty_answer", Detail: "post: the answer does not name the post", Status: resp.StatusCode}
	}
	r := p.receipt(p.me, made.Data.ID)
	r.Status = resp.StatusCode
	return r, nil
}

func (c *Channel) receipt(me identity, id string) publish.Receipt {
	return publish.Receipt{ID: id, URL: "https://x.com/" + me.username + "/status/" + id}
}

// Find reads the account's own posts since the newest that was known when the message was fixed, or else until they
// are older than the first attempt by more than clocks may differ. A post is ours when it links to the article and
// either says our words or was made since.
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
	var mine []tweet
	var over tweet
	whole, err := p.own(ctx, p.me, p.m.Newest, func(t tweet) bool {
		over = t
		if p.m.Newest == "" && t.Created.Before(since) {
			return false
		}
		if p.ours(t, since) {
			mine = append(mine, t)
		}
		return true
	})
	if err != nil {
		return publish.Finding{}, err
	}
	f := publish.Finding{Presence: publish.Absent}
	saw := "none of the posts since links to the article"
	switch {
	case len(mine) == 1:
		f.Presence, f.Receipt = publish.Present, p.receipt(p.me, mine[0].ID)
		saw = "post " + mine[0].ID + " links to the article"
	case len(mine) > 1:
		f.Presence, f.Condition = publish.Several, "several_posts"
		saw = fmt.Sprintf("%d posts link to the article: %s and %s", len(mine), mine[0].ID, mine[1].ID)
		f.Detail = saw
	case !whole:
		f.Presence, f.Condition = publish.Incomplete, "history_incomplete"
		saw = fmt.Sprintf("own posts were read back to %s of %s, and there are more", over.ID, over.Created.UTC().Format(time.RFC3339))
		f.Detail = saw
	}
	f.Evidence = []publish.Evidence{{At: time.Now().UTC(), Look: "own posts of @" + p.me.username, Saw: saw}}
	return f, nil
}

func (p post) ours(t tweet, since time.Time) bool {
	links, text := t.content()
	same := strings.Join(strings.Fields(text), " ") == strings.Join(strings.Fields(p.m.Text), " ")
	return slices.Contains(links, p.m.URL) && (same || !t.Created.Before(since))
}

// own reads the account's posts after newest, newest first, until f has enough. It is not whole when the limit of
// pages came first.
func (c *Channel) own(ctx context.Context, me identity, newest string, f func(tweet) bool) (whole bool, err error) {
	query := "?max_results=100&exclude=retweets&" + fields
	if newest != "" {
		query += "&since_id=" + url.QueryEscape(newest)
	}
	next := ""
	for range c.Policy().Pages {
		var got struct {
			Data []tweet
			Meta struct {
				Next string `json:"next_token"`
			}
		}
		if err := c.get(ctx, "/2/users/"+url.PathEscape(me.id)+"/tweets"+query+next, &got); err != nil {
			return false, err
		}
		for _, t := range got.Data {
			if !f(t) {
				return true, nil
			}
		}
		if got.Meta.Next == "" {
			return true, nil
		}
		next = "&pagination_token=" + url.QueryEscape(got.Meta.Next)
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
	b.Whole, err = c.own(ctx, me, "", func(t tweet) bool {
		links, _ := t.content()
		b.Posts = append(b.Posts, publish.Post{Receipt: c.receipt(me, t.ID), Links: links, Created: t.Created})
		b.Reach = t.Created
		return true
	})
	return b, err
}

// named reads one post: it is ours when it is the account's and links to the article, whatever it says.
func (p post) named(ctx context.Context, id string) (publish.Finding, error) {
	var got struct{ Data tweet }
	var err error
	if numeric.MatchString(id) { // no post has another id
		err = p.get(ctx, "/2/tweets/"+id+"?"+fields, &got)
	}
	f, saw := publish.Finding{Presence: publish.Present, Receipt: p.receipt(p.me, id)}, "it is the account's and links to the article"
	switch status := publish.AsTrouble(err).Status; {
	case err == nil && got.Data.ID == "", err != nil && (status == http.StatusNotFound || status == http.StatusBadRequest):
		f, saw = publish.Finding{Presence: publish.Absent}, "there is no such post"
	case err != nil:
		return publish.Finding{}, err
	case got.Data.AuthorID != p.me.id || !p.ours(got.Data, time.Time{}):
		saw = fmt.Sprintf("post %s is not an announcement of the article by @%s", id, p.me.username)
		f = publish.Finding{Presence: publish.Foreign, Condition: "another_post", Detail: saw}
	}
	f.Evidence = []publish.Evidence{{At: time.Now().UTC(), Look: "post " + id, Saw: saw}}
	return f, nil
}

var numeric = regexp.MustCompile(`^[0-9]{1,19}$`)

// get reads one answer.
func (c *Channel) get(ctx context.Context, path string, v any) error {
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
	return channel.ReadJSON(resp, v)
}

// refused reads an error answer and closes it. That the text is a duplicate may be our own doing.
func refused(what string, resp *http.Response) error {
	defer resp.Body.Close()
	var said struct{ Title, Detail string }
	parsed := channel.ReadJSON(resp, &said) == nil && said.Title+said.Detail != ""
	t := channel.Refused(what, resp.StatusCode, strings.Trim(said.Title+": "+said.Detail, ": "), parsed, channel.RetryAfter(resp.Header, time.Now()))
	if resp.StatusCode == http.StatusForbidden && strings.Contains(strings.ToLower(said.Detail), "duplicate") {
		t.Kind, t.Condition = publish.Unknown, "duplicate_text"
	}
	return t
}
