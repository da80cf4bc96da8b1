// Package bluesky is a Bluesky PDS for one account, strict where the real one is: its answers are those that
// @atproto/pds 0.4.217 and 0.5.35 gave.
package bluesky

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
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

	"github.com/rivo/uniseg"
)

// Options describe the server.
type Options struct {
	Handle   string // "press.test" unless set
	Password string
	// Now is the server's clock for records; time.Now unless set.
	Now func() time.Time
	// AccessLife is how long an access token holds; two hours unless set.
	AccessLife time.Duration
	// SignIns are how many sessions may be opened in five minutes; 30 unless set.
	SignIns int
}

// DID is the account's.
const DID = "did:plc:ewvi7nxzyoun6zhxrhs64oiz"

const collection = "app.bsky.feed.post"

// Record is one post.
type Record struct {
	Key     string `json:"key"`
	CID     string `json:"cid"`
	Text    string `json:"text"`
	Link    string `json:"link"` // of the card, or else of the first facet
	Created string `json:"created"`
	value   json.RawMessage
}

// Server is the server. It is safe for concurrent use.
type Server struct {
	options Options
	mux     *http.ServeMux

	mu       sync.Mutex
	records  map[string]Record
	tokens   map[string]token
	sessions []time.Time
	reads    int
	serial   int
}

type token struct {
	kind    string // access, refresh
	expires time.Time
}

// New makes a server without posts.
func New(o Options) *Server {
	if o.Handle == "" {
		o.Handle = "press.test"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.AccessLife == 0 {
		o.AccessLife = 2 * time.Hour
	}
	if o.SignIns == 0 {
		o.SignIns = 30
	}
	s := &Server{options: o, mux: http.NewServeMux(), records: map[string]Record{}, tokens: map[string]token{}}
	s.mux.HandleFunc("POST /xrpc/com.atproto.server.createSession", s.createSession)
	s.mux.HandleFunc("POST /xrpc/com.atproto.server.refreshSession", s.authorized("refresh", s.refreshSession))
	s.mux.HandleFunc("POST /xrpc/com.atproto.repo.putRecord", s.authorized("access", s.write))
	s.mux.HandleFunc("POST /xrpc/com.atproto.repo.createRecord", s.authorized("access", s.write))
	s.mux.HandleFunc("GET /xrpc/com.atproto.repo.getRecord", s.get)
	s.mux.HandleFunc("GET /xrpc/com.atproto.repo.listRecords", s.list)
	s.mux.HandleFunc("GET /profile/{did}", s.profile)
	return s
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Records lists the posts, oldest key first.
func (s *Server) Records() []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sorted()
}

func (s *Server) sorted() []Record {
	var out []Record
	for _, r := range s.records {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Record) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// Reads counts how often posts were read back.
func (s *Server) Reads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads
}

// Sessions counts how often somebody signed in with the password.
func (s *Server) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}

// Expire ends every session's access, though its tokens do not say so.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, t := range s.tokens {
		if t.kind == "access" {
			t.expires = time.Time{}
			s.tokens[name] = t
		}
	}
}

// Delete takes a post away, as its owner would.
func (s *Server) Delete(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.records, key)
}

// Add puts a post on the account, as its owner would in the vendor's program, and answers it.
func (s *Server) Add(text, link string) Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	n := uint64(s.options.Now().UnixMicro()+int64(s.serial)) << 10
	var key strings.Builder
	for shift := 60; shift >= 0; shift -= 5 {
		key.WriteByte("234567abcdefghijklmnopqrstuvwxyz"[n>>shift&31])
	}
	value, _ := json.Marshal(map[string]any{
		"$type": collection, "text": text, "createdAt": s.options.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
		"facets": []any{map[string]any{
			"index":    map[string]int{"byteStart": 0, "byteEnd": len(text)},
			"features": []any{map[string]string{"$type": "app.bsky.richtext.facet#link", "uri": link}},
		}},
	})
	return s.keep(key.String(), value)
}

func (s *Server) keep(key string, value json.RawMessage) Record {
	var v post
	_ = json.Unmarshal(value, &v)
	r := Record{Key: key, CID: cid(value), Text: v.Text, Created: v.CreatedAt, Link: v.link(), value: value}
	s.records[key] = r
	return r
}

// cid names a value by its content. It looks like a real one, and is none.
func cid(value []byte) string {
	sum := sha256.Sum256(value)
	return "bafyrei" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
}

// post is what the lexicon app.bsky.feed.post says of a record, as far as it is looked at.
type post struct {
	Type      string `json:"$type"`
	Text      string `json:"text"`
	CreatedAt string `json:"createdAt"`
	Facets    []struct {
		Index    struct{ ByteStart, ByteEnd int }
		Features []struct{ URI string }
	} `json:"facets"`
	Embed struct{ External struct{ URI string } } `json:"embed"`
}

func (p post) link() string {
	if p.Embed.External.URI != "" {
		return p.Embed.External.URI
	}
	for _, f := range p.Facets {
		for _, g := range f.Features {
			if g.URI != "" {
				return g.URI
			}
		}
	}
	return ""
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, name, message string) {
	answer(w, status, map[string]string{"error": name, "message": message})
}

func (s *Server) createSession(w http.ResponseWriter, r *http.Request) {
	var in struct{ Identifier, Password string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		refuse(w, http.StatusBadRequest, "InvalidRequest", "Input must be JSON")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	lately := 0
	for _, at := range s.sessions {
		if now.Sub(at) < 5*time.Minute {
			lately++
		}
	}
	if lately >= s.options.SignIns || len(s.sessions) >= 300 {
		w.Header().Set("RateLimit-Limit", strconv.Itoa(s.options.SignIns))
		w.Header().Set("RateLimit-Remaining", "0")
		w.Header().Set("RateLimit-Reset", strconv.FormatInt(now.Add(5*time.Minute).Unix(), 10))
		refuse(w, http.StatusTooManyRequests, "RateLimitExceeded", "Rate Limit Exceeded")
		return
	}
	s.sessions = append(s.sessions, now)
	if !strings.EqualFold(in.Identifier, s.options.Handle) && in.Identifier != DID || in.Password != s.options.Password {
		refuse(w, http.StatusUnauthorized, "AuthenticationRequired", "Invalid identifier or password")
		return
	}
	s.tokensFor(w)
}

func (s *Server) refreshSession(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tokens, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	s.tokensFor(w)
}

func (s *Server) tokensFor(w http.ResponseWriter) {
	issue := func(kind string, life time.Duration) string {
		s.serial++
		expires := time.Now().Add(life)
		claims, _ := json.Marshal(map[string]any{"scope": "com.atproto." + kind, "sub": DID, "exp": expires.Unix(), "jti": s.serial})
		t := base64.RawURLEncoding.EncodeToString([]byte(`{"typ":"JWT","alg":"none"}`)) + "." + base64.RawURLEncoding.EncodeToString(claims) + ".x"
		s.tokens[t] = token{kind, expires}
		return t
	}
	answer(w, http.StatusOK, map[string]any{
		"did": DID, "handle": s.options.Handle, "active": true, "accessJwt": issue("access", s.options.AccessLife), "refreshJwt": issue("refresh", 90*24*time.Hour),
	})
}

func (s *Server) authorized(kind string, f http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		given := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		s.mu.Lock()
		t, known := s.tokens[given]
		s.mu.Unlock()
		switch {
		case given == "":
			refuse(w, http.StatusUnauthorized, "AuthMissing", "Authentication Required")
		case !known || t.kind != kind:
			refuse(w, http.StatusBadRequest, "InvalidToken", "Token could not be verified")
		case time.Now().After(t.expires):
			refuse(w, http.StatusBadRequest, "ExpiredToken", "Token has expired")
		default:
			f(w, r)
		}
	}
}

var tid = regexp.MustCompile(`^[2-7a-j][2-7a-z]{12}$`)

// write is putRecord, and createRecord, which differ in what they do where there is a record.
func (s *Server) write(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Repo, Collection, RKey string
		Record                 json.RawMessage
		SwapRecord             json.RawMessage
	}
	var v post
	err := json.NewDecoder(r.Body).Decode(&in)
	if err == nil {
		err = json.Unmarshal(in.Record, &v)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, "InvalidRequest", "Input must be JSON")
		return
	}
	if said := invalid(in.Repo, in.Collection, in.RKey, v); said != "" {
		refuse(w, http.StatusBadRequest, "InvalidRequest", said)
		return
	}
	var value bytes.Buffer
	_ = json.Compact(&value, in.Record)
	s.mu.Lock()
	defer s.mu.Unlock()
	was, exists := s.records[in.RKey]
	out := map[string]any{"uri": uri(in.RKey), "cid": cid(value.Bytes()), "validationStatus": "valid"}
	switch {
	case strings.HasSuffix(r.URL.Path, "createRecord") && exists:
		refuse(w, http.StatusInternalServerError, "InternalServerError", "Internal Server Error") // atproto#3718
		return
	case exists && was.CID == out["cid"]: // nothing to do: an answer without a commit
	case exists && string(in.SwapRecord) == "null":
		refuse(w, http.StatusBadRequest, "InvalidSwap", "Record was at "+was.CID)
		return
	default:
		s.keep(in.RKey, value.Bytes())
		out["commit"] = map[string]string{"cid": cid([]byte(in.RKey)), "rev": in.RKey}
	}
	answer(w, http.StatusOK, out)
}

func uri(key string) string { return "at://" + DID + "/" + collection + "/" + key }

// invalid says what the lexicon has against a post.
func invalid(repo, coll, key string, v post) string {
	switch {
	case repo != DID:
		return "Could not find repo: " + repo
	case coll != collection || v.Type != collection:
		return "Invalid $type: expected " + collection
	case !tid.MatchString(key):
		return "Invalid record key for " + collection
	case len(v.Text) > 3000:
		return "Record/text must not be longer than 3000 characters"
	case uniseg.GraphemeClusterCount(v.Text) > 300:
		return "Record/text must not be longer than 300 graphemes"
	}
	if _, err := time.Parse(time.RFC3339, v.CreatedAt); err != nil {
		return "Record/createdAt must be an valid atproto datetime"
	}
	for _, f := range v.Facets {
		if f.Index.ByteStart < 0 || f.Index.ByteEnd <= f.Index.ByteStart || f.Index.ByteEnd > len(v.Text) {
			return fmt.Sprintf("Record/facets: %d to %d is not within the text", f.Index.ByteStart, f.Index.ByteEnd)
		}
	}
	return ""
}

func (s *Server) get(w http.ResponseWriter, r *http.Request) {
	key := r.URL.Query().Get("rkey")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	rec, ok := s.records[key]
	if !ok || r.URL.Query().Get("repo") != DID || r.URL.Query().Get("collection") != collection {
		refuse(w, http.StatusBadRequest, "RecordNotFound", "Could not locate record: "+uri(key))
		return
	}
	answer(w, http.StatusOK, map[string]any{"uri": uri(key), "cid": rec.CID, "value": rec.value})
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit, err := strconv.Atoi(q.Get("limit"))
	if err != nil || limit < 1 || limit > 100 {
		limit = 50
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	page := []any{}
	out := map[string]any{}
	for _, rec := range slices.Backward(s.sorted()) {
		if c := q.Get("cursor"); c != "" && rec.Key >= c {
			continue
		}
		if len(page) == limit {
			break
		}
		page = append(page, map[string]any{"uri": uri(rec.Key), "cid": rec.CID, "value": rec.value})
		out["cursor"] = rec.Key
	}
	out["records"] = page
	answer(w, http.StatusOK, out)
}

var profilePage = template.Must(template.New("profile").Parse(`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>@{{.Handle}}</title>
<style>body{font:16px/1.5 system-ui;color-scheme:light dark;max-width:36rem;margin:2rem auto;padding:0 1rem}article{border:1px solid light-dark(#ddd,#333);border-radius:12px;padding:.4rem 1rem;margin:1rem 0;white-space:pre-line}</style>
<h1>@{{.Handle}}</h1>{{range .Records}}<article>{{.Text}}
<small>{{.Created}} · card: {{.Link}}</small></article>{{else}}<p>No posts yet.</p>{{end}}</html>`))

// profile shows the posts to a person.
func (s *Server) profile(w http.ResponseWriter, _ *http.Request) {
	records := s.Records()
	slices.Reverse(records)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = profilePage.Execute(w, map[string]any{"Handle": s.options.Handle, "Records": records})
}
