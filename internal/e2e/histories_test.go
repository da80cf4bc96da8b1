package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"colophon/internal/sandbox/fault"
	"colophon/publish"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// generation is the folder of histories that today's workflows write: 1 is before runs were swept, 2 before
// deliveries stood in a line. Take
// the next number, and keep the others, with each change that running workflows survive.
const generation = "3"

// TestWriteHistories writes the histories that the workflows' replay test reads. Run it when a change to
// the workflows was made in a way that running workflows survive:
//
//	COLOPHON_WRITE_HISTORIES=1 go test ./internal/e2e -run WriteHistories
func TestWriteHistories(t *testing.T) {
	if os.Getenv("COLOPHON_WRITE_HISTORIES") == "" {
		t.Skip("writes workflows/testdata; set COLOPHON_WRITE_HISTORIES=1")
	}
	for name, prepare := range map[string]func(*world){
		"clean":      func(*world) {},
		"merge-lost": func(w *world) { w.World.GitHubFaults.Add(fault.Rule{Method: "PUT", Kind: fault.ResetAfter}) },
		"merge-refused-at-first": func(w *world) {
			w.World.GitHubFaults.Add(fault.Rule{Method: "PUT", Kind: fault.StatusBefore, Status: 502})
		},
		"branch-lost": func(w *world) {
			w.World.GitHubFaults.Add(fault.Rule{Method: "POST", Path: "/git/refs$", Kind: fault.ResetAfter})
		},
		"swept": func(w *world) {
			w.World.GitHubFaults.Add(fault.Rule{Method: "POST", Path: "/git/refs$", Kind: fault.LateEffect, Lands: &fault.Landing{Method: "DELETE", After: 1, Behind: true}})
		},
		"claimed": func(w *world) {
			w.World.GitHubFaults.Add(fault.Rule{Method: "GET", Path: "/git/ref/heads/colophon", Kind: fault.Stale, Times: 4})
		},
		"limited": func(w *world) {
			w.World.GitHubFaults.Add(fault.Rule{Method: "PUT", Kind: fault.StatusBefore, Status: 429, RetryAfter: "1"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			prepare(w)
			w.begin()
			w.oneOfEverything(w.finish())
			write(t, w, string(key), "publish-"+name)
			write(t, w, publish.DeliveryID(key, "mastodon"), "deliver-"+name)
		})
	}
	t.Run("decided", func(t *testing.T) {
		w := start(t)
		id := blockDelivery(t, w)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := w.Client.SignalWorkflow(ctx, id, "", publish.DecideName, publish.Decision{Step: publish.Syndicate, Action: publish.Retry, By: "Ada"}); err != nil {
			t.Fatal(err)
		}
		w.finish()
		write(t, w, id, "deliver-decided")
	})
}

// write keeps one history, without what is this machine's.
func write(t *testing.T, w *world, id, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var h historypb.History
	for events := w.Client.GetWorkflowHistory(ctx, id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		e, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		h.Events = append(h.Events, e)
	}
	raw, err := protojson.Marshal(&h)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(w.ConfigFile)
	out, err := json.MarshalIndent(neutral(tree, dir), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("../../workflows/testdata", generation, name+".json"), append(out, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
}

// neutral replaces identities, and the folder inside payloads.
func neutral(v any, dir string) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			switch s, isText := x.(string); {
			case k == "identity":
				v[k] = "worker"
			case k == "data" && isText:
				if data, err := base64.StdEncoding.DecodeString(s); err == nil {
					v[k] = base64.StdEncoding.EncodeToString(bytes.ReplaceAll(data, []byte(dir), []byte("/srv/colophon")))
				}
			default:
				v[k] = neutral(x, dir)
			}
		}
	case []any:
		for n := range v {
			v[n] = neutral(v[n], dir)
		}
	}
	return v
}
