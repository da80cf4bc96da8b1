// Package devenv is the embedded default: Temporal's development server with its Web UI, a sandbox to
// publish into, and the configuration that connects the two. The worker on it is the real one.
package devenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"colophon/examples"
	"colophon/internal/calendar"
	"colophon/internal/config"
	"colophon/internal/devenv/temporal"
	"colophon/internal/sandbox"
	"colophon/internal/service"
	"colophon/publish"

	"go.temporal.io/sdk/client"
)

// Options adjust the environment.
type Options struct {
	Dir      string // where everything is kept
	UIPort   int    // of the Web UI; a free one if 0
	Headless bool   // without the Web UI
	Progress io.Writer
	Log      *slog.Logger
	Ledger   string   // where the ledger is, as in colophon.yaml; a file in Dir if empty
	Channels []string // to announce on, if not on all
	Policy   string   // the policy's part of colophon.yaml, if other than the demo's
}

// Env is a running environment, without a worker.
type Env struct {
	World      *sandbox.World
	Temporal   *temporal.Server
	Client     service.Connection
	Config     *config.Config
	ConfigFile string
	Calendar   calendar.Calendar
	log        *slog.Logger
}

const demoPolicy = "{quiet_period: 2s, look_gap: 1s, budget: 3, live_deadline: 2m, stray_delay: 3s}"

// Start starts the environment. What it started it ends again when it fails.
func Start(ctx context.Context, o Options) (*Env, error) {
	if o.Policy == "" {
		o.Policy = demoPolicy
	}
	if o.Ledger == "" {
		o.Ledger = "ledger.db"
	}
	e := &Env{log: o.Log}
	if err := e.start(ctx, o); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (e *Env) start(ctx context.Context, o Options) error {
	binary, err := temporal.Find(ctx, o.Progress)
	if err != nil {
		return err
	}
	if e.World, err = sandbox.Start(sandbox.Options{Dir: filepath.Join(o.Dir, "blog.git"), SiteDelay: time.Second, MergeabilityDelay: 1}); err != nil {
		return err
	}
	fmt.Fprintln(o.Progress, "Starting Temporal …")
	e.Temporal, err = temporal.Start(ctx, temporal.Options{
		Binary: binary, DBFile: filepath.Join(o.Dir, "temporal.db"), UIPort: o.UIPort, Headless: o.Headless, SearchAttributes: service.SearchAttributes,
	})
	if err != nil {
		return err
	}
	if e.ConfigFile, err = Configure(o.Dir, e.World, o.Ledger, o.Policy); err != nil {
		return err
	}
	if e.Config, err = config.Load(e.ConfigFile); err != nil {
		return err
	}
	if err := narrow(e.Config.Calendar, o.Channels); err != nil {
		return err
	}
	if e.Calendar, err = calendar.Read(e.Config.Calendar); err != nil {
		return err
	}
	e.Client, err = service.Dial(ctx, client.Options{HostPort: e.Temporal.Address()}, o.Log)
	return err
}

// Configure writes the examples into a folder, with a configuration that has the world's addresses, and
// answers the configuration's path. Ledger and policy are written as in colophon.yaml.
func Configure(dir string, w *sandbox.World, ledger, policy string) (string, error) {
	if err := os.CopyFS(filepath.Join(dir, "examples"), examples.Files); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	for name, secret := range map[string]string{
		"github": sandbox.GitHubToken, "mastodon": sandbox.MastodonToken, "indexnow": sandbox.IndexNowKey, "bluesky": sandbox.BlueskyPassword, "devto": sandbox.DevToKey,
		"x-consumer": sandbox.XConsumerKey, "x-consumer-secret": sandbox.XConsumerSecret, "x": sandbox.XAccessToken, "x-secret": sandbox.XAccessSecret,
	} {
		if err := os.WriteFile(filepath.Join(dir, name+".token"), []byte(secret), 0o600); err != nil {
			return "", err
		}
	}
	text := fmt.Sprintf(`# The demo's configuration: a world on this machine.
site: {title: The Example, article: "%[1]s/posts/{slug}/", index: "%[1]s/", sitemap: "%[1]s/sitemap.xml", feed: "%[1]s/feed.xml"}
repository:
  name: %[2]s/%[3]s
  path: posts/{slug}.md
  api: "%[4]s"
  write_gap: 20ms # the sandbox has no limits; nor have its channels
  token: {file: "%[5]s/github.token"}
  author: {name: Colophon, email: colophon@example.org}
calendar: examples/calendar.yaml
ledger: "%[15]s"
channels:
  indexnow: {kind: indexnow, gap: 20ms, endpoint: "%[6]s/indexnow", key: {file: "%[5]s/indexnow.token"}, key_location: "%[1]s/%[7]s.txt"}
  mastodon: {kind: mastodon, gap: 20ms, server: "%[8]s", account: %[9]s, token: {file: "%[5]s/mastodon.token"}, language: en, template: "{title}\n\n{description}\n\n{url} {tags}"}
  bluesky: {kind: bluesky, gap: 20ms, server: "%[11]s", account: %[12]s, password: {file: "%[5]s/bluesky.token"}, language: en}
  devto: {kind: devto, gap: 20ms, server: "%[13]s", account: %[9]s, key: {file: "%[5]s/devto.token"}}
  x: {kind: x, gap: 20ms, server: "%[14]s", account: %[9]s, consumer_key: {file: "%[5]s/x-consumer.token"}, consumer_secret: {file: "%[5]s/x-consumer-secret.token"}, access_token: {file: "%[5]s/x.token"}, access_secret: {file: "%[5]s/x-secret.token"}}
policy: %[10]s
`, w.SitePort.URL(), sandbox.Owner, sandbox.Repo, w.GitHubPort.URL(), dir, w.IndexNowPort.URL(), sandbox.IndexNowKey, w.MastodonPort.URL(), sandbox.Account, policy,
		w.BlueskyPort.URL(), sandbox.BlueskyHandle, w.DevToPort.URL(), w.XPort.URL(), ledger)
	file := filepath.Join(dir, "colophon.yaml")
	return file, os.WriteFile(file, []byte(text), 0o600)
}

var announced = regexp.MustCompile(`(?m)^(\s+channels: ).*$`)

// narrow has a calendar announce on fewer channels.
func narrow(file string, channels []string) error {
	if len(channels) == 0 {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, announced.ReplaceAll(text, fmt.Appendf(nil, "${1}[%s]", strings.Join(channels, ", "))), 0o600)
}

// Request is the request for the calendar's entry with a key.
func (e *Env) Request(key publish.Key) (publish.Request, error) {
	entry, err := e.Calendar.Find(key)
	if err != nil {
		return publish.Request{}, err
	}
	in, err := e.Config.Intent(entry)
	return publish.Request{Intent: in, Policy: e.Config.RunPolicy()}, err
}

// Work runs the real worker in this process until stop is called.
func (e *Env) Work(ctx context.Context) (parts *service.Parts, stop func(), err error) {
	if parts, err = service.Assemble(ctx, e.Config); err != nil {
		return nil, nil, err
	}
	w := service.NewWorker(e.Client, e.Config.TaskQueue, parts.Steps)
	if err := w.Start(); err != nil {
		return nil, nil, errors.Join(err, parts.Close())
	}
	return parts, func() { w.Stop(); _ = parts.Close() }, nil
}

// RunURL is where the Web UI shows a run.
func (e *Env) RunURL(id, runID string) string {
	return fmt.Sprintf("%s/namespaces/%s/workflows/%s/%s/user-metadata", e.Temporal.UIURL(), temporal.Namespace, strings.ReplaceAll(strings.ReplaceAll(id, "/", "%2F"), ":", "%3A"), runID)
}

// Close ends everything that Start started.
func (e *Env) Close() error {
	var err error
	if e.Client.Client != nil {
		e.Client.Close()
	}
	if e.Temporal != nil {
		err = e.Temporal.Stop()
	}
	if e.World != nil {
		e.World.Close()
	}
	return err
}
