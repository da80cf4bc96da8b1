package sandbox

import (
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"colophon/internal/sandbox/github"
)

// Audit counts what really happened, from the servers' own state.
type Audit struct {
	Articles     int `json:"articles"`      // files of articles on the base branch
	Published    int `json:"published"`     // of them, live and listed exactly once on index, sitemap and feed
	Commits      int `json:"commits"`       // on the base branch after the first, merges apart
	PullRequests int `json:"pull_requests"` // that were ever opened
	OpenPulls    int `json:"open_pull_requests"`
	Merges       int `json:"merges"`
	Branches     int `json:"branches"` // besides the base
	Posts        int `json:"posts"`    // on all channels
	Pings        int `json:"pings"`    // URLs announced by IndexNow
	Deliveries   int `json:"deliveries"`
	// Duplicates is how much there is too much of anything: pull requests for one branch, merges of one
	// article, posts and pings for one URL, listings of one URL.
	Duplicates int           `json:"duplicates"`
	Repeated   int           `json:"repeated_pings"` // of the duplicates, pings, which may come twice
	Mutations  int           `json:"github_mutations"`
	Reads      int           `json:"github_reads"`
	Pulls      []github.Pull `json:"pulls"`
}

// Audit takes stock.
func (w *World) Audit() Audit {
	counts := w.GitHub.Counts()
	plain, _ := w.GitHub.History()
	a := Audit{
		Commits: len(plain), PullRequests: counts.PullRequests, Merges: counts.Merges, Branches: len(w.GitHub.Branches()),
		Mutations: counts.Arrived, Reads: counts.Reads, Pulls: w.GitHub.Pulls(),
	}
	if _, files, err := w.GitHub.Tree("main"); err == nil {
		for name := range files {
			if strings.HasPrefix(name, "posts/") {
				a.Articles++
			}
		}
	}
	extra, pings := tally{}, tally{}
	for _, p := range a.Pulls {
		extra.add("pull " + p.Head)
		if p.State == "open" {
			a.OpenPulls++
		}
	}
	for channel, links := range w.Posted() {
		for _, l := range links {
			a.Posts++
			extra.add("post " + channel + " " + l)
		}
	}
	for _, p := range w.IndexNow.Pings() {
		a.Pings++
		pings.add(p.URL)
	}
	a.Repeated = pings.surplus()
	a.Deliveries = a.Posts + a.Pings
	a.Duplicates = extra.surplus() + a.Repeated + max(0, a.Merges-a.Articles) + w.listings(&a)
	return a
}

// Announcement is what stands on a channel: a post, or a ping.
type Announcement struct{ ID, URL string }

// Announced lists what stands on each channel, oldest first, with the URL that it is about.
func (w *World) Announced() map[string][]Announcement {
	out := map[string][]Announcement{}
	add := func(channel, id, url string) { out[channel] = append(out[channel], Announcement{id, url}) }
	for _, st := range w.Mastodon.Statuses() {
		add("mastodon", st.ID, anyURL.FindString(st.Text))
	}
	for _, r := range w.Bluesky.Records() {
		add("bluesky", r.Key, r.Link)
	}
	for _, art := range w.DevTo.Articles() {
		add("devto", strconv.FormatInt(art.ID, 10), art.Canonical)
	}
	for _, p := range w.X.Posts() {
		add("x", p.ID, anyURL.FindString(p.Text))
	}
	for _, p := range w.IndexNow.Pings() {
		add("indexnow", "", p.URL)
	}
	return out
}

// Posted lists what stands on each channel that is posted to, oldest first: the URL that each post is about.
func (w *World) Posted() map[string][]string {
	out := map[string][]string{}
	for channel, all := range w.Announced() {
		for _, one := range all {
			if one.ID != "" {
				out[channel] = append(out[channel], one.URL)
			}
		}
	}
	return out
}

var anyURL = regexp.MustCompile(`https?://\S+`)

// listings reads the site as the public does, and counts what is listed more than once.
func (w *World) listings(a *Audit) (surplus int) {
	surfaces := []string{get(w.SitePort.URL() + "/"), get(w.SitePort.URL() + "/sitemap.xml"), get(w.SitePort.URL() + "/feed.xml")}
	marks := []string{`href="/posts/%/"`, `/posts/%/</loc>`, `/posts/%/</link>`}
	live := tally{}
	for _, slug := range w.Site.Slugs() {
		live.add(slug)
	}
	for slug := range live {
		once := true
		for n, body := range surfaces {
			count := strings.Count(body, strings.ReplaceAll(marks[n], "%", slug))
			surplus += max(0, count-1)
			once = once && count == 1
		}
		if once && get(w.SitePort.URL()+"/posts/"+slug+"/") != "" {
			a.Published++
		}
	}
	return surplus
}

func get(url string) string {
	resp, err := http.Get(url)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return ""
	}
	return string(body)
}

// tally counts things by name.
type tally map[string]int

func (t tally) add(name string) { t[name]++ }

// surplus is how many things there are beyond one of each.
func (t tally) surplus() int {
	n := 0
	for _, count := range t {
		n += count - 1
	}
	return n
}
