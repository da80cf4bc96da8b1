// Package sandbox is a small world to publish into: a GitHub over a real Git repository, the web site made
// of it, and a server for each kind of channel, each on its own loopback port, each with faults to
// order, and an audit that counts what really happened.
//
// It imports nothing of Colophon's, so that it cannot share its bugs.
package sandbox

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"time"

	"colophon/internal/sandbox/channels/bluesky"
	"colophon/internal/sandbox/channels/devto"
	"colophon/internal/sandbox/channels/indexnow"
	"colophon/internal/sandbox/channels/mastodon"
	"colophon/internal/sandbox/channels/x"
	"colophon/internal/sandbox/fault"
	"colophon/internal/sandbox/github"
	"colophon/internal/sandbox/site"
)

// The world's names and made-up credentials.
const (
	Owner         = "example"
	Repo          = "blog"
	GitHubToken   = "sandbox-github-token"
	MastodonToken = "sandbox-mastodon-token"
	Account       = "press"
	IndexNowKey   = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"

	BlueskyHandle   = "press.test"
	BlueskyPassword = "sandbox-bluesky-password"
	DevToKey        = "sandbox-devto-key"
	XConsumerKey    = "sandbox-x-consumer-key"
	XConsumerSecret = "sandbox-x-consumer-secret"
	XAccessToken    = "sandbox-x-access-token"
	XAccessSecret   = "sandbox-x-access-secret"
)

// Secrets are all of the world's credentials.
var Secrets = []string{GitHubToken, MastodonToken, IndexNowKey, BlueskyPassword, DevToKey, XConsumerKey, XConsumerSecret, XAccessToken, XAccessSecret}

// Options adjust the world.
type Options struct {
	Dir               string            // of the bare repository; in memory if empty
	Title             string            // of the site
	Seed              map[string]string // files of the first commit
	SiteDelay         time.Duration     // from a merge to the article being live
	MergeabilityDelay int               // reads until a pull request's mergeability is known
	Mastodon          mastodon.Options
	Name              fault.Name // of the servers that are changed; the site is reached by its address
}

// World is a running world.
type World struct {
	GitHub   *github.Server
	Site     *site.Site
	Bluesky  *bluesky.Server
	DevTo    *devto.Server
	IndexNow *indexnow.Server
	Mastodon *mastodon.Server
	X        *x.Server

	// What goes wrong, by server.
	GitHubFaults, SiteFaults, BlueskyFaults, DevToFaults, IndexNowFaults, MastodonFaults, XFaults *fault.Layer
	// Where they listen.
	GitHubPort, SitePort, BlueskyPort, DevToPort, IndexNowPort, MastodonPort, XPort, AuditPort *fault.Port
}

// Start starts a world.
func Start(o Options) (*World, error) {
	if o.Title == "" {
		o.Title = "The Example"
	}
	if o.Seed == nil {
		o.Seed = map[string]string{"README.md": "# " + o.Title + "\n"}
	}
	o.Mastodon.Account, o.Mastodon.Token = Account, MastodonToken
	w := &World{
		Site:     site.New(site.Options{Title: o.Title, Delay: o.SiteDelay, KeyFiles: map[string]string{IndexNowKey + ".txt": IndexNowKey}}),
		Mastodon: mastodon.New(o.Mastodon), IndexNow: indexnow.New(),
		Bluesky: bluesky.New(bluesky.Options{Handle: BlueskyHandle, Password: BlueskyPassword, Now: o.Mastodon.Now}),
		DevTo:   devto.New(devto.Options{Username: Account, Key: DevToKey, Now: o.Mastodon.Now}),
		X: x.New(x.Options{
			Username: Account, ConsumerKey: XConsumerKey, ConsumerSecret: XConsumerSecret, AccessToken: XAccessToken, AccessSecret: XAccessSecret, Now: o.Mastodon.Now,
		}),
	}
	var err error
	w.GitHub, err = github.New(github.Options{
		Dir: o.Dir, Owner: Owner, Repo: Repo, Token: GitHubToken, Seed: o.Seed, MergeabilityDelay: o.MergeabilityDelay,
		OnBaseMoved: func(string) { w.deploy() },
	})
	if err != nil {
		return nil, err
	}
	w.deploy()
	for _, s := range []struct {
		handler http.Handler
		layer   **fault.Layer
		port    **fault.Port
	}{
		{w.GitHub, &w.GitHubFaults, &w.GitHubPort},
		{w.Site, &w.SiteFaults, &w.SitePort},
		{w.Bluesky, &w.BlueskyFaults, &w.BlueskyPort},
		{w.DevTo, &w.DevToFaults, &w.DevToPort},
		{w.IndexNow, &w.IndexNowFaults, &w.IndexNowPort},
		{w.Mastodon, &w.MastodonFaults, &w.MastodonPort},
		{w.X, &w.XFaults, &w.XPort},
	} {
		*s.layer = fault.New(s.handler)
		name := o.Name
		if s.handler == http.Handler(w.Site) {
			name = fault.Name{}
		}
		if *s.port, err = fault.ListenAs(name, *s.layer); err != nil {
			w.Close()
			return nil, fmt.Errorf("sandbox: %w", err)
		}
	}
	if w.AuditPort, err = fault.Listen(w.audit()); err != nil {
		w.Close()
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	return w, nil
}

func (w *World) deploy() {
	if _, files, err := w.GitHub.Tree("main"); err == nil {
		w.Site.Deploy(files)
	}
}

// Close ends every server of the world.
func (w *World) Close() {
	for _, p := range []*fault.Port{w.GitHubPort, w.SitePort, w.BlueskyPort, w.DevToPort, w.IndexNowPort, w.MastodonPort, w.XPort, w.AuditPort} {
		if p != nil {
			p.Close()
		}
	}
}

// Layers are the faults, by the server's name.
func (w *World) Layers() map[string]*fault.Layer {
	return map[string]*fault.Layer{
		"github": w.GitHubFaults, "site": w.SiteFaults, "bluesky": w.BlueskyFaults, "devto": w.DevToFaults, "indexnow": w.IndexNowFaults,
		"mastodon": w.MastodonFaults, "x": w.XFaults,
	}
}

// Ports are where the servers listen, by their names.
func (w *World) Ports() map[string]*fault.Port {
	return map[string]*fault.Port{
		"github": w.GitHubPort, "site": w.SitePort, "bluesky": w.BlueskyPort, "devto": w.DevToPort, "indexnow": w.IndexNowPort,
		"mastodon": w.MastodonPort, "x": w.XPort,
	}
}

// audit serves the counts, as JSON and as a page, and takes orders for faults.
func (w *World) audit() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /audit", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(w.Audit())
	})
	mux.HandleFunc("GET /{$}", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = auditPage.Execute(rw, map[string]any{"Audit": w.Audit(), "World": w, "Account": Account})
	})
	for name, layer := range w.Layers() {
		mux.Handle("/faults/"+name, layer.Admin())
	}
	return mux
}

var auditPage = template.Must(template.New("audit").Parse(`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>Sandbox</title>
<style>body{font:16px/1.6 system-ui;color-scheme:light dark;max-width:44rem;margin:2rem auto;padding:0 1rem}td{padding:.2rem 1.2rem .2rem 0}b{font-variant-numeric:tabular-nums}</style>
<h1>What really happened</h1>{{with .Audit}}<table>
<tr><td>Articles in the repository</td><td><b>{{.Articles}}</b></td></tr><tr><td>live on page, index, sitemap and feed</td><td><b>{{.Published}}</b></td></tr>
<tr><td>Pull requests opened</td><td><b>{{.PullRequests}}</b></td></tr><tr><td>merged</td><td><b>{{.Merges}}</b></td></tr>
<tr><td>Announcements</td><td><b>{{.Deliveries}}</b></td></tr><tr><td>Duplicates of anything</td><td><b>{{.Duplicates}}</b></td></tr></table>
<h2>Pull requests</h2><ul>{{range .Pulls}}<li><a href="{{$.World.GitHubPort.URL}}/example/blog/pull/{{.Number}}">#{{.Number}} {{.Head}}</a>, {{if .Merged}}merged{{else}}{{.State}}{{end}}</li>{{end}}</ul>{{end}}
<p><a href="{{.World.SitePort.URL}}/">the site</a> · <a href="{{.World.MastodonPort.URL}}/@{{.Account}}">the Mastodon account</a> · <a href="/audit">as JSON</a></p></html>`))
