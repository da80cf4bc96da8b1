package fault

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// whole is the beginning of an answer to which nothing has happened.
const whole = `201 {"id":7,`

func TestEachFaultHappensAtItsInstant(t *testing.T) {
	for kind, c := range map[Kind]struct {
		effects int32
		want    string // of the client's view: "reset", "refused", "cut", or status and body
	}{
		ResetBefore:  {0, "reset"},
		ResetAfter:   {1, "reset"},
		HangBefore:   {0, "reset"},
		HangAfter:    {1, "reset"},
		StatusBefore: {0, "503"},
		StatusAfter:  {1, "503"},
		LateEffect:   {1, "reset"},
		CutBody:      {1, "cut"},
		EmptyBody:    {1, "201 "},
		WrongType:    {1, "201 <html>"},
		MissingID:    {1, `201 {"name":"xxx`},
		Redirect:     {0, "307"},
	} {
		t.Run(string(kind), func(t *testing.T) {
			var effects atomic.Int32
			layer := New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if string(body) == "payload" {
					effects.Add(1)
				}
				w.WriteHeader(http.StatusCreated)
				fmt.Fprintf(w, `{"id":7,"name":%q}`, strings.Repeat("x", 1000))
			}))
			port, err := Listen(layer)
			if err != nil {
				t.Fatal(err)
			}
			defer port.Close()
			rule := Rule{Method: "POST", Path: "^/posts$", Kind: kind, Skip: 1, Delay: 20 * time.Millisecond}
			if kind == StatusBefore || kind == StatusAfter {
				rule.Status = 503
			}
			layer.Add(rule)
			if got := post(port.URL() + "/posts"); !strings.HasPrefix(got, whole) {
				t.Errorf("the skipped request: %s", got)
			}
			effects.Store(0)
			got := post(port.URL() + "/posts")
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			if err := layer.Wait(ctx, 1); err != nil || !strings.HasPrefix(got, c.want) {
				t.Errorf("the client saw %.40q, want %q (%v)", got, c.want, err)
			}
			for deadline := time.Now().Add(5 * time.Second); effects.Load() != c.effects && time.Now().Before(deadline); {
				time.Sleep(5 * time.Millisecond)
			}
			if effects.Load() != c.effects {
				t.Errorf("%d effects, want %d", effects.Load(), c.effects)
			}
			if got := post(port.URL() + "/posts"); !strings.HasPrefix(got, whole) {
				t.Errorf("the rule is spent, and yet: %s", got)
			}
			hits := layer.Hits()
			if len(hits) != 1 || hits[0].Kind != kind || hits[0].Method != "POST" || hits[0].Path != "/posts" || hits[0].Rule != 0 || hits[0].At.IsZero() {
				t.Fatalf("%+v", hits)
			}
			if landed := c.effects == 1 && kind != LateEffect; hits[0].Landed != landed {
				t.Errorf("landed %v, want %v", hits[0].Landed, landed)
			}
			if n := len(layer.Changes()); n != 3 {
				t.Errorf("%d changes arrived, want 3", n)
			}
		})
	}
}

// post is what a client sees of one request.
func post(url string) string {
	client := &http.Client{
		Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Post(url, "text/plain", bytes.NewBufferString("payload"))
	switch {
	case errors.Is(err, syscall.ECONNRESET):
		return "reset"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case err != nil:
		return err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return "cut"
	}
	return fmt.Sprint(resp.StatusCode, " ", string(body))
}

func TestARefusedPortComesBack(t *testing.T) {
	port, err := Listen(http.NotFoundHandler())
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	url := port.URL()
	port.Refuse()
	if got := post(url); got != "refused" {
		t.Errorf("refused, and yet: %s", got)
	}
	if err := port.Accept(); err != nil || port.URL() != url {
		t.Fatalf("%v: %s, was %s", err, port.URL(), url)
	}
	if got := post(url); !strings.HasPrefix(got, "404") {
		t.Errorf("accepting again: %s", got)
	}
}
