package bluesky

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"colophon/publish"
)

// post is the announcement of one article, with every byte and its record's key fixed.
type post struct {
	*Channel
	me identity
	m  publish.Message
}

func (p post) Operation() publish.Operation { return p.m.Operation }

func (p post) Traits() publish.Traits {
	return publish.Traits{Class: publish.Reconciled, Settle: p.Policy().Settle}
}

// Apply puts the record where none is, and does nothing after it.
func (p post) Apply(ctx context.Context, _ publish.Prior) (publish.Receipt, error) {
	s, err := p.signedIn(ctx)
	if err != nil {
		return publish.Receipt{}, err
	}
	var made struct{ URI, CID string }
	err = p.call(ctx, http.MethodPost, "com.atproto.repo.putRecord", nil, p.m.Body, s.Access, &made)
	if err != nil {
		if publish.AsTrouble(err).Condition == "session_expired" {
			p.expired(s.Access)
		}
		return publish.Receipt{}, err
	}
	if made.URI != p.uri(p.m.ID) || made.CID == "" {
		return publish.Receipt{}, &publish.Trouble{Kind: publish.Unknown, Condition: "empty_answer", Detail: "post: the answer does not name the record", Status: http.StatusOK}
	}
	return p.receipt(p.m.ID, http.StatusOK), nil
}

func (p post) uri(key string) string { return "at://" + p.me.did + "/" + Collection + "/" + key }

func (p post) receipt(key string, status int) publish.Receipt {
	return publish.Receipt{ID: key, URL: web(p.me.did, key), Status: status}
}

// web is where a person sees a post.
func web(did, key string) string { return "https://bsky.app/profile/" + did + "/post/" + key }

// Find reads the one record: by the key that was chosen, or by the one that somebody names.
func (p post) Find(ctx context.Context, prior publish.Prior) (publish.Finding, error) {
	key := p.m.ID
	if prior.Receipt.ID != "" {
		key = prior.Receipt.ID
	}
	var got struct{ Value record }
	err := p.read(ctx, "com.atproto.repo.getRecord", url.Values{"repo": {p.me.did}, "collection": {Collection}, "rkey": {key}}, &got)
	f := publish.Finding{Presence: publish.Present, Receipt: p.receipt(key, 0)}
	saw := "the record links to the article"
	switch {
	case missing(err):
		f, saw = publish.Finding{Presence: publish.Absent}, "there is no such record"
	case err != nil:
		return publish.Finding{}, err
	case !slices.Contains(got.Value.links(), p.m.URL):
		saw = fmt.Sprintf("record %s of @%s does not link to the article", key, p.me.handle)
		f = publish.Finding{Presence: publish.Foreign, Condition: "another_post", Detail: saw}
	case got.Value.Text != p.m.Text:
		saw += ", in other words"
	}
	f.Evidence = []publish.Evidence{{At: time.Now().UTC(), Look: "record " + key + " of @" + p.me.handle, Saw: saw}}
	return f, nil
}

// missing says that a record is not there. A key that could be none is not there either.
func missing(err error) bool {
	t := publish.AsTrouble(err)
	return err != nil && (t.Condition == "no_record" || t.Kind == publish.Rejected && t.Status == http.StatusBadRequest)
}

const perPage = 100

// Backlog reads what the account has posted.
func (c *Channel) Backlog(ctx context.Context) (publish.Backlog, error) {
	me, err := c.daily.Get(ctx, c.identify)
	if err != nil {
		return publish.Backlog{}, err
	}
	b := publish.Backlog{Destination: c.destination(me)}
	query := url.Values{"repo": {me.did}, "collection": {Collection}, "limit": {strconv.Itoa(perPage)}}
	for range c.Policy().Pages {
		var page struct {
			Cursor  string
			Records []struct {
				URI   string
				Value record
			}
		}
		if err := c.read(ctx, "com.atproto.repo.listRecords", query, &page); err != nil {
			return publish.Backlog{}, err
		}
		for _, r := range page.Records {
			key := r.URI[strings.LastIndex(r.URI, "/")+1:]
			created, _ := time.Parse(time.RFC3339, r.Value.Created) // zero, where an author wrote none
			b.Posts = append(b.Posts, publish.Post{Receipt: publish.Receipt{ID: key, URL: web(me.did, key)}, Links: r.Value.links(), Created: created})
			b.Reach = created
		}
		if page.Cursor == "" || len(page.Records) < perPage {
			b.Whole = true
			break
		}
		query.Set("cursor", page.Cursor)
	}
	return b, nil
}
