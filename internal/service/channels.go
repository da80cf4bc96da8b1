package service

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"colophon/activities"
	"colophon/internal/channel"
	"colophon/internal/channel/bluesky"
	"colophon/internal/channel/devto"
	"colophon/internal/channel/indexnow"
	"colophon/internal/channel/mastodon"
	"colophon/internal/channel/x"
	"colophon/internal/config"
	"colophon/internal/wire"
	"colophon/publish"
)

// secrets reads the secrets that a channel's kind needs, by their names in the configuration.
type secrets func(name string) string

// kinds make the channels: one line a kind. What each is configured with, config says.
var kinds = map[string]func(o channel.Options, c config.Channel, secret secrets) (channel.Channel, error){
	"bluesky": func(o channel.Options, c config.Channel, secret secrets) (channel.Channel, error) {
		return bluesky.New(wire.New(wire.Options{SignIn: bluesky.SignIn}), bluesky.Options{Options: o, Server: c.Server, Password: secret("password")})
	},
	"devto": func(o channel.Options, c config.Channel, secret secrets) (channel.Channel, error) {
		return devto.New(adding("api-key", secret("key")), devto.Options{Options: o, Server: c.Server})
	},
	"indexnow": func(o channel.Options, c config.Channel, secret secrets) (channel.Channel, error) {
		return indexnow.New(wire.New(wire.Options{}), indexnow.Options{Options: o, Endpoint: c.Endpoint, Key: secret("key"), KeyLocation: c.KeyLocation})
	},
	"mastodon": func(o channel.Options, c config.Channel, secret secrets) (channel.Channel, error) {
		return mastodon.New(adding("Authorization", "Bearer "+secret("token")), mastodon.Options{Options: o, Server: c.Server, Visibility: c.Visibility})
	},
	"x": func(o channel.Options, c config.Channel, secret secrets) (channel.Channel, error) {
		return x.New(wire.New(wire.Options{}), x.Options{Options: o, Server: c.Server, Keys: x.Keys{
			ConsumerKey: secret("consumer_key"), ConsumerSecret: secret("consumer_secret"), AccessToken: secret("access_token"), AccessSecret: secret("access_secret"),
		}})
	},
}

// adding makes a client that adds a header with a credential to every request.
func adding(header, value string) *http.Client {
	return wire.New(wire.Options{Authorize: func(r *http.Request) { r.Header.Set(header, value) }})
}

// connect makes the channels. Nothing is sent.
func connect(c *config.Config) (map[string]activities.Channel, error) {
	out := map[string]activities.Channel{}
	var errs []error
	for _, name := range c.ChannelNames() {
		ch, at := c.Channels[name], "channels."+name
		missing := len(errs)
		secret := func(field string) string {
			v, err := ch.Secret(field).Read(at + "." + field)
			if err != nil {
				errs = append(errs, err)
			}
			return v.Reveal()
		}
		made, err := kinds[ch.Kind](channel.Options{
			Name: name, Account: ch.Account, Template: ch.Template, Language: ch.Language,
			Gap: ch.Gap, DailyCap: ch.DailyCap, Zone: ch.Zone, PageLimit: ch.PageLimit,
		}, ch, secret)
		if err != nil && len(errs) == missing {
			errs = append(errs, fmt.Errorf("%s: %w", at, err))
		}
		out[name] = connected{made}
	}
	return out, errors.Join(errs...)
}

// connected is a channel as the steps see it.
type connected struct{ channel.Channel }

// Updates says that a correction reaches the channel's readers without a second post.
func (c connected) Updates() bool { return c.Policy().Updates }

// CheckAccounts asks each channel whose its credential is. Two channels on one account are an error: each would
// announce what the other has announced. What cannot be asked now is answered by name, to be told; it will be asked
// again before anything is sent.
func CheckAccounts(ctx context.Context, channels map[string]activities.Channel) (unasked map[string]error, err error) {
	unasked = map[string]error{}
	accounts := map[string][]string{}
	var errs []error
	for name, ch := range channels {
		destination, err := ch.Account(ctx)
		switch {
		case err == nil:
			accounts[destination] = append(accounts[destination], name)
		case publish.AsTrouble(err).Kind == publish.Halted || publish.AsTrouble(err).Kind == publish.Rejected:
			errs = append(errs, fmt.Errorf("channels.%s: %w", name, err))
		default:
			unasked[name] = err
		}
	}
	for destination, names := range accounts {
		if len(names) > 1 {
			slices.Sort(names)
			errs = append(errs, fmt.Errorf("channels %s are the same account, %s; one connection an account: take out all but one", strings.Join(names, " and "), destination))
		}
	}
	return unasked, errors.Join(errs...)
}
