// Package config reads colophon.yaml. Secrets are named in it, never written in it.
package config

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
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
	Ledger     string             `yaml:"ledger"`     // likewise, or postgres://USER@HOST/DATABASE
	Cache      string             `yaml:"cache"`      // a folder for what can be made again; "cache" beside the configuration unless set
	TaskQueue  string             `yaml:"task_queue"` // "colophon" unless set
	Channels   map[string]Channel `yaml:"channels"`
	QA         QA                 `yaml:"qa"`
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
	Name        string        `yaml:"name"`
	Base        string        `yaml:"base"`
	Path        string        `yaml:"path"`
	API         string        `yaml:"api"`
	Token       Secret        `yaml:"token"`
	MergeMethod string        `yaml:"merge_method"`
	WriteGap    time.Duration `yaml:"write_gap"` // least time between two changes; 1 s unless set
	Author      struct {
		Name  string `yaml:"name"`
		Email string `yaml:"email"`
	} `yaml:"author"`
}

// QA is what is asked of a draft before it is kept.
type QA struct {
	Required  []string   `yaml:"required"` // front matter
	MinWords  int        `yaml:"min_words"`
	MaxWords  int        `yaml:"max_words"`
	Forbidden []string   `yaml:"forbidden"` // phrases
	Checkers  [][]string `yaml:"checkers"`  // commands that get the draft on standard input, and answer with their exit code
}

// Policy is publish.Policy as it is written.
type Policy struct {
	QuietPeriod  time.Duration `yaml:"quiet_period"`
	LookGap      time.Duration `yaml:"look_gap"`
	Budget       int           `yaml:"budget"`
	LiveDeadline time.Duration `yaml:"live_deadline"`
	Patience     time.Duration `yaml:"patience"`
	StrayDelay   time.Duration `yaml:"stray_delay"`
}

// Load reads the configuration's file. Faults are told with their lines: the first that keeps the YAML from
// being read, or else all wrong values at once.
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
	c := &Config{TaskQueue: "colophon", Ledger: "colophon.db", Calendar: "calendar.yaml", Cache: "cache"}
	c.Repository.Base, c.Repository.API, c.Repository.MergeMethod, c.Repository.WriteGap = "main", "https://api.github.com/", "merge", time.Second
	c.Policy = Policy(d)
	doc, err := strictyaml.Decode(path, source, c)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(path)
	for name, ch := range c.Channels {
		ch.complete(dir)
		c.Channels[name] = ch
	}
	c.check(doc)
	if err := doc.Err(); err != nil {
		return nil, err
	}
	c.Calendar, c.Cache = below(dir, c.Calendar), below(dir, c.Cache)
	if !strings.Contains(c.Ledger, "://") {
		c.Ledger = below(dir, c.Ledger)
	}
	c.Repository.Token.File = below(dir, c.Repository.Token.File)
	return c, nil
}

// below makes a relative path start at the configuration's folder.
func below(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
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
	checkURL(doc, "$.site.index", c.Site.Index)
	checkURL(doc, "$.site.sitemap", c.Site.Sitemap)
	checkURL(doc, "$.site.feed", c.Site.Feed)
	checkURL(doc, "$.site.article", c.Site.Article)
	checkURL(doc, "$.repository.api", r.API)
	checkTemplate(doc, "$.site.article", c.Site.Article)
	checkTemplate(doc, "$.repository.path", r.Path)
	sample := c.intent(calendar.Entry{Key: "c:2026-10-04:e", Date: "2026-10-04", Zone: time.UTC, Topic: "t", Slug: "s", Revision: 1})
	if err := sample.Check(); err != nil {
		doc.Wrong("$.repository", "%v", err)
	}
	if !slices.Contains([]string{"merge", "squash", "rebase"}, r.MergeMethod) {
		doc.Wrong("$.repository.merge_method", "%q: want merge, squash or rebase", r.MergeMethod)
	}
	if r.WriteGap < 0 || r.WriteGap < time.Second && strings.Contains(r.API, "api.github.com") {
		doc.Wrong("$.repository.write_gap", "%s: GitHub asks for at least 1s between changes", r.WriteGap)
	}
	r.Token.check(doc, "$.repository.token")
	p := c.Policy
	if p.QuietPeriod <= 0 || p.LookGap <= 0 || p.LiveDeadline <= 0 || p.Patience <= 0 || p.StrayDelay < 0 || p.Budget < 1 || p.Budget > 10 {
		doc.Wrong("$.policy", "durations must be more than 0, budget from 1 to 10")
	}
	if c.remote() && p.QuietPeriod+p.LookGap < exchange {
		doc.Wrong("$.policy", "quiet_period and look_gap are %s together: want at least %s, for as long a request can be under way", p.QuietPeriod+p.LookGap, exchange)
	}
	c.checkLedger(doc)
	if q := c.QA; q.MinWords < 0 || q.MaxWords < 0 || q.MaxWords > 0 && q.MaxWords < q.MinWords {
		doc.Wrong("$.qa", "min_words and max_words must not be negative, nor min_words the larger")
	}
	for n, command := range c.QA.Checkers {
		if len(command) == 0 || command[0] == "" {
			doc.Wrong(fmt.Sprintf("$.qa.checkers[%d]", n), "names no command; want a list, such as [vale, --output=line]")
		}
	}
	c.checkChannels(doc)
}

func (c *Config) checkLedger(doc *strictyaml.Document) {
	scheme, _, isURL := strings.Cut(c.Ledger, "://")
	if !isURL {
		return
	}
	u, err := url.Parse(c.Ledger)
	switch {
	case scheme != "postgres" && scheme != "postgresql":
		doc.Wrong("$.ledger", "%s:// is no kind of ledger; give a file's path, or postgres://USER@HOST/DATABASE", scheme)
	case err != nil:
		doc.Wrong("$.ledger", "is no URL; want postgres://USER@HOST/DATABASE")
	default:
		if _, written := u.User.Password(); written || u.Query().Has("password") {
			doc.Wrong("$.ledger", "holds a password; take it out, and set PGPASSWORD or write it into ~/.pgpass")
		}
	}
}

// remote says whether anything that is changed is on another machine.
func (c *Config) remote() bool {
	all := []string{c.Repository.API}
	for _, ch := range c.Channels {
		all = append(all, ch.Server, ch.Endpoint)
	}
	return slices.ContainsFunc(all, func(s string) bool {
		u, err := url.Parse(s)
		return err == nil && s != "" && !loopback(u.Hostname())
	})
}

// exchange is the longest that a request can be under way after its attempt began: as long as it may take to
// leave, and as long as its answer is waited for. Before that, nothing proves that it was not made.
const exchange = 45 * time.Second

func checkTemplate(doc *strictyaml.Document, path, t string) {
	if !strings.Contains(t, "{slug}") {
		doc.Wrong(path, "%q has no {slug}", t)
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
	// RFC 6761, 6.3: names below localhost are this machine's, too.
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
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
	in := publish.Intent{
		Key: e.Key, Topic: e.Topic, Slug: e.Slug, Date: e.Date, Repository: c.Repository.Name, BaseBranch: c.Repository.Base, Revision: e.Revision,
		Path: fill(c.Repository.Path), URL: publish.CanonicalURL(fill(c.Site.Article)), Draft: e.Draft, Channels: e.Channels,
		Links: e.Links, Repost: e.Repost,
	}
	if e.Approved != nil {
		in.Approved = &publish.Approved{By: e.Approved.By, At: e.Approved.At.UTC()}
	}
	if day, err := time.ParseInLocation(time.DateOnly, string(e.Date), e.Zone); err == nil {
		in.Due = day.UTC()
	}
	return in
}

// IsArticle says whether a URL has the form that articles have on the site.
func (c *Config) IsArticle(u string) bool {
	form := regexp.QuoteMeta(publish.NormalURL(c.Site.Article))
	for name, pattern := range map[string]string{"slug": `[^/?#]+`, "year": `\d{4}`, "month": `\d{2}`, "day": `\d{2}`} {
		for _, braced := range []string{"{" + name + "}", "%7B" + name + "%7D"} {
			form = strings.ReplaceAll(form, regexp.QuoteMeta(braced), pattern)
		}
	}
	// A variant of an article's URL is an article's, too.
	form = strings.TrimSuffix(strings.TrimSuffix(form, "/"), `\.html`)
	is, err := regexp.Compile("^" + form + `(/|\.html|/index\.html)?([?#].*)?$`)
	return err == nil && is.MatchString(publish.NormalURL(u))
}

// RunPolicy is the policy that runs are started with.
func (c *Config) RunPolicy() publish.Policy { return publish.Policy(c.Policy) }
