package e2e

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"colophon/activities"
	"colophon/internal/sandbox/channels/mastodon"
	"colophon/internal/sandbox/fault"
	"colophon/internal/service"
	"colophon/publish"
)

// sends is the request with which each channel is announced on.
var sends = map[string]string{
	"bluesky": "/xrpc/com.atproto.repo.putRecord", "devto": "/api/articles", "indexnow": "/indexnow", "mastodon": "/api/v1/statuses", "x": "/2/tweets",
}

// sent counts the requests to announce that arrived at a channel, whatever came of them.
func sent(s *simulation, channel string) (n int) {
	for _, r := range s.layer(channel).Requests() {
		if r.Method == http.MethodPost && r.Path == sends[channel] {
			n++
		}
	}
	return n
}

// delivered answers what a run's record says of one channel.
func delivered(t *testing.T, rec publish.Record, channel string) publish.Delivery {
	t.Helper()
	for _, d := range rec.Deliveries {
		if d.Channel == channel {
			return d
		}
	}
	t.Fatalf("no %s on the record:\n%s", channel, rec.Markdown())
	return publish.Delivery{}
}

// loses loses the answers to a channel's sends; the first that arrives has landed.
func loses(s *simulation, channel string, r fault.Rule) {
	r.Method, r.Path = http.MethodPost, sends[channel]+"$"
	s.layer(channel).Add(r)
}

// hides hides what was sent from both looks, and from the one before the next attempt.
func hides(s *simulation, channel string) {
	r := notYet[channel]
	r.Times = 3
	s.ledger.around = func(op publish.Operation) func() {
		if op.Channel != channel {
			return nil
		}
		s.ledger.around = nil
		return func() { s.layer(channel).Add(r) }
	}
}

// once checks that one request to announce arrived at each of the channels.
func once(on ...string) func(*testing.T, *simulation, publish.Record) {
	return func(t *testing.T, s *simulation, _ publish.Record) {
		t.Helper()
		for _, channel := range on {
			if n := sent(s, channel); n != 1 {
				t.Errorf("%d requests to announce on %s", n, channel)
			}
		}
	}
}

var channelReports = map[string]report{
	"postiz-app#1813": {
		what:    "what follows the post in the same activity times out, and the post is made again",
		arrange: func(*testing.T, *simulation) {},
		check: func(t *testing.T, s *simulation, _ publish.Record) {
			for _, channel := range channels {
				all := s.layer(channel).Requests()
				if last := all[len(all)-1]; last.Method != http.MethodPost || last.Path != sends[channel] {
					t.Errorf("%s: after the post came %s %s", channel, last.Method, last.Path)
				}
			}
		},
	},
	"postiz-app#1321": {
		what: "what follows the posts fails for good, and they are made over and over",
		arrange: func(_ *testing.T, s *simulation) {
			s.world.IndexNow.Answer(http.StatusForbidden)
			s.people.mend = func() { s.world.IndexNow.Answer(http.StatusOK) }
		},
		check: once("bluesky", "devto", "mastodon", "x"),
		asks:  []publish.Condition{"key_refused"},
	},
	"postiz-app#1681": {
		what: "a post that is live is marked as failed, and made again by its user",
		arrange: func(_ *testing.T, s *simulation) {
			loses(s, "mastodon", fault.Rule{Kind: fault.StatusAfter, Status: 500})
		},
		check: func(t *testing.T, s *simulation, rec publish.Record) {
			var events strings.Builder
			_, err := s.ledger.Export(context.Background(), &events)
			must(t, err)
			d := delivered(t, rec, "mastodon")
			if !strings.Contains(events.String(), `"kind":"unknown"`) || strings.Contains(events.String(), `"kind":"failed"`) ||
				d.Receipt.ID != s.world.Mastodon.Statuses()[0].ID || sent(s, "mastodon") != 1 {
				t.Errorf("%d requests; %+v\n%s", sent(s, "mastodon"), d, &events)
			}
		},
	},
	"mastodon#40399": {
		what:  "the same key once more is answered with 500",
		setup: setup{made: mastodon.Replay500},
		arrange: func(_ *testing.T, s *simulation) {
			loses(s, "mastodon", fault.Rule{Kind: fault.ResetAfter})
			hides(s, "mastodon")
		},
		check: func(t *testing.T, s *simulation, rec publish.Record) {
			if d := delivered(t, rec, "mastodon"); d.Receipt.ID != s.world.Mastodon.Statuses()[0].ID || sent(s, "mastodon") != 2 {
				t.Errorf("%d requests; %+v", sent(s, "mastodon"), d)
			}
		},
	},
	"mastodon#37879": {
		what:    "two requests at once with one key make two posts",
		setup:   setup{made: mastodon.Racing, doubles: doubles(publish.Syndicate, len(channels))},
		arrange: func(_ *testing.T, s *simulation) { s.ledger.meet = "mastodon post" },
		check:   once("mastodon"),
	},
	"Tusky#2951": {
		what: "504, tried again by itself, eleven copies",
		arrange: func(_ *testing.T, s *simulation) {
			loses(s, "mastodon", fault.Rule{Kind: fault.StatusAfter, Status: 504, Times: 11})
		},
		check: once("mastodon"),
	},
	"gotosocial#2723": {
		what:    "the server has never heard of keys: the account's posts are read",
		setup:   setup{made: mastodon.GoToSocial},
		arrange: func(_ *testing.T, s *simulation) { loses(s, "mastodon", fault.Rule{Kind: fault.ResetAfter}) },
		check: func(t *testing.T, s *simulation, _ publish.Record) {
			if sent(s, "mastodon") != 1 || s.world.Mastodon.Reads() == 0 {
				t.Errorf("%d requests to post, %d reads", sent(s, "mastodon"), s.world.Mastodon.Reads())
			}
		},
	},
	"atproto#3718": {
		what: "a record key that exists is answered with 500: the record decides",
		arrange: func(_ *testing.T, s *simulation) {
			loses(s, "bluesky", fault.Rule{Kind: fault.ResetAfter})
			hides(s, "bluesky")
		},
		check: func(t *testing.T, s *simulation, rec publish.Record) {
			if d := delivered(t, rec, "bluesky"); d.Receipt.ID != s.world.Bluesky.Records()[0].Key || sent(s, "bluesky") != 2 {
				t.Errorf("%d requests; %+v", sent(s, "bluesky"), d)
			}
		},
	},
	"bluesky-crossposter#55": {
		what:    "a sign-in for each run, until there may be none for a day",
		all:     true,
		arrange: func(*testing.T, *simulation) {},
		check: func(t *testing.T, s *simulation, _ publish.Record) {
			if n := s.world.Bluesky.Sessions(); n != 1 || len(s.world.Bluesky.Records()) != 3 {
				t.Errorf("%d sessions for %d posts", n, len(s.world.Bluesky.Records()))
			}
		},
	},
	"bsky.rss#249": {
		what: "the state is lost, and the whole feed is posted again",
		arrange: func(_ *testing.T, s *simulation) {
			link, then := string(s.intent(key).URL), s.clock.now().Add(-24*time.Hour)
			s.world.Bluesky.Add("An earlier announcement", link)
			s.world.DevTo.Add("An earlier article", link, false)
			s.world.Mastodon.Add("An earlier announcement "+link, then)
			s.world.X.Add("An earlier announcement "+link, then)
		},
		check: func(t *testing.T, s *simulation, _ publish.Record) {
			for _, channel := range channels {
				if n := sent(s, channel); channel != "indexnow" && n != 0 {
					t.Errorf("%d requests to post on %s", n, channel)
				}
			}
		},
	},
	"bridgy#221": {
		what: "the key against duplicates does not hold the channel: one that fails holds up the others",
		arrange: func(_ *testing.T, s *simulation) {
			loses(s, "x", fault.Rule{Kind: fault.ResetAfter})
			loses(s, "mastodon", fault.Rule{Kind: fault.StatusBefore, Status: 500})
		},
		check: func(t *testing.T, s *simulation, rec publish.Record) {
			ops, err := s.ledger.Operations(context.Background(), key)
			must(t, err)
			keys := map[publish.OperationKey]string{}
			for _, op := range ops {
				if op.Operation.Channel != "" {
					keys[op.Operation.Key()] = op.Operation.Channel
				}
			}
			if got := slices.Sorted(maps.Values(keys)); !slices.Equal(got, channels) {
				t.Errorf("operations of %v", got)
			}
			once("bluesky", "devto", "indexnow", "x")(t, s, rec)
		},
	},
	"trypost#324": {
		what:    "a job outlives its lease, and two workers post",
		setup:   setup{doubles: doubles(publish.Syndicate, 2*len(channels))},
		arrange: func(*testing.T, *simulation) {},
		check:   once(channels...),
	},
	"jetpack#4662": {
		what:    "two connections to one account, two posts for each article",
		arrange: func(*testing.T, *simulation) {},
		check: func(t *testing.T, s *simulation, _ publish.Record) {
			two := map[string]activities.Channel{"one": s.steps.Channels["mastodon"], "two": s.steps.Channels["mastodon"]}
			if _, err := service.CheckAccounts(context.Background(), two); err == nil || !strings.Contains(err.Error(), "one and two are the same account") {
				t.Errorf("%v", err)
			}
		},
	},
	"forem#9759": {
		what: "somebody else's article has our canonical_url",
		arrange: func(_ *testing.T, s *simulation) {
			theirs := s.world.DevTo.Add("Taken", string(s.intent(key).URL), true)
			s.people.mend = func() { s.world.DevTo.Delete(strconv.FormatInt(theirs.ID, 10)) }
		},
		check: func(t *testing.T, s *simulation, _ publish.Record) {
			if n := sent(s, "devto"); n != 2 {
				t.Errorf("%d requests: one before a person is asked, one after", n)
			}
		},
		asks: []publish.Condition{"canonical_url_of_another"},
	},
	"CreatorOs#983": {
		what: "it dies after the claim, and what it claimed is stuck for ever",
		arrange: func(_ *testing.T, s *simulation) {
			for _, channel := range channels {
				s.ledger.die(channel+" "+map[bool]string{true: "ping", false: "post"}[channel == "indexnow"]+beforeCall, 1)
			}
		},
		check: once(channels...),
	},
	"pulumi/docs#19390": {
		what: "a page that is not there is announced",
		arrange: func(t *testing.T, s *simulation) {
			s.world.SiteFaults.Add(fault.Rule{Path: "^/posts/", Kind: fault.StatusBefore, Status: 404, Times: 5})
			s.ledger.around = func(op publish.Operation) func() {
				if op.Channel != "" {
					resp, err := http.Get(string(s.intent(key).URL))
					must(t, err)
					_ = resp.Body.Close()
					if resp.StatusCode != http.StatusOK {
						t.Errorf("%s is announced while its page answers %d", op.Channel, resp.StatusCode)
					}
				}
				return nil
			}
		},
	},
}

// doubles lets two workers do each of the first executions of a step.
func doubles(step publish.Step, n int) (all []double) {
	for nth := range n {
		all = append(all, double{step, nth + 1})
	}
	return all
}
