package github

import (
	"net/http"
	"slices"
)

// getStatus combines the statuses of a commit. As at GitHub, a commit without any is "pending".
func (s *Server) getStatus(req *http.Request) (*reply, *failure) {
	c, found := s.commit(req.PathValue("ref"))
	if !found {
		return nil, fail(http.StatusNotFound, "Not Found")
	}
	all, state := []any{}, "success"
	for n, st := range s.statuses(c.Hash.String()) {
		switch {
		case st.State == "failure" || st.State == "error":
			state = "failure"
		case st.State != "success" && state == "success":
			state = "pending"
		}
		all = append(all, map[string]any{
			"id": n + 1, "node_id": "ST_" + itoa(n+1), "state": st.State, "context": st.Context, "description": nil, "target_url": nil, "avatar_url": nil,
			"url": s.api("statuses/%s", c.Hash), "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
		})
	}
	if len(all) == 0 {
		state = "pending"
	}
	return ok(map[string]any{
		"state": state, "sha": c.Hash.String(), "total_count": len(all), "statuses": all, "repository": s.repository(),
		"commit_url": s.api("commits/%s", c.Hash), "url": s.api("commits/%s/status", c.Hash),
	}), nil
}

// statuses and checks are those of a pull request's head; any other commit has none.
func (s *Server) statuses(sha string) []Status {
	if s.isHead(sha) {
		return s.settings.Statuses
	}
	return nil
}

func (s *Server) isHead(sha string) bool {
	return slices.ContainsFunc(s.pulls, func(p *pull) bool { return p.HeadSHA.String() == sha })
}

func (s *Server) listCheckRuns(req *http.Request) (*reply, *failure) {
	c, found := s.commit(req.PathValue("ref"))
	if !found {
		return nil, noCommit(req)
	}
	running := count(&s.settings.ChecksDelay)
	all := []any{}
	for n, run := range s.settings.Checks {
		if !s.isHead(c.Hash.String()) {
			break
		}
		body := map[string]any{
			"id": n + 1, "node_id": "CR_" + itoa(n+1), "head_sha": c.Hash.String(), "name": run.Name, "url": s.api("check-runs/%d", n+1), "html_url": nil,
			"details_url": nil, "status": "in_progress", "conclusion": nil, "started_at": "2026-01-01T00:00:00Z", "completed_at": nil, "external_id": "",
			"check_suite": nil, "app": nil, "pull_requests": []any{},
			"output": map[string]any{"title": nil, "summary": nil, "text": nil, "annotations_count": 0, "annotations_url": s.api("check-runs/%d/annotations", n+1)},
		}
		if run.Conclusion != "" && !running {
			body["status"], body["conclusion"], body["completed_at"] = "completed", run.Conclusion, "2026-01-01T00:01:00Z"
		}
		all = append(all, body)
	}
	return ok(map[string]any{"total_count": len(all), "check_runs": all}), nil
}

func (s *Server) listRules(req *http.Request) (*reply, *failure) {
	all := []any{}
	for n, r := range s.settings.Rules {
		if req.PathValue("branch") != s.options.Base {
			break
		}
		body := map[string]any{"type": r.Type, "ruleset_source_type": "Repository", "ruleset_source": s.options.Owner + "/" + s.options.Repo, "ruleset_id": n + 1}
		if r.Parameters != nil {
			body["parameters"] = r.Parameters
		}
		all = append(all, body)
	}
	return ok(all), nil
}

// getProtection answers a branch's protection. It takes more than the right to write to read it.
func (s *Server) getProtection(req *http.Request) (*reply, *failure) {
	p, branch := s.settings.Protection, req.PathValue("branch")
	switch {
	case s.settings.Hidden:
		return nil, fail(http.StatusNotFound, "Not Found")
	case p == nil || branch != s.options.Base:
		return nil, fail(http.StatusNotFound, "Branch not protected")
	}
	self := s.api("branches/%s/protection", branch)
	body := map[string]any{
		"url": self, "enforce_admins": map[string]any{"url": self + "/enforce_admins", "enabled": true},
		"required_signatures": map[string]any{"url": self + "/required_signatures", "enabled": p.Signatures}, "required_linear_history": map[string]any{"enabled": p.Linear},
	}
	if p.Checks != nil {
		checks := []any{}
		for _, name := range p.Checks {
			checks = append(checks, map[string]any{"context": name, "app_id": nil})
		}
		body["required_status_checks"] = map[string]any{
			"url": self + "/required_status_checks", "strict": false, "contexts": p.Checks, "contexts_url": self + "/required_status_checks/contexts", "checks": checks,
		}
	}
	if p.Reviews > 0 {
		body["required_pull_request_reviews"] = map[string]any{
			"url": self + "/required_pull_request_reviews", "dismiss_stale_reviews": false, "require_code_owner_reviews": false,
			"required_approving_review_count": p.Reviews, "require_last_push_approval": false,
		}
	}
	return ok(body), nil
}

func (s *Server) listReviews(req *http.Request) (*reply, *failure) {
	p, bad := s.find(req)
	if bad != nil {
		return nil, bad
	}
	all := []any{}
	for n, r := range s.settings.Reviews {
		user, self := s.user(), s.api("pulls/%d", p.Number)
		user["login"], user["id"] = r.User, 100+n
		html := s.page("pull/%d#review-%d", p.Number, n+1)
		all = append(all, map[string]any{
			"id": n + 1, "node_id": "PRR_" + itoa(n+1), "user": user, "body": "", "state": r.State, "html_url": html, "pull_request_url": self,
			"submitted_at": "2026-01-01T00:00:00Z", "commit_id": p.HeadSHA.String(), "author_association": "COLLABORATOR",
			"_links": map[string]any{"html": map[string]any{"href": html}, "pull_request": map[string]any{"href": self}},
		})
	}
	return paged(req, all), nil
}
