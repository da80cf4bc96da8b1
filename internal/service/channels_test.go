package service

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"colophon/activities"
	"colophon/internal/channel"
	"colophon/internal/config"
	"colophon/publish"
)

// TestEveryKindThatCanBeConfiguredIsMade makes a channel of each kind, with secrets from files and without sending
// anything.
func TestEveryKindThatCanBeConfiguredIsMade(t *testing.T) {
	if made := slices.Sorted(maps.Keys(kinds)); !slices.Equal(made, config.Kinds()) {
		t.Fatalf("made are %v, configured can be %v", made, config.Kinds())
	}
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("0f1e2d3c4b5a69788796a5b4c3d2e1f0"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, kind := range config.Kinds() {
		s := config.Secret{File: file}
		c := &config.Config{Channels: map[string]config.Channel{kind: {
			Kind: kind, Server: "https://server.example", Account: "press", Endpoint: "https://server.example/indexnow", KeyLocation: "https://blog.example/0f1e2d3c4b5a69788796a5b4c3d2e1f0.txt",
			Token: s, Key: s, Password: s, ConsumerKey: s, ConsumerSecret: s, AccessToken: s, AccessSecret: s,
		}}}
		made, err := connect(c)
		if err != nil || made[kind] == nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// asked is a channel that answers whose it is.
type asked struct {
	activities.Channel
	destination string
	err         error
}

func (a asked) Account(context.Context) (string, error) { return a.destination, a.err }

// TestTwoConnectionsToOneAccountAreRefused, whatever they are called; one that cannot be asked is told, and does not
// keep the others from work; one that was refused does.
func TestTwoConnectionsToOneAccountAreRefused(t *testing.T) {
	away := errors.New("no route to host")
	unasked, err := CheckAccounts(context.Background(), map[string]activities.Channel{
		"a": asked{destination: "x:api.x.com/1"}, "b": asked{destination: "x:api.x.com/2"}, "c": asked{err: away},
	})
	if err != nil || len(unasked) != 1 || unasked["c"] == nil {
		t.Errorf("%v, %v", unasked, err)
	}
	_, err = CheckAccounts(context.Background(), map[string]activities.Channel{
		"a": asked{destination: "x:api.x.com/1"}, "b": asked{destination: "x:api.x.com/1"},
		"c": asked{err: channel.Halt("wrong_account", "give it another token", "the token is @else's")},
	})
	if err == nil || !strings.Contains(err.Error(), "a and b are the same account, x:api.x.com/1") || !strings.Contains(err.Error(), "channels.c") || publish.AsTrouble(err).Condition != "wrong_account" {
		t.Errorf("%v", err)
	}
}
