package github

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// The bodies below carry every field that GitHub's OpenAPI description requires.

func (s *Server) api(format string, args ...any) string {
	return fmt.Sprintf("https://api.github.com/repos/%s/%s/", s.options.Owner, s.options.Repo) + fmt.Sprintf(format, args...)
}

func (s *Server) page(format string, args ...any) string {
	return fmt.Sprintf("https://github.com/%s/%s/", s.options.Owner, s.options.Repo) + fmt.Sprintf(format, args...)
}

func (s *Server) user() map[string]any {
	u := "https://api.github.com/users/" + s.options.Login
	return map[string]any{
		"login": s.options.Login, "id": 1, "node_id": "U_1", "avatar_url": "https://avatars.githubusercontent.com/u/1", "gravatar_id": "", "url": u,
		"html_url": "https://github.com/" + s.options.Login, "followers_url": u + "/followers", "following_url": u + "/following{/other_user}",
		"gists_url": u + "/gists{/gist_id}", "starred_url": u + "/starred{/owner}{/repo}", "subscriptions_url": u + "/subscriptions",
		"organizations_url": u + "/orgs", "repos_url": u + "/repos", "events_url": u + "/events{/privacy}", "received_events_url": u + "/received_events",
		"type": "User", "site_admin": false,
	}
}

// repoURLs are the names of a repository's URL fields, with where each leads.
const repoURLs = `archive:{archive_format}{/ref} assignees:assignees{/user} blobs:git/blobs{/sha} branches:branches{/branch} collaborators:collaborators{/collaborator}
comments:comments{/number} commits:commits{/sha} compare:compare/{base}...{head} contents:contents/{+path} contributors:contributors deployments:deployments
downloads:downloads events:events forks:forks git_commits:git/commits{/sha} git_refs:git/refs{/sha} git_tags:git/tags{/sha} hooks:hooks
issue_comment:issues/comments{/number} issue_events:issues/events{/number} issues:issues{/number} keys:keys{/key_id} labels:labels{/name} languages:languages
merges:merges milestones:milestones{/number} notifications:notifications{?since,all,participating} pulls:pulls{/number} releases:releases{/id}
stargazers:stargazers statuses:statuses/{sha} subscribers:subscribers subscription:subscription tags:tags teams:teams trees:git/trees{/sha}`

func (s *Server) repository() map[string]any {
	full, at := s.options.Owner+"/"+s.options.Repo, "2026-01-01T00:00:00Z"
	r := map[string]any{
		"id": 1, "node_id": "R_1", "name": s.options.Repo, "full_name": full, "owner": s.user(), "private": false, "html_url": s.page(""), "description": nil,
		"fork": false, "url": strings.TrimSuffix(s.api(""), "/"), "git_url": "git://github.com/" + full + ".git", "ssh_url": "git@github.com:" + full + ".git",
		"clone_url": "https://github.com/" + full + ".git", "svn_url": "https://github.com/" + full, "mirror_url": nil, "homepage": nil, "language": nil,
		"forks_count": 0, "forks": 0, "stargazers_count": 0, "watchers_count": 0, "watchers": 0, "size": 1, "default_branch": s.options.Base,
		"open_issues_count": 0, "open_issues": 0, "has_issues": true, "has_projects": false, "has_wiki": false, "has_pages": false, "has_downloads": false,
		"has_discussions": false, "archived": s.settings.Archived, "disabled": false, "visibility": "public", "pushed_at": at, "created_at": at, "updated_at": at, "license": nil,
		"permissions": map[string]any{"admin": false, "maintain": false, "push": true, "triage": true, "pull": true}, "topics": []string{},
		"allow_forking": true, "is_template": false, "web_commit_signoff_required": false, "allow_merge_commit": s.allows("merge"), "allow_squash_merge": s.allows("squash"),
		"allow_rebase_merge": s.allows("rebase"), "network_count": 0, "subscribers_count": 0,
	}
	for _, pair := range strings.Fields(repoURLs) {
		name, to, _ := strings.Cut(pair, ":")
		r[name+"_url"] = s.api("%s", to)
	}
	return r
}

func (s *Server) getRepo(*http.Request) (*reply, *failure) { return ok(s.repository()), nil }

func (s *Server) pullBody(real *pull, req *http.Request, full bool) map[string]any {
	p := real.shown()
	defer func() { real.testMerge = p.testMerge }()
	self, issue := s.api("pulls/%d", p.Number), s.api("issues/%d", p.Number)
	// People follow html_url: it leads to this server.
	html := "http://" + req.Host + "/" + s.options.Owner + "/" + s.options.Repo + "/pull/" + itoa(p.Number)
	href := func(u string) any { return map[string]any{"href": u} }
	side := func(branch string, h plumbing.Hash) any {
		return map[string]any{"label": s.options.Owner + ":" + branch, "ref": branch, "sha": h.String(), "user": s.user(), "repo": s.repository()}
	}
	links := map[string]any{
		"self": href(self), "html": href(html), "issue": href(issue), "comments": href(issue + "/comments"), "review_comments": href(self + "/comments"),
		"review_comment": href(s.api("pulls/comments{/number}")), "commits": href(self + "/commits"), "statuses": href(s.api("statuses/%s", p.HeadSHA)),
	}
	b := map[string]any{
		"url": self, "id": p.Number, "node_id": "PR_" + itoa(p.Number), "html_url": html, "diff_url": html + ".diff", "patch_url": html + ".patch", "issue_url": issue,
		"commits_url": self + "/commits", "review_comments_url": self + "/comments", "review_comment_url": s.api("pulls/comments{/number}"),
		"comments_url": issue + "/comments", "statuses_url": s.api("statuses/%s", p.HeadSHA), "number": p.Number, "state": p.State, "locked": false, "title": p.Title,
		"user": s.user(), "body": p.Body, "labels": []any{}, "milestone": nil, "created_at": p.Created.Format(time.RFC3339), "updated_at": p.Updated.Format(time.RFC3339),
		"closed_at": p.ClosedAt, "merged_at": nil, "merge_commit_sha": nil, "assignee": nil, "assignees": []any{}, "requested_reviewers": []any{}, "requested_teams": []any{},
		"head": side(p.Head, p.HeadSHA), "base": side(p.Base, p.BaseSHA), "author_association": "OWNER", "auto_merge": nil, "draft": p.Draft, "_links": links,
	}
	if p.Merged {
		b["merged_at"], b["merge_commit_sha"] = p.ClosedAt, p.MergeCommit.String()
	}
	if full {
		s.mergeability(p, b)
	}
	if !p.Merged && p.testMerge != plumbing.ZeroHash {
		b["merge_commit_sha"] = p.testMerge.String()
	}
	return b
}

// mergeability adds what only a single pull request's answer has.
func (s *Server) mergeability(p *pull, b map[string]any) {
	b["merged"], b["mergeable"], b["mergeable_state"], b["rebaseable"], b["merged_by"] = p.Merged, nil, "unknown", nil, nil
	for _, n := range []string{"comments", "review_comments"} {
		b[n] = 0
	}
	for _, n := range []string{"commits", "additions", "deletions", "changed_files"} {
		b[n] = 1
	}
	b["maintainer_can_modify"] = false
	switch {
	case p.Merged:
		b["merged_by"] = s.user()
	case p.nulls == 0 && p.State == "open":
		base, _ := s.tip(p.Base)
		files, clean := s.combine(base, p.HeadSHA)
		if p.testMerge = plumbing.ZeroHash; clean {
			p.testMerge = s.testMerge(p, base, files)
		}
		b["mergeable"], b["rebaseable"] = clean, clean
		b["mergeable_state"] = s.mergeableState(p, clean)
	}
}

// mergeableState is GitHub's hint. It is told for the method that rules allow most.
func (s *Server) mergeableState(p *pull, clean bool) string {
	switch {
	case !clean:
		return "dirty"
	case p.Draft:
		return "draft"
	case s.outstanding("squash") != "":
		return "blocked"
	case s.unstable():
		return "unstable"
	}
	return "clean"
}
