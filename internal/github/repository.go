package github

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"colophon/publish"

	gh "github.com/google/go-github/v66/github"
)

// Repository is one GitHub repository, as one token sees it.
type Repository struct {
	client *gh.Client
	host   string
	owner  string
	name   string
	method string
	gap    time.Duration

	mu       sync.Mutex
	listings map[publish.SHA]listing // by commit
}

// Options say which repository, and how it is changed.
type Options struct {
	API         string // base URL of the REST API
	Repository  string // owner/name
	MergeMethod string // merge, squash or rebase
	// Gap is the least time between two changes. GitHub asks for one change at a time, a second apart.
	// https://docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api
	Gap time.Duration
}

// New connects to repository ("owner/name") through client, which authorizes requests and guards
// mutations. Nothing is sent.
func New(client *http.Client, o Options) (*Repository, error) {
	api, repository := o.API, o.Repository
	owner, name, ok := strings.Cut(repository, "/")
	if !ok {
		return nil, fmt.Errorf("repository %q: want owner/name", repository)
	}
	base, err := url.Parse(strings.TrimSuffix(api, "/") + "/")
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("repository.api %q: want the base URL of a GitHub REST API", api)
	}
	checked := *client
	checked.Transport = whole{client.Transport}
	c := gh.NewClient(&checked)
	c.BaseURL = base
	return &Repository{client: c, host: base.Host, owner: owner, name: name, method: o.MergeMethod, gap: o.Gap, listings: map[publish.SHA]listing{}}, nil
}

// Effects are the changes of one step, in their order; the article is the draft's exact bytes. A step
// that changes nothing in the repository has none.
func (r *Repository) Effects(step publish.Step, in publish.Intent, p publish.Plan, article []byte) []publish.Effect {
	c := change{Repository: r, in: in, plan: p}
	switch step {
	case publish.Branch:
		return []publish.Effect{treeEffect{c, article}, commitEffect{c}, refEffect{c}}
	case publish.PullRequest:
		return []publish.Effect{pullEffect{c}}
	case publish.Merge:
		return []publish.Effect{mergeEffect{c}, removalEffect{c, "branch removal"}}
	case publish.Sweep:
		return []publish.Effect{removalEffect{c, "sweep"}}
	default:
		return nil
	}
}

// change is what all effects of one intent share.
type change struct {
	*Repository
	in   publish.Intent
	plan publish.Plan
}

func (c change) operation(what string) publish.Operation {
	return publish.Operation{
		What: what, Intent: c.in.Key, ContentID: c.in.ContentID(), Revision: c.in.Revision,
		Destination: fmt.Sprintf("github:%s/%s/%s#%s", c.host, c.owner, c.name, what),
		Text:        string(c.plan.Draft),
		Lane:        publish.Lane{Name: fmt.Sprintf("github:%s/%s/%s", c.host, c.owner, c.name), Gap: c.gap},
	}
}

// tip reads where a branch stands; ok is false when there is no such branch.
func (r *Repository) tip(ctx context.Context, branch string) (sha publish.SHA, ok bool, err error) {
	ref, resp, err := r.client.Git.GetRef(ctx, r.owner, r.name, "heads/"+branch)
	if missing(resp, err) {
		return "", false, nil
	}
	if err != nil {
		return "", false, read("ref "+branch, err)
	}
	sha = publish.SHA(ref.GetObject().GetSHA())
	if !sha.Valid() {
		return "", false, fmt.Errorf("read ref %s: the answer has no SHA", branch)
	}
	return sha, true, nil
}

// whole refuses reads that succeed with nothing in them: go-github takes an empty answer for an empty list.
type whole struct{ http.RoundTripper }

func (w whole) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := w.RoundTripper.RoundTrip(req)
	if err != nil || req.Method != http.MethodGet || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	body := bufio.NewReader(resp.Body)
	if _, err := body.Peek(1); err != nil {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("%s %s: the answer is empty", req.Method, req.URL.Path)
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{body, resp.Body}
	return resp, nil
}
