package bluesky_test

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"colophon/internal/channel"
	"colophon/internal/channel/bluesky"
	"colophon/internal/channel/channeltest"
	"colophon/internal/permit"
	server "colophon/internal/sandbox/channels/bluesky"
	"colophon/internal/wire"
	"colophon/publish"
)

const (
	password = "an-app-password-of-the-test"
	handle   = "press.test"
)

func TestContract(t *testing.T) {
	channeltest.Run(t, channeltest.Bench{
		Server: func(t *testing.T) *channeltest.Server { s, _ := serve(t, server.Options{}); return s },
		Chosen: true, Named: true, Secret: password,
	})
}

func serve(t *testing.T, o server.Options) (*channeltest.Server, *server.Server) {
	t.Helper()
	o.Handle, o.Password = handle, password
	remote := server.New(o)
	s := channeltest.Serve(t, remote)
	s.Path = "putRecord$"
	s.Count, s.Reads = func() int { return len(remote.Records()) }, remote.Reads
	s.Post = func(_ *testing.T, url string) publish.Receipt {
		return publish.Receipt{ID: remote.Add("By hand", url).Key}
	}
	s.Delete = func(_ *testing.T, id string) { remote.Delete(id) }
	s.Open = opener(s, handle, password)
	return s, remote
}

// opener connects the channel to a server.
func opener(s *channeltest.Server, handle, password string) func(*testing.T, channel.Options, bool) channel.Channel {
	return func(t *testing.T, o channel.Options, bad bool) channel.Channel {
		t.Helper()
		given := password
		if bad {
			given = "wrong"
		}
		o.Name = "bluesky"
		if o.Account == "" {
			o.Account = handle
		}
		c, err := bluesky.New(wire.New(wire.Options{SignIn: bluesky.SignIn}), bluesky.Options{Options: o, Server: s.Port.URL(), Password: given})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
}

func compose(t *testing.T, c channel.Channel, a publish.Announcement) publish.Message {
	t.Helper()
	m, err := c.Compose(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func effect(t *testing.T, c channel.Channel, m publish.Message) publish.Effect {
	t.Helper()
	e, err := c.Effect(context.Background(), m)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func send(e publish.Effect) (publish.Receipt, error) {
	return e.Apply(permit.Grant(context.Background()), publish.Prior{})
}

// TestASecondPostWithTheSameKeyIsTheFirst: identical bytes change nothing, and other bytes are refused, which proves
// nothing of ours.
func TestASecondPostWithTheSameKeyIsTheFirst(t *testing.T) {
	s, remote := serve(t, server.Options{})
	twice(t, s)
	if n := len(remote.Records()); n != 1 {
		t.Errorf("%d posts", n)
	}
}

func twice(t *testing.T, s *channeltest.Server) {
	t.Helper()
	c := s.Open(t, channel.Options{}, false)
	m := compose(t, c, channeltest.Announcement(s))
	first, err := send(effect(t, c, m))
	if err != nil {
		t.Fatal(err)
	}
	second, err := send(effect(t, c, m))
	if err != nil || second.ID != first.ID || second.URL != first.URL {
		t.Errorf("identical bytes: %+v, %v; want %+v", second, err, first)
	}
	other := m
	other.Body = []byte(strings.Replace(string(m.Body), "Look, then act", "Look, then do not act", 2))
	_, err = send(effect(t, c, other))
	if got := publish.AsTrouble(err); got.Kind != publish.Unknown || got.Condition != "record_exists" {
		t.Errorf("other bytes: %s %s, %v", got.Kind, got.Condition, err)
	}
	f, err := effect(t, c, m).Find(context.Background(), publish.Prior{State: publish.Unconfirmed, Attempts: 2})
	if err != nil || f.Presence != publish.Present || f.Receipt.ID != first.ID {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestTheSwapIsSaidAsNull: left out, a second post would overwrite the first.
func TestTheSwapIsSaidAsNull(t *testing.T) {
	s, _ := serve(t, server.Options{})
	m := compose(t, s.Open(t, channel.Options{}, false), channeltest.Announcement(s))
	if !strings.Contains(string(m.Body), `"swapRecord":null`) {
		t.Errorf("%s", m.Body)
	}
	if !regexp.MustCompile(`^[2-7a-j][2-7a-z]{12}$`).MatchString(m.ID) {
		t.Errorf("%q is no TID", m.ID)
	}
}

// TestASessionThatEndsIsRenewed: without another sign-in, which servers allow so many of; and no post is made with a
// session that is about to end.
func TestASessionThatEndsIsRenewed(t *testing.T) {
	s, remote := serve(t, server.Options{AccessLife: 30 * time.Second}) // less than the margin: renewed each time
	c := s.Open(t, channel.Options{}, false)
	if _, err := send(effect(t, c, compose(t, c, channeltest.Announcement(s)))); err != nil {
		t.Fatal(err)
	}
	if n := remote.Sessions(); n != 1 {
		t.Errorf("signed in %d times", n)
	}
	if n := s.Sent(nil); n == 0 {
		t.Error("the session was never renewed")
	}
}

// TestASessionThatTheServerEndedIsRenewed: whatever its token says. What was to be posted is put off, and read backs
// go on at once.
func TestASessionThatTheServerEndedIsRenewed(t *testing.T) {
	s, remote := serve(t, server.Options{})
	c := s.Open(t, channel.Options{}, false)
	e := effect(t, c, compose(t, c, channeltest.Announcement(s)))
	remote.Expire()
	_, err := send(e)
	if got := publish.AsTrouble(err); got.Kind != publish.Deferred || got.Condition != "session_expired" {
		t.Errorf("%s %s, %v", got.Kind, got.Condition, err)
	}
	remote.Expire()
	if f, err := e.Find(context.Background(), publish.Prior{Attempts: 1}); err != nil || f.Presence != publish.Absent {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := send(e); err != nil || remote.Sessions() != 1 || len(remote.Records()) != 1 {
		t.Errorf("%v; signed in %d times, %d posts", err, remote.Sessions(), len(remote.Records()))
	}
}

func TestTooManySignInsSayWhenToComeBack(t *testing.T) {
	s, _ := serve(t, server.Options{SignIns: 1})
	for range 2 {
		c := s.Open(t, channel.Options{}, false)
		if _, err := c.Account(context.Background()); err != nil {
			if got := publish.AsTrouble(err); got.Kind != publish.Deferred || got.After < 4*time.Minute {
				t.Errorf("%s after %s: %v", got.Kind, got.After, err)
			}
			return
		}
	}
	t.Error("nothing was refused")
}

// TestLengthIsCountedInGraphemesAndBytes: a family of one emoji is one character to a reader, and 25 bytes.
func TestLengthIsCountedInGraphemesAndBytes(t *testing.T) {
	s, _ := serve(t, server.Options{})
	c := s.Open(t, channel.Options{Template: "{title}{url}"}, false)
	a := channeltest.Announcement(s)
	family := "\U0001F468\u200D\U0001F469\u200D\U0001F467\u200D\U0001F466"
	left := 300 - len(a.URL)
	for title, ok := range map[string]bool{
		strings.Repeat("é", left): true, strings.Repeat("é", left+1): false, strings.Repeat(family, 100): true, strings.Repeat(family, 130): false,
	} {
		a.Title = title
		m, err := c.Compose(context.Background(), a)
		if (err == nil) != ok {
			t.Errorf("%d bytes: %v", len(title), err)
			continue
		}
		if got := publish.AsTrouble(err); !ok && (got.Condition != "text_too_long" || got.Next == "") {
			t.Errorf("%v", err)
		}
		if ok {
			m.ID = ""
			if _, err := send(effect(t, c, m)); err != nil && publish.AsTrouble(err).Kind == publish.Rejected {
				t.Errorf("what fits was refused: %v", err)
			}
		}
	}
}

func TestLinksAndTagsAreMarkedByBytes(t *testing.T) {
	s, _ := serve(t, server.Options{})
	a := channeltest.Announcement(s)
	a.Title, a.Tags = "Über Grübeln 👩‍🔬", []string{"go", "nach denken"}
	m := compose(t, s.Open(t, channel.Options{}, false), a)
	var body struct {
		Record struct {
			Text   string
			Facets []struct {
				Index    struct{ ByteStart, ByteEnd int }
				Features []struct{ URI, Tag string }
			}
			Embed struct{ External struct{ URI, Title string } }
		}
	}
	if err := json.Unmarshal(m.Body, &body); err != nil {
		t.Fatal(err)
	}
	var marked []string
	for _, f := range body.Record.Facets {
		shown := body.Record.Text[f.Index.ByteStart:f.Index.ByteEnd]
		marked = append(marked, shown)
		if g := f.Features[0]; shown != g.URI && shown != "#"+g.Tag {
			t.Errorf("%q is marked as %+v", shown, g)
		}
	}
	if strings.Join(marked, " ") != a.URL+" #go #nachdenken" || body.Record.Embed.External.URI != a.URL || body.Record.Embed.External.Title != a.Title {
		t.Errorf("%q, %+v", marked, body.Record.Embed)
	}
}

// TestARecordOfSomethingElseIsNotTakenForOurs: neither under our key, nor as somebody's receipt.
func TestARecordOfSomethingElseIsNotTakenForOurs(t *testing.T) {
	s, remote := serve(t, server.Options{})
	c := s.Open(t, channel.Options{}, false)
	e := effect(t, c, compose(t, c, channeltest.Announcement(s)))
	lunch, ours := remote.Add("Lunch", "https://elsewhere.example/"), remote.Add("By hand", channeltest.Announcement(s).URL)
	for id, want := range map[string]publish.Presence{ours.Key: publish.Present, lunch.Key: publish.Foreign, "../x": publish.Absent} {
		f, err := e.Find(context.Background(), publish.Prior{Attempts: 1, Receipt: publish.Receipt{ID: id}})
		if err != nil || f.Presence != want {
			t.Errorf("%s: %+v, %v; want %s", id, f, err, want)
		}
	}
}
