// Package x is the X API for one account, strict where the real one is: it checks signatures (RFC 5849), shortens
// links, and refuses a text twice.
package x

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options describe the server.
type Options struct {
	Username                                               string // "press" unless set
	ConsumerKey, ConsumerSecret, AccessToken, AccessSecret string
	// Now is the server's clock; time.Now unless set.
	Now func() time.Time
}

const userID = "2244994945"

// Post is one post.
type Post struct {
	ID      string    `json:"id"`
	Text    string    `json:"text"`
	Created time.Time `json:"created"`
}

// Server is the server. It is safe for concurrent use.
type Server struct {
	options Options
	mux     *http.ServeMux

	mu    sync.Mutex
	posts []Post // oldest first
	reads int
}

// New makes a server without posts.
func New(o Options) *Server {
	if o.Username == "" {
		o.Username = "press"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{options: o, mux: http.NewServeMux()}
	s.mux.HandleFunc("GET /2/users/me", s.authorized(s.whoami))
	s.mux.HandleFunc("GET /2/users/{id}/tweets", s.authorized(s.list))
	s.mux.HandleFunc("GET /2/tweets/{id}", s.authorized(s.show))
	s.mux.HandleFunc("POST /2/tweets", s.authorized(s.post))
	s.mux.HandleFunc("GET /{user}", s.profile)
	return s
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Posts lists the posts, oldest first.
func (s *Server) Posts() []Post {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.posts)
}

// Reads counts how often posts were read back.
func (s *Server) Reads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads
}

// Delete takes a post away, as its owner would.
func (s *Server) Delete(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posts = slices.DeleteFunc(s.posts, func(p Post) bool { return p.ID == id })
}

// Add puts a post on the account, as its owner would by hand.
func (s *Server) Add(text string, at time.Time) Post {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(text, at)
}

func (s *Server) add(text string, at time.Time) Post {
	const epoch = 1288834974657 // of snowflakes
	id := (at.UnixMilli() - epoch) << 22
	if n := len(s.posts); n > 0 {
		last, _ := strconv.ParseInt(s.posts[n-1].ID, 10, 64)
		id = max(id, last+1)
	}
	p := Post{ID: strconv.FormatInt(id, 10), Text: text, Created: at.UTC()}
	s.posts = append(s.posts, p)
	return p
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, title, detail string) {
	answer(w, status, map[string]any{"title": title, "detail": detail, "type": "about:blank", "status": status})
}

func (s *Server) authorized(f http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("x-rate-limit-limit", "100")
		w.Header().Set("x-rate-limit-remaining", "99")
		w.Header().Set("x-rate-limit-reset", strconv.FormatInt(s.options.Now().Add(15*time.Minute).Unix(), 10))
		if !s.signed(r) {
			refuse(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
			return
		}
		f(w, r)
	}
}

// signed checks a request's HMAC-SHA1 signature. A JSON body is no part of it.
func (s *Server) signed(r *http.Request) bool {
	scheme, rest, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if scheme != "OAuth" {
		return false
	}
	given := map[string]string{}
	for _, part := range strings.Split(rest, ",") {
		k, v, _ := strings.Cut(strings.TrimSpace(part), "=")
		given[k], _ = url.QueryUnescape(strings.ReplaceAll(strings.Trim(v, `"`), "+", "%2B"))
	}
	var params []string
	for k, v := range given {
		if k != "oauth_signature" && k != "realm" {
			params = append(params, escape(k)+"="+escape(v))
		}
	}
	for k, all := range r.URL.Query() {
		for _, v := range all {
			params = append(params, escape(k)+"="+escape(v))
		}
	}
	slices.Sort(params)
	scheme = "http"
	if r.TLS != nil {
		scheme = "https"
	}
	base := r.Method + "&" + escape(scheme+"://"+r.Host+r.URL.Path) + "&" + escape(strings.Join(params, "&"))
	mac := hmac.New(sha1.New, []byte(escape(s.options.ConsumerSecret)+"&"+escape(s.options.AccessSecret)))
	mac.Write([]byte(base))
	return given["oauth_consumer_key"] == s.options.ConsumerKey && given["oauth_token"] == s.options.AccessToken &&
		given["oauth_signature"] == base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// escape is the percent-encoding of RFC 5849, 3.6.
func escape(s string) string {
	return strings.NewReplacer("+", "%20", "%7E", "~", "*", "%2A").Replace(url.QueryEscape(s))
}

func (s *Server) whoami(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{"data": map[string]string{"id": userID, "username": s.options.Username, "name": "The Press"}})
}

var link = regexp.MustCompile(`https?://[^\s<>"]+`)

func (s *Server) post(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Text string `json:"text"`
	}
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil || strings.TrimSpace(in.Text) == "" {
		refuse(w, http.StatusBadRequest, "Invalid Request", "One or more parameters to your request was invalid.")
		return
	}
	if len([]rune(link.ReplaceAllString(in.Text, strings.Repeat("x", 23)))) > 280 {
		refuse(w, http.StatusForbidden, "Forbidden", "Your Tweet text is too long. For more information on how Twitter determines text length see https://github.com/twitter/twitter-text.")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.posts, func(p Post) bool { return p.Text == in.Text }) {
		refuse(w, http.StatusForbidden, "Forbidden", "You are not allowed to create a Tweet with duplicate content.")
		return
	}
	p := s.add(in.Text, s.options.Now())
	answer(w, http.StatusCreated, map[string]any{"data": map[string]any{"id": p.ID, "text": s.body(p)["text"], "edit_history_tweet_ids": []string{p.ID}}})
}

// body is a post as the API shows it: its links shortened.
func (s *Server) body(p Post) map[string]any {
	urls := []any{}
	n := 0
	text := link.ReplaceAllStringFunc(p.Text, func(u string) string {
		short := fmt.Sprintf("https://t.co/%s%d", p.ID[len(p.ID)-8:], n)
		n++
		urls = append(urls, map[string]any{"url": short, "expanded_url": u, "display_url": strings.TrimPrefix(strings.TrimPrefix(u, "https://"), "http://")})
		return short
	})
	text = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
	return map[string]any{
		"id": p.ID, "text": text, "author_id": userID, "created_at": p.Created.Format("2006-01-02T15:04:05.000Z"),
		"entities": map[string]any{"urls": urls},
	}
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	size, err := strconv.Atoi(q.Get("max_results"))
	if err != nil {
		size = 10
	}
	if r.PathValue("id") != userID || size < 5 || size > 100 {
		refuse(w, http.StatusBadRequest, "Invalid Request", "One or more parameters to your request was invalid.")
		return
	}
	number := func(name string) int64 { n, _ := strconv.ParseInt(q.Get(name), 10, 64); return n }
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	page := []any{}
	meta := map[string]any{}
	last := ""
	for _, p := range slices.Backward(s.posts) {
		id, _ := strconv.ParseInt(p.ID, 10, 64)
		if until := number("pagination_token"); until != 0 && id >= until || id <= number("since_id") {
			continue
		}
		if len(page) == size {
			meta["next_token"] = last
			break
		}
		page, last = append(page, s.body(p)), p.ID
	}
	meta["result_count"] = len(page)
	out := map[string]any{"meta": meta}
	if len(page) > 0 {
		out["data"] = page
	}
	answer(w, http.StatusOK, out)
}

func (s *Server) show(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	id := r.PathValue("id")
	if _, err := strconv.ParseInt(id, 10, 64); err != nil {
		refuse(w, http.StatusBadRequest, "Invalid Request", "One or more parameters to your request was invalid.")
		return
	}
	n := slices.IndexFunc(s.posts, func(p Post) bool { return p.ID == id })
	if n < 0 {
		answer(w, http.StatusOK, map[string]any{"errors": []any{map[string]string{"title": "Not Found Error", "detail": "Could not find tweet with id: [" + id + "]."}}})
		return
	}
	answer(w, http.StatusOK, map[string]any{"data": s.body(s.posts[n])})
}

var profilePage = template.Must(template.New("profile").Parse(`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>@{{.User}}</title>
<style>body{font:16px/1.5 system-ui;color-scheme:light dark;max-width:36rem;margin:2rem auto;padding:0 1rem}article{border:1px solid light-dark(#ddd,#333);border-radius:12px;padding:.4rem 1rem;margin:1rem 0;white-space:pre-line}</style>
<h1>@{{.User}}</h1>{{range .Posts}}<article id="{{.ID}}">{{.Text}}
<small>{{.Created.Format "2006-01-02 15:04:05"}}</small></article>{{else}}<p>No posts yet.</p>{{end}}</html>`))

// profile shows the posts to a person.
func (s *Server) profile(w http.ResponseWriter, _ *http.Request) {
	posts := s.Posts()
	slices.Reverse(posts)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = profilePage.Execute(w, map[string]any{"User": s.options.Username, "Posts": posts})
}
