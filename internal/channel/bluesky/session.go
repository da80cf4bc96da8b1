package bluesky

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"colophon/internal/channel"
	"colophon/publish"
)

// session is an open session. Its tokens are kept in memory alone.
type session struct {
	DID, Handle string
	Access      string `json:"accessJwt"`
	Refresh     string `json:"refreshJwt"`
	expires     time.Time
}

// early is how long before its end a session is renewed, so that no post meets one that has ended.
const early = time.Minute

// signedIn is a session that can be used. One that is about to end is renewed; servers let an account sign in anew
// only so often.
func (c *Channel) signedIn(ctx context.Context) (session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session.Access != "" && time.Until(c.session.expires) > early {
		return c.session, nil
	}
	if c.session.Refresh != "" {
		err := c.open(ctx, "com.atproto.server.refreshSession", nil, c.session.Refresh)
		if err == nil || publish.AsTrouble(err).Kind != publish.Halted {
			return c.session, err
		}
	}
	body, err := json.Marshal(map[string]string{"identifier": c.options.Account, "password": c.options.Password})
	if err != nil {
		return session{}, err
	}
	err = c.open(ctx, "com.atproto.server.createSession", body, "")
	return c.session, err
}

// open asks for a session's tokens.
func (c *Channel) open(ctx context.Context, method string, body []byte, bearer string) error {
	var s session
	if err := c.call(ctx, http.MethodPost, method, nil, body, bearer, &s); err != nil {
		t := *publish.AsTrouble(err)
		switch t.Condition {
		case "session_expired":
			t.Kind = publish.Halted // of the token that renews
		default:
			if t.Kind == publish.Unknown {
				t.Kind = publish.NotSent // a sign-in publishes nothing
			}
		}
		return &t
	}
	if s.Access == "" || s.DID == "" {
		return &publish.Trouble{Kind: publish.NotSent, Condition: "unreadable_answer", Detail: "sign in: the answer has no session"}
	}
	s.expires = expiry(s.Access)
	c.session = s
	return nil
}

// expired says that a session has ended, whatever its token says.
func (c *Channel) expired(access string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session.Access == access {
		c.session.expires = time.Time{}
	}
}

// expiry reads when a token ends. It is not checked: that is for the server, whose word it is.
func expiry(token string) time.Time {
	parts := strings.Split(token, ".")
	var claims struct{ Exp int64 }
	if len(parts) == 3 {
		if raw, err := base64.RawURLEncoding.DecodeString(parts[1]); err == nil {
			_ = json.Unmarshal(raw, &claims)
		}
	}
	if claims.Exp == 0 {
		return time.Now().Add(time.Hour)
	}
	return time.Unix(claims.Exp, 0)
}

// call makes one request and reads its answer.
func (c *Channel) call(ctx context.Context, method, nsid string, query url.Values, body []byte, bearer string, v any) error {
	u := c.options.Server + "/xrpc/" + nsid
	if len(query) > 0 {
		u += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, u, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return refused(nsid, resp)
	}
	if err := channel.ReadJSON(resp, v); err != nil {
		return &publish.Trouble{Kind: publish.Unknown, Condition: "unreadable_answer", Detail: nsid, Status: resp.StatusCode, Err: err}
	}
	return nil
}

// read makes one read in the session, and once more in a renewed one if it has ended.
func (c *Channel) read(ctx context.Context, nsid string, query url.Values, v any) error {
	for again := true; ; again = false {
		s, err := c.signedIn(ctx)
		if err != nil {
			return err
		}
		err = c.call(ctx, http.MethodGet, nsid, query, nil, s.Access, v)
		if t := publish.AsTrouble(err); err == nil || t.Condition != "session_expired" || !again {
			return err
		}
		c.expired(s.Access)
	}
}

// refused reads an error answer and closes it. https://atproto.com/specs/xrpc#error-responses
func refused(what string, resp *http.Response) error {
	defer resp.Body.Close()
	var said struct{ Error, Message string }
	parsed := channel.ReadJSON(resp, &said) == nil && said.Error != ""
	t := channel.Refused(what, resp.StatusCode, strings.TrimSuffix(said.Error+": "+said.Message, ": "), parsed, channel.RetryAfter(resp.Header, time.Now()))
	if !parsed || resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests {
		return t
	}
	switch said.Error {
	case "InvalidSwap": // there is a record with that key, which may well be ours
		t.Kind, t.Condition, t.Next = publish.Unknown, "record_exists", ""
	case "ExpiredToken":
		t.Kind, t.Condition, t.After, t.Next = publish.Deferred, "session_expired", time.Second, ""
	case "RecordNotFound":
		t.Condition = "no_record"
	case "InvalidToken", "AuthMissing", "AuthenticationRequired", "AccountTakedown", "AccountDeactivated":
		t.Kind, t.Condition, t.Next = publish.Halted, "bad_credentials", "give the channel an app password that holds, then decide retry"
	}
	return t
}
