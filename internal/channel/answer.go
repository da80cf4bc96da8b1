package channel

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ReadJSON reads an answer's whole body into v and closes it. A body that is cut, is no JSON or says
// that it is something else is an error: a success that cannot be read proves nothing.
func ReadJSON(resp *http.Response, v any) error {
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		return fmt.Errorf("read the answer: it is %q, not JSON", kind)
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}

// RetryAfter is how long an answer asks to wait, zero when it does not say: Retry-After in seconds or as
// a date (RFC 9110, 10.2.3), else X-RateLimit-Reset or RateLimit-Reset, in epoch seconds or ISO 8601.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if s := h.Get("Retry-After"); s != "" {
		if n, err := strconv.Atoi(s); err == nil {
			return max(time.Duration(n)*time.Second, 0)
		}
		if t, err := http.ParseTime(s); err == nil {
			return max(t.Sub(now), 0)
		}
	}
	for _, name := range []string{"X-RateLimit-Reset", "RateLimit-Reset"} {
		s := h.Get(name)
		if n, err := strconv.ParseInt(s, 10, 64); err == nil && n > 1e9 {
			return max(time.Unix(n, 0).Sub(now), 0)
		}
		if t, err := time.Parse(time.RFC3339, s); err == nil {
			return max(t.Sub(now), 0)
		}
	}
	return 0
}
