// Package indexnow is a search engine's IndexNow endpoint, strict as https://www.indexnow.org/documentation
// says.
package indexnow

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Ping is one URL that was announced.
type Ping struct {
	URL string    `json:"url"`
	At  time.Time `json:"at"`
}

// Server is the endpoint. It is safe for concurrent use.
type Server struct {
	client *http.Client

	mu     sync.Mutex
	pings  []Ping
	answer int // to what is otherwise accepted; 200 if 0
}

// New makes an endpoint that checks keys by fetching their files.
func New() *Server { return &Server{client: &http.Client{Timeout: 5 * time.Second}} }

// Pings lists what was announced, oldest first.
func (s *Server) Pings() []Ping {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.pings)
}

// Answer sets the status that answers a ping from now on. What is no success, is not kept.
func (s *Server) Answer(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = status
}

var keyShape = regexp.MustCompile(`^[A-Za-z0-9-]{8,128}$`)

// ServeHTTP answers POST /indexnow.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/indexnow" || r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	var in struct {
		Host, Key, KeyLocation string
		URLList                []string
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Host == "" || len(in.URLList) == 0 || len(in.URLList) > 10_000 {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, raw := range in.URLList {
		if u, err := url.Parse(raw); err != nil || u.Host != in.Host {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
	}
	if !keyShape.MatchString(in.Key) || !s.holds(in.KeyLocation, in.Host, in.Key) {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	status := s.answer
	if status == 0 {
		status = http.StatusOK
	}
	if status/100 != 2 {
		w.WriteHeader(status)
		return
	}
	for _, u := range in.URLList {
		s.pings = append(s.pings, Ping{URL: u, At: time.Now().UTC()})
	}
	w.WriteHeader(status)
}

// holds says whether the key's file is on the host and holds the key.
func (s *Server) holds(location, host, key string) bool {
	u, err := url.Parse(location)
	if err != nil || u.Host != host {
		return false
	}
	resp, err := s.client.Get(location)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1000))
	return err == nil && resp.StatusCode == http.StatusOK && strings.TrimSpace(string(body)) == key
}
