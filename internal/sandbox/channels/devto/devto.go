// Package devto is a Forem server, with one account whose key is known and others that have articles too, strict
// where the real one is.
package devto

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Options describe the server.
type Options struct {
	Username string // "press" unless set
	Key      string
	// Now is the server's clock; time.Now unless set.
	Now func() time.Time
	// Orphans has refused articles leave a draft behind (forem#16664).
	Orphans bool
	// Burst is how many articles may be published in thirty seconds; 10 unless set.
	Burst int
}

const userID = 1048576

// Article is one article.
type Article struct {
	ID        int64     `json:"id"`
	User      int64     `json:"user"`
	Title     string    `json:"title"`
	Body      string    `json:"body"`
	Canonical string    `json:"canonical"`
	Tags      []string  `json:"tags"`
	Published bool      `json:"published"`
	At        time.Time `json:"at"` // when it was published, or made
}

// Server is the server. It is safe for concurrent use.
type Server struct {
	options Options
	mux     *http.ServeMux

	mu       sync.Mutex
	articles []Article // oldest first
	reads    int
	updates  int
}

// New makes a server without articles.
func New(o Options) *Server {
	if o.Username == "" {
		o.Username = "press"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Burst == 0 {
		o.Burst = 10
	}
	s := &Server{options: o, mux: http.NewServeMux()}
	s.mux.HandleFunc("GET /api/users/me", s.authorized(s.whoami))
	s.mux.HandleFunc("GET /api/articles/me/{which}", s.authorized(s.list))
	s.mux.HandleFunc("GET /api/articles/{id}", s.show)
	s.mux.HandleFunc("POST /api/articles", s.authorized(s.create))
	s.mux.HandleFunc("PUT /api/articles/{id}", s.authorized(s.update))
	s.mux.HandleFunc("GET /{user}/{$}", s.profile)
	s.mux.HandleFunc("GET /{user}", s.profile)
	return s
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Articles lists the account's published articles, oldest first.
func (s *Server) Articles() []Article {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Article
	for _, a := range s.articles {
		if a.Published && a.User == userID {
			out = append(out, a)
		}
	}
	return out
}

// Reads counts how often articles were read back, Updates how often one was updated.
func (s *Server) Reads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads
}

// Updates counts how often an article was updated.
func (s *Server) Updates() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.updates
}

// Delete takes an article away, as its owner would.
func (s *Server) Delete(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.articles = slices.DeleteFunc(s.articles, func(a Article) bool { return strconv.FormatInt(a.ID, 10) == id })
}

// Add publishes an article by hand: by the account's owner, or by somebody else.
func (s *Server) Add(title, canonical string, other bool) Article {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := Article{User: userID, Title: title, Canonical: canonical, Published: true, Body: title}
	if other {
		a.User++
	}
	return s.add(a)
}

func (s *Server) add(a Article) Article {
	a.At, a.ID = s.options.Now().UTC().Truncate(time.Second), 2097152
	if n := len(s.articles); n > 0 {
		a.ID = s.articles[n-1].ID + 1
	}
	s.articles = append(s.articles, a)
	return a
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, said string) {
	answer(w, status, map[string]any{"error": said, "status": status})
}

func (s *Server) authorized(f http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("api-key") != s.options.Key:
			refuse(w, http.StatusUnauthorized, "unauthorized")
		case r.Header.Get("Accept") != "application/vnd.forem.api-v1+json":
			refuse(w, http.StatusNotAcceptable, "want API v1")
		default:
			f(w, r)
		}
	}
}

func (s *Server) whoami(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{"type_of": "user", "id": userID, "username": s.options.Username, "name": "The Press"})
}

type input struct {
	Article struct {
		Title        string   `json:"title"`
		Body         string   `json:"body_markdown"`
		Published    bool     `json:"published"`
		Tags         []string `json:"tags"`
		CanonicalURL string   `json:"canonical_url"`
		Description  string   `json:"description"`
	} `json:"article"`
}

func read(w http.ResponseWriter, r *http.Request) (in input, ok bool) {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil || in.Article.Title == "" && in.Article.Body == "" {
		refuse(w, http.StatusUnprocessableEntity, "param is missing or the value is empty: article")
		return in, false
	}
	return in, true
}

// wrong says what the server has against an article.
func (s *Server) wrong(in input, self int64) string {
	var said []string
	a := in.Article
	if utf8.RuneCountInString(a.Title) > 128 {
		said = append(said, "Title is too long (maximum is 128 characters)")
	}
	if len(a.Tags) > 4 {
		said = append(said, "Tag list exceed the maximum of 4 tags")
	}
	for _, t := range a.Tags {
		if strings.ContainsFunc(t, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
			said = append(said, fmt.Sprintf("Tag %q contains non-alphanumeric or prohibited unicode characters", t))
		}
	}
	for _, was := range s.articles {
		if was.ID == self || !was.Published {
			continue
		}
		if was.Canonical == a.CanonicalURL && a.CanonicalURL != "" {
			said = append(said, "Canonical url has already been taken. Email yo@dev.to for further details.")
		}
		if self == 0 && was.User == userID && was.Title == a.Title && s.options.Now().Sub(was.At) < 5*time.Minute {
			said = append(said, "Title has already been used in the last five minutes")
		}
	}
	return strings.Join(said, ", ")
}

func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	in, ok := read(w, r)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	lately := 0
	for _, a := range s.articles {
		if a.User == userID && a.Title != a.Body && s.options.Now().Sub(a.At) < 30*time.Second { // by hand there is no limit
			lately++
		}
	}
	if lately >= s.options.Burst {
		w.Header().Set("Retry-After", "30")
		refuse(w, http.StatusTooManyRequests, "Rate limit reached, try again in 30 seconds")
		return
	}
	a := Article{User: userID, Title: in.Article.Title, Body: in.Article.Body, Canonical: in.Article.CanonicalURL, Tags: in.Article.Tags, Published: in.Article.Published}
	if said := s.wrong(in, 0); said != "" {
		if s.options.Orphans {
			a.Published = false
			s.add(a)
		}
		refuse(w, http.StatusUnprocessableEntity, said)
		return
	}
	answer(w, http.StatusCreated, s.body(s.add(a), r))
}

func (s *Server) update(w http.ResponseWriter, r *http.Request) {
	in, ok := read(w, r)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := slices.IndexFunc(s.articles, func(a Article) bool { return strconv.FormatInt(a.ID, 10) == r.PathValue("id") && a.User == userID })
	if n < 0 {
		refuse(w, http.StatusNotFound, "not found")
		return
	}
	if said := s.wrong(in, s.articles[n].ID); said != "" {
		refuse(w, http.StatusUnprocessableEntity, said)
		return
	}
	s.updates++
	a := &s.articles[n]
	a.Title, a.Body, a.Tags, a.Canonical, a.Published = in.Article.Title, in.Article.Body, in.Article.Tags, in.Article.CanonicalURL, in.Article.Published
	answer(w, http.StatusOK, s.body(*a, r))
}

func (s *Server) body(a Article, r *http.Request) map[string]any {
	out := map[string]any{
		"type_of": "article", "id": a.ID, "title": a.Title, "canonical_url": a.Canonical, "body_markdown": a.Body, "tag_list": a.Tags,
		"published": a.Published, "published_at": nil, "url": fmt.Sprintf("http://%s/%s/%d", r.Host, s.options.Username, a.ID),
		"user": map[string]any{"user_id": a.User, "username": s.options.Username},
	}
	if a.Published {
		out["published_at"] = a.At.Format(time.RFC3339)
	}
	return out
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	page, size := 1, 30
	if n, err := strconv.Atoi(r.URL.Query().Get("page")); err == nil && n > 0 {
		page = n
	}
	if n, err := strconv.Atoi(r.URL.Query().Get("per_page")); err == nil && n > 0 {
		size = min(n, 1000)
	}
	which := r.PathValue("which")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	// Drafts come first, as their time is null.
	var mine []Article
	for _, drafts := range []bool{true, false} {
		for _, a := range slices.Backward(s.articles) {
			if a.User == userID && a.Published != drafts && (which == "all" || (which == "published") == a.Published) {
				mine = append(mine, a)
			}
		}
	}
	out := []any{}
	for n := (page - 1) * size; n < min(page*size, len(mine)); n++ {
		out = append(out, s.body(mine[n], r))
	}
	answer(w, http.StatusOK, out)
}

func (s *Server) show(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	n := slices.IndexFunc(s.articles, func(a Article) bool { return strconv.FormatInt(a.ID, 10) == r.PathValue("id") && a.Published })
	if n < 0 {
		refuse(w, http.StatusNotFound, "not found")
		return
	}
	answer(w, http.StatusOK, s.body(s.articles[n], r))
}

var profilePage = template.Must(template.New("profile").Parse(`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>{{.User}}</title>
<style>body{font:16px/1.5 system-ui;color-scheme:light dark;max-width:36rem;margin:2rem auto;padding:0 1rem}pre{white-space:pre-wrap;border:1px solid light-dark(#ddd,#333);padding:1rem}</style>
<h1>{{.User}}</h1>{{range .Articles}}<h2>{{.Title}}</h2><p>canonical: {{.Canonical}}</p><pre>{{.Body}}</pre>{{else}}<p>No articles yet.</p>{{end}}</html>`))

// profile shows the articles to a person.
func (s *Server) profile(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = profilePage.Execute(w, map[string]any{"User": s.options.Username, "Articles": s.Articles()})
}
