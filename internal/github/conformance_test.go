package github

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"colophon/internal/permit"
	"colophon/publish"

	gh "github.com/google/go-github/v66/github"
)

// TestTheAdapterKeepsToItsServer takes the adapter through whole publications, on every server there is:
// the sandbox, which was written for it; emulate, which was not; and GitHub itself, where a repository to
// scratch in is named. A case holds everywhere, or stands on the list of what a server does instead.
func TestTheAdapterKeepsToItsServer(t *testing.T) {
	for _, s := range servers {
		t.Run(s.name, func(t *testing.T) {
			c := newTrial(t, s.start(t))
			for name := range c.instead {
				if !slices.ContainsFunc(trialCases, func(k trialCase) bool { return k.name == name }) {
					t.Errorf("the list of differences names %q, which is no case", name)
				}
			}
			for _, k := range trialCases {
				ok := t.Run(k.name, func(t *testing.T) {
					if wrong := judge(k.check(c), c.instead[k.name]); wrong != "" {
						t.Error(wrong)
					}
				})
				if !ok && k.ground {
					t.Fatalf("the other cases build on %q", k.name)
				}
			}
		})
	}
}

// judge says what is wrong with how a case ended, given what is listed for it; "" if nothing is. What is
// listed must show, word for word, so that the list cannot outlive what it is about.
func judge(outcome error, listed string) string {
	switch {
	case listed == "" && outcome != nil:
		if whole := errors.Unwrap(outcome); whole != nil {
			return fmt.Sprintf("%v\n%v", outcome, whole)
		}
		return outcome.Error()
	case listed != "" && outcome == nil:
		return fmt.Sprintf("passes, and is listed as a difference (%s): take it off the list", listed)
	case listed != "" && outcome.Error() != listed:
		return fmt.Sprintf("%v; the list of differences says: %s", outcome, listed)
	}
	return ""
}

func TestADifferenceThatNoLongerShowsIsAFailure(t *testing.T) {
	for _, c := range []struct {
		outcome error
		listed  string
		right   bool
	}{
		{nil, "", true},
		{errors.New("accepted"), "accepted", true},
		{errors.New("accepted"), "", false},
		{nil, "accepted", false},
		{errors.New("accepted"), "refused", false},
	} {
		if got := judge(c.outcome, c.listed); (got == "") != c.right {
			t.Errorf("ended with %v, listed as %q: %q", c.outcome, c.listed, got)
		}
	}
}

// trialCase is one thing that holds of a GitHub. Where it fails and is ground, the later ones have no sense.
type trialCase struct {
	name   string
	ground bool
	check  func(*trial) error
}

// trialCases are in the order of a publication. Later ones build on what earlier ones left at the remote.
var trialCases = []trialCase{
	{"a token that is wrong stops a plan", false, func(c *trial) error {
		_, err := c.connect("wrong-"+c.run, "merge").Plan(c.ctx, c.intent("first"), publish.Plan{Author: author()}, article("first"))
		return expect("the plan", err, "halted: bad_credentials")
	}},
	{"a base branch that is missing stops a plan", false, func(c *trial) error {
		in := c.intent("first")
		in.BaseBranch += "-missing"
		_, err := c.repo.Plan(c.ctx, in, publish.Plan{Author: author()}, article("first"))
		return expect("the plan", err, "halted: base_branch_missing")
	}},
	{"a plan names everything before anything is sent", true, func(c *trial) (err error) {
		// Planning has no permit on its context: a request that changes something would be refused.
		if c.first, err = c.plan("first", "merge"); err != nil {
			return err
		}
		again, err := c.plan("first", "merge")
		if err != nil || again.pinned != c.first.pinned {
			return fmt.Errorf("the second plan differs: %+v, %v", again, err)
		}
		p := c.first.pinned
		for _, sha := range []publish.SHA{p.Parent, p.Base, p.Blob, p.Tree, p.Commit} {
			if !sha.Valid() {
				return fmt.Errorf("the plan leaves a name open: %+v", p)
			}
		}
		return errors.Join(c.look(c.first.tree(), publish.Prior{}, "absent"), c.look(c.first.commit(), publish.Prior{}, "absent"))
	}},
	{"the tree is stored under its planned name", true, func(c *trial) error {
		return c.stored(c.first.tree(), c.first.pinned.Tree)
	}},
	{"the tree is found", true, func(c *trial) error {
		return c.look(c.first.tree(), publish.Prior{}, "present")
	}},
	{"the tree that is sent again is the same", false, func(c *trial) error {
		return c.stored(c.first.tree(), c.first.pinned.Tree)
	}},
	{storedAsPlanned, true, func(c *trial) error {
		return c.stored(c.first.commit(), c.first.pinned.Commit)
	}},
	{"the commit is found", true, func(c *trial) error {
		return errors.Join(c.takeName(c.first), c.look(c.first.commit(), publish.Prior{}, "present"))
	}},
	{"the commit that is sent again is the same", false, func(c *trial) error {
		return c.stored(c.first.commit(), c.first.pinned.Commit)
	}},
	{"the branch is absent before it is created", false, func(c *trial) error {
		return c.look(c.first.branch(), publish.Prior{}, "absent")
	}},
	{"the branch is created at the planned commit", true, func(c *trial) error {
		return c.stored(c.first.branch(), c.first.pinned.Commit)
	}},
	{"the branch is found", true, func(c *trial) error {
		return c.look(c.first.branch(), publish.Prior{}, "present")
	}},
	{"a branch that exists is refused as existing", false, func(c *trial) error {
		return expect("the second branch", c.apply(c.first.branch()), "unknown: ref_exists")
	}},
	{"the branch is found after it was refused", false, func(c *trial) error {
		return c.look(c.first.branch(), publish.Prior{Attempts: 2}, "present")
	}},
	{"a branch in the place of a folder is refused", false, func(c *trial) error {
		below := *c.first
		below.pinned.Branch = c.mine(below.pinned.Branch + "/below")
		return expect("the branch below a branch", c.apply(below.branch()), "rejected: ref_refused")
	}},
	{"no pull request is found before one is opened", false, func(c *trial) error {
		return c.look(c.first.pull(), publish.Prior{}, "absent")
	}},
	{"a pull request is opened", true, func(c *trial) error {
		return c.open(c.first)
	}},
	{"the pull request is found by list", true, func(c *trial) error {
		return c.found(c.first.pull(), publish.Prior{}, c.first.number())
	}},
	{"the pull request is found by number", true, func(c *trial) error {
		return c.found(c.first.pull(), publish.Prior{Receipt: publish.Receipt{ID: c.first.number()}}, c.first.number())
	}},
	{"a publication beside it is opened from the same base", true, func(c *trial) (err error) {
		if c.second, err = c.plan("second", "squash"); err != nil {
			return err
		}
		if c.second.pinned.Parent != c.first.pinned.Parent {
			return errors.New("the base has moved before anything was merged")
		}
		return c.upToPull(c.second)
	}},
	{"a merge of another head is refused", false, func(c *trial) error {
		other := *c.first
		other.pinned.Commit = other.pinned.Parent
		return expect("the merge of another head", c.apply(other.merge()), "unknown")
	}},
	{"the pull request becomes ready to be merged", true, func(c *trial) error {
		return c.look(c.first.merge(), publish.Prior{}, "absent")
	}},
	{"after an attempt that did nothing the merge is still absent", false, func(c *trial) error {
		return c.look(c.first.merge(), publish.Prior{State: publish.Unconfirmed, Attempts: 1}, "absent")
	}},
	{"the pull request is merged with the planned head", true, func(c *trial) error {
		r, err := c.first.merge().Apply(permit.Grant(c.ctx), publish.Prior{})
		if err != nil {
			return err
		}
		if c.merge = r.SHA; !r.SHA.Valid() || r.ID != c.first.number() {
			return fmt.Errorf("the receipt %+v proves no merge", r)
		}
		return nil
	}},
	{"the merge is found with its commit", true, func(c *trial) error {
		return c.foundMerge(c.first, c.merge)
	}},
	{"the merge is the base's tip, made of the planned commit and its parent", false, func(c *trial) error {
		if err := c.until("the base", string(c.merge), func() (string, error) {
			tip, _, err := c.repo.tip(c.ctx, c.base)
			return string(tip), err
		}); err != nil {
			return err
		}
		commit, _, err := c.repo.client.Git.GetCommit(c.ctx, c.repo.owner, c.repo.name, string(c.merge))
		if err != nil {
			return err
		}
		var parents []string
		for _, p := range commit.Parents {
			parents = append(parents, p.GetSHA())
		}
		if want := []string{string(c.first.pinned.Parent), string(c.first.pinned.Commit)}; !slices.Equal(parents, want) {
			return fmt.Errorf("the merge's parents are %v, want %v", parents, want)
		}
		if commit.GetTree().GetSHA() != string(c.first.pinned.Tree) || !c.first.in.HasTrailers(commit.GetMessage()) {
			return fmt.Errorf("the merge's tree is %s, its message %q", commit.GetTree().GetSHA(), commit.GetMessage())
		}
		return nil
	}},
	{"the article is on the base branch, byte for byte", true, func(c *trial) error {
		return c.holds(c.first)
	}},
	{"the article is listed, and read back by its name", false, func(c *trial) error {
		tip, _, err := c.repo.tip(c.ctx, c.base)
		if err != nil {
			return err
		}
		files, err := c.repo.Files(c.ctx, tip)
		if err != nil {
			return err
		}
		p := c.first
		n := slices.IndexFunc(files, func(f publish.File) bool { return f.Path == p.in.Path })
		if n < 0 || files[n].Blob != p.pinned.Blob {
			return fmt.Errorf("%s is not among %v", p.in.Path, files)
		}
		if text, err := c.repo.Blob(c.ctx, files[n].Blob); err != nil || string(text) != string(p.text) {
			return fmt.Errorf("read back as %q, %v", text, err)
		}
		return nil
	}},
	{"what has landed is seen on the base branch while a pull request is open", false, func(c *trial) error {
		stale := *c.first // its record is the other's, which is open
		stale.pinned.PullRequest = c.second.pinned.PullRequest
		return c.look(stale.merge(), publish.Prior{State: publish.Unconfirmed, Attempts: 1}, "present: merged_record_stale")
	}},
	{"the merged pull request is still found by list", false, func(c *trial) error {
		return c.found(c.first.pull(), publish.Prior{}, c.first.number())
	}},
	{"a second merge is refused, and not believed", false, func(c *trial) error {
		return expect("the second merge", c.apply(c.first.merge()), "unknown")
	}},
	{"after a second merge the look says merged, once", false, func(c *trial) error {
		return c.foundMerge(c.first, c.merge)
	}},
	{"a pull request without anything to merge is refused", false, func(c *trial) error {
		return expect("the pull request of a merged branch", c.apply(c.first.pull()), "rejected: nothing_to_merge")
	}},
	{"the merged branch is still there", false, func(c *trial) error {
		return c.look(c.first.removal(), publish.Prior{}, "absent")
	}},
	{"the merged branch is removed", true, func(c *trial) error {
		return c.apply(c.first.removal())
	}},
	{"the removal is found", true, func(c *trial) error {
		return c.look(c.first.removal(), publish.Prior{}, "present")
	}},
	{"a second removal is refused, and not believed", false, func(c *trial) error {
		return expect("the second removal", c.apply(c.first.removal()), "unknown: ref_gone")
	}},
	{"after a second removal the look says removed", false, func(c *trial) error {
		return c.look(c.first.removal(), publish.Prior{Attempts: 2}, "present")
	}},
	{"the merge is found after the branch is gone", false, func(c *trial) error {
		return c.foundMerge(c.first, c.merge)
	}},
	{"a path that is taken stops a plan", false, func(c *trial) error {
		_, err := c.plan("first", "merge")
		return expect("the plan", err, "halted: path_taken")
	}},
	{"a path that is taken in another case stops a plan", false, func(c *trial) error {
		in := c.intent("first")
		in.Path = strings.Replace(in.Path, "/first", "/First", 1)
		_, err := c.repo.Plan(c.ctx, in, publish.Plan{Author: author()}, article("first"))
		return expect("the plan", err, "halted: path_taken")
	}},
	{"the publication beside it is squashed into one commit", false, func(c *trial) error {
		if err := c.look(c.second.merge(), publish.Prior{}, "absent"); err != nil {
			return err
		}
		r, err := c.second.merge().Apply(permit.Grant(c.ctx), publish.Prior{})
		if err != nil {
			return err
		}
		return errors.Join(c.foundMerge(c.second, r.SHA), c.holds(c.second))
	}},
	{"a merge leaves what was merged before it", false, func(c *trial) error {
		return c.holds(c.first)
	}},
	{"a branch that has moved on is not this article's", false, func(c *trial) (err error) {
		if c.moved, err = c.plan("moved", "merge"); err != nil {
			return err
		}
		if err := c.upToPull(c.moved); err != nil {
			return err
		}
		next := *c.moved
		next.pinned.Title = "Another title, so another commit"
		if next.pinned, err = c.repo.Plan(c.ctx, next.in, next.pinned, next.text); err != nil {
			return err
		}
		if err := c.keep(&next); err != nil {
			return err
		}
		ref := &gh.Reference{Ref: gh.String("refs/heads/" + next.pinned.Branch), Object: &gh.GitObject{SHA: gh.String(string(next.pinned.Commit))}}
		if _, _, err := c.repo.client.Git.UpdateRef(permit.Grant(c.ctx), c.repo.owner, c.repo.name, ref, true); err != nil {
			return err
		}
		return c.look(c.moved.branch(), publish.Prior{}, "foreign: branch_at_other_commit")
	}},
	{"a branch that has moved on is not removed", false, func(c *trial) error {
		return c.look(c.moved.removal(), publish.Prior{}, "foreign: branch_moved_on")
	}},
	{"a pull request whose head has moved is not ready", false, func(c *trial) error {
		return c.look(c.moved.merge(), publish.Prior{}, "foreign: head_changed")
	}},
	{"a merge is refused once the head has moved", false, func(c *trial) error {
		return expect("the merge of what was the head", c.apply(c.moved.merge()), "unknown")
	}},
	{"a pull request of someone else is not taken for ours", false, func(c *trial) (err error) {
		if c.taken, err = c.plan("taken", "merge"); err != nil {
			return err
		}
		if err := c.upToBranch(c.taken); err != nil {
			return err
		}
		stranger := *c.taken
		stranger.in.Topic = "The same branch for another topic"
		if err := c.apply(stranger.pull()); err != nil {
			return err
		}
		return c.look(c.taken.pull(), publish.Prior{}, "foreign: pull_request_of_someone_else")
	}},
	{"a pull request of someone else stops a plan", false, func(c *trial) error {
		_, err := c.plan("taken", "merge")
		return expect("the plan", err, "halted: pull_request_of_someone_else")
	}},
	{"a pull request that was closed is neither opened again nor merged", false, func(c *trial) error {
		closed, err := c.plan("closed", "merge")
		if err != nil {
			return err
		}
		if err := c.upToPull(closed); err != nil {
			return err
		}
		shut := &gh.PullRequest{State: gh.String("closed")}
		if _, _, err := c.repo.client.PullRequests.Edit(permit.Grant(c.ctx), c.repo.owner, c.repo.name, closed.pinned.PullRequest, shut); err != nil {
			return err
		}
		return errors.Join(c.look(closed.pull(), publish.Prior{}, "foreign: pull_request_closed"), c.look(closed.merge(), publish.Prior{}, "foreign: pull_request_closed"))
	}},
	// From here on a server that accepts two pull requests for one branch has them.
	{"a second pull request is refused as existing", false, func(c *trial) (err error) {
		if c.twice, err = c.plan("twice", "merge"); err != nil {
			return err
		}
		if err := c.upToPull(c.twice); err != nil {
			return err
		}
		return expect("the second pull request", c.apply(c.twice.pull()), "unknown: pull_request_exists")
	}},
	{"the first pull request is found after a second was refused", false, func(c *trial) error {
		return c.found(c.twice.pull(), publish.Prior{Attempts: 2}, c.twice.number())
	}},
	{"nothing but the trial's own branches was touched", false, func(c *trial) error {
		tip, _, err := c.repo.tip(c.ctx, c.main)
		if err != nil || tip != c.start {
			return fmt.Errorf("%s is at %s, and was at %s: %v", c.main, tip, c.start, err)
		}
		return nil
	}},
}

// publication is one intent with its pinned plan and its article.
type publication struct {
	repo   *Repository
	in     publish.Intent
	pinned publish.Plan
	text   []byte
}

func (p *publication) effect(s publish.Step, i int) publish.Effect {
	return p.repo.Effects(s, p.in, p.pinned, p.text)[i]
}

func (p *publication) tree() publish.Effect    { return p.effect(publish.Branch, 0) }
func (p *publication) commit() publish.Effect  { return p.effect(publish.Branch, 1) }
func (p *publication) branch() publish.Effect  { return p.effect(publish.Branch, 2) }
func (p *publication) pull() publish.Effect    { return p.effect(publish.PullRequest, 0) }
func (p *publication) merge() publish.Effect   { return p.effect(publish.Merge, 0) }
func (p *publication) removal() publish.Effect { return p.effect(publish.Merge, 1) }
func (p *publication) number() string          { return strconv.Itoa(p.pinned.PullRequest) }

// upToBranch stores a publication's objects and creates its branch.
func (c *trial) upToBranch(p *publication) error {
	if err := c.keep(p); err != nil {
		return err
	}
	if err := c.apply(p.branch()); err != nil {
		return err
	}
	return c.look(p.branch(), publish.Prior{}, "present")
}

// keep stores a publication's objects.
func (c *trial) keep(p *publication) error {
	if err := c.apply(p.tree()); err != nil {
		return err
	}
	if c.renames() {
		return c.takeName(p)
	}
	return c.apply(p.commit())
}

// storedAsPlanned is the case that a server fails which gives a commit another name than Git would.
const storedAsPlanned = "the commit is stored under its planned name"

func (c *trial) renames() bool { return c.instead[storedAsPlanned] != "" }

// takeName puts the name that the server gives the commit into the plan, where it is listed to give another
// than was planned: the cases after that one are about what comes after it.
func (c *trial) takeName(p *publication) error {
	if !c.renames() {
		return nil
	}
	who := &gh.CommitAuthor{Name: gh.String(p.pinned.Author.Name), Email: gh.String(p.pinned.Author.Email), Date: &gh.Timestamp{Time: p.pinned.Author.Date}}
	commit, _, err := c.repo.client.Git.CreateCommit(permit.Grant(c.ctx), c.repo.owner, c.repo.name, &gh.Commit{
		Message: gh.String(p.in.CommitMessage(p.pinned)), Tree: &gh.Tree{SHA: gh.String(string(p.pinned.Tree))},
		Parents: []*gh.Commit{{SHA: gh.String(string(p.pinned.Parent))}}, Author: who, Committer: who,
	}, nil)
	p.pinned.Commit = publish.SHA(commit.GetSHA())
	return err
}

// upToPull goes on to its pull request.
func (c *trial) upToPull(p *publication) error {
	if err := c.upToBranch(p); err != nil {
		return err
	}
	if err := c.open(p); err != nil {
		return err
	}
	return c.found(p.pull(), publish.Prior{}, p.number())
}

// open opens a publication's pull request, and keeps its number in the plan as the loop does.
func (c *trial) open(p *publication) error {
	r, err := p.pull().Apply(permit.Grant(c.ctx), publish.Prior{})
	if err != nil {
		return err
	}
	if p.pinned.PullRequest, err = strconv.Atoi(r.ID); err != nil || p.pinned.PullRequest < 1 || r.URL == "" || r.SHA != p.pinned.Commit {
		return fmt.Errorf("the receipt %+v proves no pull request at %s", r, p.pinned.Commit)
	}
	return nil
}

func (c *trial) apply(e publish.Effect) error {
	_, err := e.Apply(permit.Grant(c.ctx), publish.Prior{})
	return err
}

// stored applies an effect whose SHA is planned.
func (c *trial) stored(e publish.Effect, want publish.SHA) error {
	r, err := e.Apply(permit.Grant(c.ctx), publish.Prior{})
	if err != nil {
		return told(e.Operation().What, err, "it stored as planned")
	}
	if r.SHA != want {
		return fmt.Errorf("the receipt names %s, the plan %s", r.SHA, want)
	}
	return nil
}

// look looks until it sees what is wanted, or the server has had the time that it may take to show it.
func (c *trial) look(e publish.Effect, prior publish.Prior, want string) error {
	_, err := c.see(e, prior, want)
	return err
}

func (c *trial) see(e publish.Effect, prior publish.Prior, want string) (f publish.Finding, err error) {
	err = c.until(e.Operation().What, want, func() (string, error) {
		if f, err = e.Find(c.ctx, prior); err != nil {
			return "", err
		}
		if f.Condition == "" {
			return string(f.Presence), nil
		}
		return string(f.Presence) + ": " + string(f.Condition), nil
	})
	return f, err
}

// found sees the pull request of this number.
func (c *trial) found(e publish.Effect, prior publish.Prior, number string) error {
	f, err := c.see(e, prior, "present")
	if err == nil && (f.Receipt.ID != number || f.Receipt.URL == "") {
		return fmt.Errorf("found %+v, want pull request %s", f.Receipt, number)
	}
	return err
}

// foundMerge sees the publication merged as this commit, and the base there.
func (c *trial) foundMerge(p *publication, as publish.SHA) error {
	f, err := c.see(p.merge(), publish.Prior{State: publish.Unconfirmed, Attempts: 1}, "present")
	if err == nil && (!as.Valid() || f.Receipt.SHA != as || f.Receipt.ID != p.number()) {
		return fmt.Errorf("found %+v, want pull request %s merged as %q", f.Receipt, p.number(), as)
	}
	return err
}

// holds says whether the base branch holds the article.
func (c *trial) holds(p *publication) error {
	const whole = "its bytes under the planned name"
	return c.until("the article on the base branch", whole, func() (string, error) {
		file, _, resp, err := c.repo.client.Repositories.GetContents(c.ctx, c.repo.owner, c.repo.name, p.in.Path, &gh.RepositoryContentGetOptions{Ref: c.base})
		if missing(resp, err) {
			return "nothing", nil
		}
		if err != nil {
			return "", err
		}
		text, err := file.GetContent()
		if err != nil || text != string(p.text) || publish.SHA(file.GetSHA()) != p.pinned.Blob {
			return "other bytes", err
		}
		return whole, nil
	})
}

// until reads until it sees what is wanted. A read that fails is tried again: it proves nothing.
func (c *trial) until(what, want string, read func() (string, error)) error {
	for deadline := time.Now().Add(c.patience); ; {
		saw, err := read()
		if err == nil && saw == want {
			return nil
		}
		if time.Now().After(deadline) || c.ctx.Err() != nil {
			if err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			return fmt.Errorf("%s: saw %s, want %s", what, saw, want)
		}
		select {
		case <-time.After(c.pause):
		case <-c.ctx.Done():
		}
	}
}

// expect says whether err is the refusal that is wanted: a kind, with or without its condition.
func expect(what string, err error, want string) error {
	if t := publish.AsTrouble(err); err != nil && (want == string(t.Kind) || want == said(t)) {
		return nil
	}
	return told(what, err, want)
}

func said(t *publish.Trouble) string { return string(t.Kind) + ": " + string(t.Condition) }

// told is an outcome that was not wanted, without numbers or names in it that differ from run to run.
func told(what string, err error, want string) error {
	if err == nil {
		return fmt.Errorf("%s: accepted, want %s", what, want)
	}
	t := publish.AsTrouble(err)
	return &deviation{fmt.Sprintf("%s: %s (HTTP %d), want %s", what, said(t), t.Status, want), err}
}

// deviation is told in short, as a list can name it, and has the whole story with it.
type deviation struct {
	short string
	whole error
}

func (d *deviation) Error() string { return d.short }
func (d *deviation) Unwrap() error { return d.whole }

// author is whose commits they are, at a time that does not change.
func author() publish.Author {
	return publish.Author{Name: "Colophon é", Email: "colophon@example.org", Date: publish.Date("2026-10-04").Midnight()}
}

// article is a text with what is easily lost on the way: no line's end at its end, spaces before one, and
// letters of two, three and four bytes.
func article(entry string) []byte {
	return []byte("---\ntitle: " + entry + " \"é\" – 🦉\ndate: 2026-10-04\n---\nHello,  \n\n\tworld\\n. <b>&amp;</b>\n\nNo end")
}
