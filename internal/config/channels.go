package config

import (
	"maps"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // so that a host without time zones knows them

	"colophon/internal/strictyaml"
	"colophon/publish"
)

// Channel configures one channel; which fields it takes depends on its kind.
type Channel struct {
	Kind     string `yaml:"kind"`
	Server   string `yaml:"server"`
	Account  string `yaml:"account"` // that the credential must belong to
	Template string `yaml:"template"`
	Language string `yaml:"language"`

	Gap       time.Duration `yaml:"gap"`        // least time between two announcements; the kind's own unless set
	DailyCap  int           `yaml:"daily_cap"`  // attempts a day; the kind's own unless set
	Zone      string        `yaml:"zone"`       // in which that day begins; UTC unless set
	PageLimit int           `yaml:"page_limit"` // of own posts that are read back; the kind's own unless set

	Visibility  string `yaml:"visibility"`   // Mastodon
	Endpoint    string `yaml:"endpoint"`     // IndexNow
	KeyLocation string `yaml:"key_location"` // IndexNow

	Token          Secret `yaml:"token"`    // Mastodon
	Key            Secret `yaml:"key"`      // IndexNow, dev.to
	Password       Secret `yaml:"password"` // Bluesky: an app password
	ConsumerKey    Secret `yaml:"consumer_key"`
	ConsumerSecret Secret `yaml:"consumer_secret"`
	AccessToken    Secret `yaml:"access_token"`
	AccessSecret   Secret `yaml:"access_secret"`
}

// kind says which fields a kind of channel must have, and which it may have.
type kind struct {
	need, may []string
	server    string // unless set
}

// posting is what all channels may have that post.
var posting = []string{"server", "template", "language", "gap", "daily_cap", "zone", "page_limit"}

// whole is what a channel may have that takes articles whole.
var whole = []string{"server", "gap", "daily_cap", "zone", "page_limit"}

var kinds = map[string]kind{
	"bluesky":  {need: []string{"account", "password"}, may: posting, server: "https://bsky.social"},
	"devto":    {need: []string{"account", "key"}, may: whole, server: "https://dev.to"},
	"indexnow": {need: []string{"endpoint", "key", "key_location"}, may: []string{"gap", "daily_cap", "zone"}},
	"mastodon": {need: []string{"server", "account", "token"}, may: append([]string{"visibility"}, posting...)},
	"x":        {need: []string{"account", "consumer_key", "consumer_secret", "access_token", "access_secret"}, may: posting, server: "https://api.x.com"},
}

// Kinds lists the kinds of channels, in order.
func Kinds() []string {
	return slices.Sorted(maps.Keys(kinds))
}

// secrets are the fields that name secrets.
func (ch *Channel) secrets() map[string]*Secret {
	return map[string]*Secret{
		"token": &ch.Token, "key": &ch.Key, "password": &ch.Password, "consumer_key": &ch.ConsumerKey,
		"consumer_secret": &ch.ConsumerSecret, "access_token": &ch.AccessToken, "access_secret": &ch.AccessSecret,
	}
}

// Secret is where the secret is that a field names.
func (ch *Channel) Secret(field string) Secret { return *ch.secrets()[field] }

// set says which fields are set, by their names.
func (ch *Channel) set() map[string]bool {
	out := map[string]bool{
		"server": ch.Server != "", "account": ch.Account != "", "template": ch.Template != "", "language": ch.Language != "",
		"gap": ch.Gap != 0, "daily_cap": ch.DailyCap != 0, "zone": ch.Zone != "", "page_limit": ch.PageLimit != 0,
		"visibility": ch.Visibility != "", "endpoint": ch.Endpoint != "", "key_location": ch.KeyLocation != "",
	}
	for name, s := range ch.secrets() {
		out[name] = *s != Secret{}
	}
	return out
}

// complete fills in what a kind has unless it is set, and makes the secrets' files start at the folder.
func (ch *Channel) complete(dir string) {
	if ch.Server == "" {
		ch.Server = kinds[ch.Kind].server
	}
	for _, s := range ch.secrets() {
		s.File = below(dir, s.File)
	}
}

func (c *Config) checkChannels(doc *strictyaml.Document) {
	accounts := map[string]string{}
	for _, name := range c.ChannelNames() {
		ch, at := c.Channels[name], "$.channels."+name
		k, known := kinds[ch.Kind]
		if !known {
			doc.Wrong(at+".kind", "%q: want one of %s", ch.Kind, strings.Join(Kinds(), ", "))
			continue
		}
		ch.check(doc, at, k)
		account := ch.account()
		if other := accounts[account]; other != "" {
			doc.Wrong(at, "is the same account as %s; one connection an account", other)
		}
		accounts[account] = name
	}
}

func (ch *Channel) check(doc *strictyaml.Document, at string, k kind) {
	given := ch.set()
	for _, name := range slices.Sorted(maps.Keys(given)) {
		set, needed := given[name], slices.Contains(k.need, name)
		switch {
		case !set && needed:
			doc.Wrong(at+"."+name, "is missing; a channel of kind %s needs it", ch.Kind)
		case set && !needed && !slices.Contains(k.may, name):
			doc.Wrong(at+"."+name, "does not belong to this kind of channel; take it out")
		}
	}
	for name, s := range ch.secrets() {
		if slices.Contains(k.need, name) {
			s.check(doc, at+"."+name)
		}
	}
	for name, u := range map[string]string{"server": ch.Server, "endpoint": ch.Endpoint, "key_location": ch.KeyLocation} {
		if u != "" {
			checkURL(doc, at+"."+name, u)
		}
	}
	if ch.Gap < 0 || ch.DailyCap < 0 || ch.PageLimit < 0 {
		doc.Wrong(at, "gap, daily_cap and page_limit must be more than 0")
	}
	if _, err := time.LoadLocation(ch.Zone); err != nil || ch.Zone == "Local" {
		doc.Wrong(at+".zone", "%q is no time zone; want a name such as Europe/Berlin", ch.Zone)
	}
}

// account is what the configuration says of whose the channel is, so that two for one are seen before anything is
// asked.
func (ch *Channel) account() string {
	server := ch.Server
	if ch.Kind == "indexnow" {
		server = ch.Endpoint
	}
	name, _, found := strings.Cut(strings.TrimPrefix(ch.Account, "@"), "@")
	if ch.Kind != "mastodon" && found {
		name = ch.Account
	}
	return strings.ToLower(ch.Kind + " " + strings.TrimSuffix(publish.NormalURL(server), "/") + " " + name)
}
