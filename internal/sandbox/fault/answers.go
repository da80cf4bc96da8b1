package fault

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"time"
)

// hang waits until the client has gone, or for a time if one is given.
func hang(gone <-chan struct{}, d time.Duration) {
	var end <-chan time.Time
	if d > 0 {
		end = time.After(d)
	}
	select {
	case <-gone:
	case <-end:
	}
}

// headers sets what a rule wants in an answer's head.
func (r *rule) headers(w http.ResponseWriter) {
	if r.RetryAfter != "" {
		w.Header().Set("Retry-After", r.RetryAfter)
	}
	for name, value := range r.Header {
		w.Header().Set(name, value)
	}
}

func status(w http.ResponseWriter, r *rule) {
	kind, body := "text/html", "<html><body>It went wrong.</body></html>"
	if r.Body != "" {
		kind, body = "application/json; charset=utf-8", r.Body
	}
	w.Header().Set("Content-Type", kind)
	r.headers(w)
	w.WriteHeader(r.Status)
	_, _ = w.Write([]byte(body))
}

// spoil sends a good answer, spoilt.
func spoil(w http.ResponseWriter, k Kind, rec *httptest.ResponseRecorder) {
	good := rec.Body.Bytes()
	for name, values := range rec.Header() {
		w.Header()[name] = values
	}
	w.Header().Del("Content-Length")
	switch k {
	case MissingID:
		w.WriteHeader(rec.Code)
		_, _ = w.Write(nameless(good))
	case EmptyBody:
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(rec.Code)
	case WrongType:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(rec.Code)
		_, _ = w.Write([]byte("<html><body>All is well.</body></html>"))
	case CutBody:
		w.WriteHeader(rec.Code)
		_, _ = w.Write(good[:len(good)/2])
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		reset(w)
	}
}

// reset ends the connection with a TCP reset instead of an answer.
func reset(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// nameless takes the members out of a JSON object that say what was made. Anything else stays as it is.
func nameless(body []byte) []byte {
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		return body
	}
	for _, name := range []string{"id", "sha", "number", "url", "object"} {
		delete(object, name)
	}
	rest, err := json.Marshal(object)
	if err != nil {
		return body
	}
	return rest
}
