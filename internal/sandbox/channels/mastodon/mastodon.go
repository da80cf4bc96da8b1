// Package mastodon is a Mastodon server for one account, strict where real ones are.
package mastodon

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Options describe the server.
type Options struct {
	Account  string // its name without @, "press" unless set
	Token    string
	Make     Make
	MaxChars int // 500 unless set
	// Now is the server's clock; time.Now unless set.
	Now func() time.Time
}

// Make is what kind of server it is, which is above all how it treats an Idempotency-Key.
type Make string

// The makes. All that is common to them is the API.
const (
	// Current is Mastodon as it is: a key is kept for an hour per account, and answered with the post it made.
	Current Make = ""
	// Racing is Mastodon before #37879: two requests with one key at the same time make two posts.
	Racing Make = "racing"
	// Replay500 is Mastodon 4.6.1 (#40399): the second request with a key is answered with 500.
	Replay500 Make = "4.6.1"
	// Pleroma keeps keys for all accounts together, and keeps the refusals that they were answered with too.
	Pleroma Make = "pleroma"
	// GoToSocial has never heard of keys, and answers 400 where Mastodon answers 422.
	GoToSocial Make = "gotosocial"
)

var versions = map[Make]string{
	Current: "4.5.0", Racing: "4.4.8", Replay500: "4.6.1", Pleroma: "2.7.2 (compatible; Pleroma 2.9.1)", GoToSocial: "0.20.2+git-3a1f",
}

// Status is one post.
type Status struct {
	ID      string    `json:"id"`
	Text    string    `json:"text"`
	Created time.Time `json:"created"`
}

const (
	accountID = "109348684538214901"
	urlChars  = 23
	keyLife   = time.Hour
)

// Server is the server. It is safe for concurrent use.
type Server struct {
	options Options
	mux     *http.ServeMux

	mu       sync.Mutex
	statuses []Status // oldest first
	keys     map[string]used
	reads    int // of the account's statuses
}

// used is how a key was answered.
type used struct {
	id      string // of the post, if one was made
	at      time.Time
	refused int // the status of the refusal, if it was refused
}

// New makes a server without posts.
func New(o Options) *Server {
	if o.Account == "" {
		o.Account = "press"
	}
	if o.MaxChars == 0 {
		o.MaxChars = 500
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{options: o, mux: http.NewServeMux(), keys: map[string]used{}}
	s.mux.HandleFunc("GET /api/v2/instance", s.instance)
	s.mux.HandleFunc("GET /api/v1/accounts/verify_credentials", s.authorized(s.whoami))
	s.mux.HandleFunc("GET /api/v1/accounts/{id}/statuses", s.authorized(s.list))
	s.mux.HandleFunc("POST /api/v1/statuses", s.authorized(s.post))
	s.mux.HandleFunc("GET /api/v1/statuses/{id}", s.authorized(s.show))
	s.mux.HandleFunc("DELETE /api/v1/statuses/{id}", s.authorized(s.remove))
	s.mux.HandleFunc("GET /{rest...}", s.profile)
	return s
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Statuses lists the posts, oldest first.
func (s *Server) Statuses() []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.statuses)
}

// Delete takes a post away, as its owner would.
func (s *Server) Delete(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.statuses = slices.DeleteFunc(s.statuses, func(st Status) bool { return st.ID == id })
}

// Reads counts how often the account's posts were read back.
func (s *Server) Reads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads
}

// Add puts a post on the account, as its owner would by hand.
func (s *Server) Add(text string, at time.Time) Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(text, at)
}

func (s *Server) add(text string, at time.Time) Status {
	id := at.UnixMilli() << 16
	if n := len(s.statuses); n > 0 {
		last, _ := strconv.ParseInt(s.statuses[n-1].ID, 10, 64)
		id = max(id, last+1)
	}
	st := Status{ID: strconv.FormatInt(id, 10), Text: text, Created: at.UTC()}
	s.statuses = append(s.statuses, st)
	return st
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (s *Server) authorized(f http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-RateLimit-Limit", "300")
		w.Header().Set("X-RateLimit-Remaining", "299")
		w.Header().Set("X-RateLimit-Reset", s.options.Now().UTC().Add(5*time.Minute).Format("2006-01-02T15:04:05.000000Z"))
		if r.Header.Get("Authorization") != "Bearer "+s.options.Token {
			answer(w, http.StatusUnauthorized, map[string]string{"error": "The access token is invalid"})
			return
		}
		f(w, r)
	}
}

func (s *Server) instance(w http.ResponseWriter, r *http.Request) {
	answer(w, http.StatusOK, map[string]any{"domain": r.Host, "version": versions[s.options.Make], "configuration": map[string]any{
		"statuses": map[string]any{"max_characters": s.options.MaxChars, "characters_reserved_per_url": urlChars},
	}})
}

func (s *Server) account(r *http.Request) map[string]any {
	return map[string]any{"id": accountID, "username": s.options.Account, "acct": s.options.Account, "url": "http://" + r.Host + "/@" + s.options.Account}
}

func (s *Server) whoami(w http.ResponseWriter, r *http.Request) {
	answer(w, http.StatusOK, s.account(r))
}

var link = regexp.MustCompile(`https?://[^\s<>"]+`)

func (s *Server) post(w http.ResponseWriter, r *http.Request) {
	var in struct{ Status, Visibility, Language string }
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		answer(w, http.StatusBadRequest, map[string]string{"error": "Invalid JSON"})
		return
	}
	key := r.Header.Get("Idempotency-Key")
	if s.options.Make == GoToSocial {
		key = ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.replayed(w, r, key) {
		return
	}
	if s.options.Make == Racing { // another request with the key finds it unused, too
		s.mu.Unlock()
		time.Sleep(20 * time.Millisecond)
		s.mu.Lock()
	}
	refused := http.StatusUnprocessableEntity
	if s.options.Make == GoToSocial {
		refused = http.StatusBadRequest
	}
	short := link.ReplaceAllString(in.Status, strings.Repeat("x", urlChars))
	said := ""
	switch {
	case strings.TrimSpace(in.Status) == "":
		said = "Validation failed: Text can't be blank"
	case utf8.RuneCountInString(short) > s.options.MaxChars:
		said = fmt.Sprintf("Validation failed: Text character limit of %d exceeded", s.options.MaxChars)
	}
	now := s.options.Now()
	if said != "" {
		if s.options.Make == Pleroma {
			s.keys[key] = used{at: now, refused: refused}
		}
		answer(w, refused, map[string]string{"error": said})
		return
	}
	st := s.add(in.Status, now)
	s.keys[key] = used{id: st.ID, at: now}
	answer(w, http.StatusOK, s.body(st, r))
}

// replayed answers a request whose key was used before, as the server's make does.
func (s *Server) replayed(w http.ResponseWriter, r *http.Request, key string) bool {
	was, known := s.keys[key]
	if key == "" || !known || s.options.Now().Sub(was.at) >= keyLife {
		return false
	}
	n := slices.IndexFunc(s.statuses, func(st Status) bool { return st.ID == was.id })
	switch {
	case was.refused != 0:
		answer(w, was.refused, map[string]string{"error": "Validation failed"})
	case n < 0: // deleted since
		return false
	case s.options.Make == Replay500:
		answer(w, http.StatusInternalServerError, map[string]string{"error": "An unexpected error occurred"})
	default:
		answer(w, http.StatusOK, s.body(s.statuses[n], r))
	}
	return true
}

// body is a status as the API shows it: its text as HTML, with links taken apart for the eye.
func (s *Server) body(st Status, r *http.Request) map[string]any {
	content := template.HTMLEscapeString(st.Text)
	content = link.ReplaceAllStringFunc(content, func(u string) string {
		scheme, rest, _ := strings.Cut(u, "://")
		shown, hidden := rest, ""
		if len(rest) > 30 {
			shown, hidden = rest[:30], rest[30:]
		}
		return fmt.Sprintf(`<a href="%s" target="_blank" rel="nofollow noopener" translate="no"><span class="invisible">%s://</span><span class="ellipsis">%s</span><span class="invisible">%s</span></a>`, u, scheme, shown, hidden)
	})
	content = "<p>" + strings.ReplaceAll(strings.ReplaceAll(content, "\n\n", "</p><p>"), "\n", "<br />") + "</p>"
	u := "http://" + r.Host + "/@" + s.options.Account + "/" + st.ID
	return map[string]any{
		"id": st.ID, "created_at": st.Created.Format("2006-01-02T15:04:05.000Z"), "visibility": "public", "content": content, "url": u, "uri": u,
		"account": s.account(r), "in_reply_to_id": nil, "reblog": nil,
	}
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("id") != accountID {
		answer(w, http.StatusNotFound, map[string]string{"error": "Record not found"})
		return
	}
	q := r.URL.Query()
	limit, err := strconv.Atoi(q.Get("limit"))
	if err != nil || limit < 1 {
		limit = 20
	}
	limit = min(limit, 40)
	number := func(name string) int64 { n, _ := strconv.ParseInt(q.Get(name), 10, 64); return n }
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	page := []map[string]any{}
	for _, st := range slices.Backward(s.statuses) {
		id, _ := strconv.ParseInt(st.ID, 10, 64)
		if m := number("max_id"); m != 0 && id >= m || id <= number("since_id") && q.Has("since_id") {
			continue
		}
		if len(page) == limit {
			w.Header().Set("Link", fmt.Sprintf(`<http://%s%s?limit=%d&max_id=%s>; rel="next"`, r.Host, r.URL.Path, limit, page[limit-1]["id"]))
			break
		}
		page = append(page, s.body(st, r))
	}
	answer(w, http.StatusOK, page)
}

func (s *Server) show(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	n := slices.IndexFunc(s.statuses, func(st Status) bool { return st.ID == r.PathValue("id") })
	if n < 0 {
		answer(w, http.StatusNotFound, map[string]string{"error": "Record not found"})
		return
	}
	answer(w, http.StatusOK, s.body(s.statuses[n], r))
}

func (s *Server) remove(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := slices.IndexFunc(s.statuses, func(st Status) bool { return st.ID == r.PathValue("id") })
	if n < 0 {
		answer(w, http.StatusNotFound, map[string]string{"error": "Record not found"})
		return
	}
	gone := s.statuses[n]
	s.statuses = slices.Delete(s.statuses, n, n+1)
	answer(w, http.StatusOK, s.body(gone, r))
}

var profilePage = template.Must(template.New("profile").Parse(`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>@{{.Account}}</title>
<style>body{font:16px/1.5 system-ui;color-scheme:light dark;max-width:36rem;margin:2rem auto;padding:0 1rem}article{border:1px solid light-dark(#ddd,#333);border-radius:12px;padding:.4rem 1rem;margin:1rem 0}.invisible{display:none}.ellipsis:after{content:"…"}time{color:gray;font-size:.8rem}</style>
<h1>@{{.Account}}</h1>{{range .Posts}}<article id="{{.ID}}">{{.HTML}}<time>{{.Created.Format "2006-01-02 15:04:05"}}</time></article>{{else}}<p>No posts yet.</p>{{end}}</html>`))

// profile shows the posts to a person, or one of them.
func (s *Server) profile(w http.ResponseWriter, r *http.Request) {
	type shown struct {
		Status
		HTML template.HTML
	}
	var posts []shown
	for _, st := range slices.Backward(s.Statuses()) {
		name, id, one := strings.Cut(strings.TrimPrefix(r.PathValue("rest"), "@"), "/")
		if name != "" && name != s.options.Account {
			http.NotFound(w, r)
			return
		}
		if !one || id == st.ID {
			posts = append(posts, shown{st, template.HTML(s.body(st, r)["content"].(string))}) //nolint:gosec // escaped by body
		}
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = profilePage.Execute(w, map[string]any{"Account": s.options.Account, "Posts": posts})
}
