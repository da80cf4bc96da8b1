package github

import "net/http"

// This repository has no checks, no statuses and no rules, and answers as GitHub does then: the combined
// status of a commit without statuses is "pending".

func (s *Server) getStatus(req *http.Request) (*reply, *failure) {
	c, found := s.commit(req.PathValue("ref"))
	if !found {
		return nil, fail(http.StatusNotFound, "Not Found")
	}
	return ok(map[string]any{
		"state": "pending", "sha": c.Hash.String(), "total_count": 0, "statuses": []any{}, "repository": s.repository(),
		"commit_url": s.api("commits/%s", c.Hash), "url": s.api("commits/%s/status", c.Hash),
	}), nil
}

func (s *Server) listCheckRuns(req *http.Request) (*reply, *failure) {
	if _, found := s.commit(req.PathValue("ref")); !found {
		return nil, noCommit(req)
	}
	return ok(map[string]any{"total_count": 0, "check_runs": []any{}}), nil
}

func (s *Server) listRules(*http.Request) (*reply, *failure) { return ok([]any{}), nil }
