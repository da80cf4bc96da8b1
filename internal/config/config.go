// Package config reads colophon.yaml. Secrets are named in it, never written in it.
package config

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"colophon/internal/calendar"
	"colophon/internal/strictyaml"
	"colophon/publish"
)

// Config is a configuration that can be worked with.
type Config struct {
	Site       Site               `yaml:"site"`
	Repository Repository         `yaml:"repository"`
	Calendar   string             `yaml:"calendar"`   // a path; relative ones start at the configuration's folder
	Ledger     string             `yaml:"ledger"`     // likewise
	TaskQueue  string             `yaml:"task_queue"` // "colophon" unless set
	Channels   map[string]Channel `yaml:"channels"`
	Policy     Policy             `yaml:"policy"`
}

// Site says where articles are served and listed. Article is a template with {slug}, {year}, {month} and
// {day}.
type Site struct {
	Title   string `yaml:"title"`
	Article string `yaml:"article"`
	Index   string `yaml:"index"`
	Sitemap string `yaml:"sitemap"`
	Feed    string `yaml:"feed"`
}

// Repository says where articles are kept. Path is a template as Site.Article is.
type Repository struct {
	Name        string `yaml:"name"`
	Base        string `yaml:"base"`
	Path        string `yaml:"path"`
	API         string `yaml:"api"`
	Token       Secret `yaml:"token"`
	MergeMethod string `yaml:"merge_method"`
	Author      struct {
		Name  string `yaml:"name"`
		Email string `yaml:"email"`
	} `yaml:"author"`
}

// Channel configures one channel; which fields it takes depends on its kind.
type Channel struct {
	Kind string `yaml:"kind"`

	// Mastodon.
	Server     string `yaml:"server"`
	Account    string `yaml:"account"`
	Token      Secret `yaml:"token"`
	Visibility string `yaml:"visibility"`
	Language   string `yaml:"language"`
	Template   string `yaml:"template"`

	// IndexNow.
	Endpoint    string `yaml:"endpoint"`
	Key         Secret `yaml:"key"`
	KeyLocation string `yaml:"key_location"`
}

// Policy is publish.Policy as it is written.
type Policy struct {
	QuietPeriod  time.Duration `yaml:"quiet_period"`
	LookGap      time.Duration `yaml:"look_gap"`
	Budget       int           `yaml:"budget"`
	LiveDeadline time.Duration `yaml:"live_deadline"`
	Patience     time.Duration `yaml:"patience"`
}

// Load reads the configuration's file. Every fault is told at once, with its line.
func Load(path string) (*Config, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w; write one (examples/colophon.yaml is a start) or name it with --config", err)
	}
	return Parse(path, source)
}

// Parse reads a configuration.
func Parse(path string, source []byte) (*Config, error) {
	d := publish.DefaultPolicy()
	c := &Config{TaskQueue: "colophon", Ledger: "colophon.db", Calendar: "calendar.yaml"}
	c.Repository.Base, c.Repository.API, c.Repository.MergeMethod = "main", "https://api.github.com/", "merge"
	c.Policy = Policy(d)
	doc, err := strictyaml.Decode(path, source, c)
	if err != nil {
		return nil, err
	}
	c.check(doc)
	if err := doc.Err(); err != nil {
		return nil, err
	}
	for _, p := range []*string{&c.Calendar, &c.Ledger} {
		if !filepath.IsAbs(*p) {
			*p = filepath.Join(filepath.Dir(path), *p)
		}
	}
	return c, nil
}

func (c *Config) check(doc *strictyaml.Document) {
	r := c.Repository
	need := func(path, value, what string) {
		if strings.TrimSpace(value) == "" {
			doc.Wrong(path, "is missing; want %s", what)
		}
	}
	need("$.site.title", c.Site.Title, "the site's name")
	need("$.repository.author.name", r.Author.Name, "whom commits are by")
	need("$.repository.author.email", r.Author.Email, "whom commits are by")
	if strings.ContainsAny(r.Author.Name+r.Author.Email, "<>\n") {
		doc.Wrong("$.repository.author", "want a name and an address without < and >")
	}
	for path, u := range map[string]string{"$.site.index": c.Site.Index, "$.site.sitemap": c.Site.Sitemap, "$.site.feed": c.Site.Feed} {
		checkURL(doc, path, u)
	}
	checkURL(doc, "$.site.article", c.Site.Article)
	checkURL(doc, "$.repository.api", r.API)
	for path, t := range map[string]string{"$.site.article": c.Site.Article, "$.repository.path": r.Path} {
		if !strings.Contains(t, "{slug}") {
			doc.Wrong(path, "%q has no {slug}", t)
		}
	}
	sample := c.intent(calendar.Entry{Key: "c:2026-10-04:e", Date: "2026-10-04", Topic: "t", Slug: "s", Revision: 1})
	if err := sample.Check(); err != nil {
		doc.Wrong("$.repository", "%v", err)
	}
	if !slices.Contains([]string{"merge", "squash"}, r.MergeMethod) {
		doc.Wrong("$.repository.merge_method", "%q: want merge or squash", r.MergeMethod)
	}
	r.Token.check(doc, "$.repository.token")
	p := c.Policy
	if p.QuietPeriod <= 0 || p.LookGap <= 0 || p.LiveDeadline <= 0 || p.Patience <= 0 || p.Budget < 1 || p.Budget > 10 {
		doc.Wrong("$.policy", "durations must be more than 0, budget from 1 to 10")
	}
	c.checkChannels(doc)
}

func (c *Config) checkChannels(doc *strictyaml.Document) {
	accounts := map[string]string{}
	for _, name := range c.ChannelNames() {
		ch, at := c.Channels[name], "$.channels."+name
		account := ""
		switch ch.Kind {
		case "mastodon":
			checkURL(doc, at+".server", ch.Server)
			ch.Token.check(doc, at+".token")
			if ch.Account == "" {
				doc.Wrong(at+".account", "is missing; want the account that the token belongs to")
			}
			account = strings.ToLower(ch.Server + " " + ch.Account)
		case "indexnow":
			checkURL(doc, at+".endpoint", ch.Endpoint)
			checkURL(doc, at+".key_location", ch.KeyLocation)
			ch.Key.check(doc, at+".key")
			account = ch.Endpoint
		default:
			doc.Wrong(at+".kind", "%q: want mastodon or indexnow", ch.Kind)
		}
		if other := accounts[account]; other != "" {
			doc.Wrong(at, "is the same account as %s; one connection an account", other)
		}
		accounts[account] = name
	}
}

// ChannelNames lists the configured channels, in order.
func (c *Config) ChannelNames() []string {
	var out []string
	for name := range c.Channels {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// checkURL takes https, and http only on this machine.
func checkURL(doc *strictyaml.Document, path, s string) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.User != nil:
		doc.Wrong(path, "%q: want an absolute URL", s)
	case u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname()):
	default:
		doc.Wrong(path, "%q: want https; http is for this machine alone", s)
	}
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Intent is the intent of a calendar's entry. It fails where the two together cannot be published.
func (c *Config) Intent(e calendar.Entry) (publish.Intent, error) {
	for _, ch := range e.Channels {
		if _, ok := c.Channels[ch]; !ok {
			return publish.Intent{}, fmt.Errorf("%s: channel %q is not configured; there are: %s", e.Key, ch, strings.Join(c.ChannelNames(), ", "))
		}
	}
	in := c.intent(e)
	return in, in.Check()
}

func (c *Config) intent(e calendar.Entry) publish.Intent {
	parts := strings.SplitN(string(e.Date)+"--", "-", 3)
	fill := strings.NewReplacer("{slug}", e.Slug, "{year}", parts[0], "{month}", parts[1], "{day}", strings.TrimRight(parts[2], "-")).Replace
	return publish.Intent{
		Key: e.Key, Topic: e.Topic, Slug: e.Slug, Date: e.Date, Repository: c.Repository.Name, BaseBranch: c.Repository.Base, Revision: e.Revision,
		Path: fill(c.Repository.Path), URL: publish.CanonicalURL(fill(c.Site.Article)), Draft: e.Draft, Channels: e.Channels,
	}
}

// RunPolicy is the policy that runs are started with.
func (c *Config) RunPolicy() publish.Policy { return publish.Policy(c.Policy) }
