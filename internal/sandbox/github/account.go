package github

import (
	"net/http"
	"time"
)

// getUser answers whose token it is.
func (s *Server) getUser(*http.Request) (*reply, *failure) {
	u := s.user()
	for _, unset := range []string{"name", "company", "blog", "location", "email", "hireable", "bio"} {
		u[unset] = nil
	}
	for _, none := range []string{"public_repos", "public_gists", "followers", "following"} {
		u[none] = 0
	}
	u["created_at"], u["updated_at"], u["user_view_type"] = "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "public"
	return ok(u), nil
}

// getRateLimit answers limits that are never used up: what happens at a limit is a fault, to be ordered.
func (s *Server) getRateLimit(*http.Request) (*reply, *failure) {
	limit := func(n int) any {
		return map[string]any{"limit": n, "remaining": n, "used": 0, "reset": now().Add(time.Hour).Unix()}
	}
	return ok(map[string]any{"rate": limit(5000), "resources": map[string]any{"core": limit(5000), "search": limit(30)}}), nil
}
