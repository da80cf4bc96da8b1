// Package activities does the steps of a run under Temporal: one struct of live dependencies, one file
// a step, and one function, ensure, through which every change to a remote system goes.
//
// An activity that changes something answers with a Result, never with an error: an error would say
// less than is known. Activities that only read may fail, and Temporal repeats them.
package activities

import (
	"context"
	"time"

	"colophon/publish"
)

// Ledger is the durable memory, and the only door to a remote change: only inside Attempt's function
// does a request that changes something leave the program.
type Ledger interface {
	Admit(ctx context.Context, in publish.Intent) (publish.Admission, error)
	Kept(ctx context.Context, key publish.Key, revision int, kind string) (publish.Digest, []byte, bool, error)
	Keep(ctx context.Context, key publish.Key, revision int, kind string, content []byte) (publish.Digest, []byte, error)
	Artifact(ctx context.Context, d publish.Digest) ([]byte, error)
	Pin(ctx context.Context, key publish.Key, revision int, p publish.Plan) (publish.Plan, error)
	Prior(ctx context.Context, key publish.OperationKey) (publish.Prior, error)
	Attempt(ctx context.Context, op publish.Operation, a *publish.Approval,
		apply func(context.Context, publish.Prior) (publish.Receipt, error)) (publish.Attempted, error)
	Confirm(ctx context.Context, op publish.Operation, r publish.Receipt, e []publish.Evidence) error
	Observe(ctx context.Context, key publish.OperationKey, seen publish.Presence, e []publish.Evidence) error
	Settle(ctx context.Context, r publish.Record) (publish.Record, error)
	Connect(ctx context.Context, b publish.Backlog) error
	Standing(ctx context.Context, account, url string) (publish.Standing, error)
}

// Repository plans the change of an article and offers its effects, step by step.
type Repository interface {
	Plan(ctx context.Context, in publish.Intent, p publish.Plan, article []byte) (publish.Plan, error)
	Effects(step publish.Step, in publish.Intent, p publish.Plan, article []byte) []publish.Effect
}

// Corpus compares a draft with the articles that the repository has at a commit. It only reads.
type Corpus interface {
	Compare(ctx context.Context, in publish.Intent, commit publish.SHA, draft []byte) (publish.Comparison, error)
}

// Site looks at production.
type Site interface {
	Look(ctx context.Context, e publish.Expected) ([]publish.Judgement, []publish.Evidence, error)
	// Serves says what production serves at a URL before the article is published: nothing, as Missing.
	Serves(ctx context.Context, e publish.Expected) (publish.Judgement, []publish.Evidence, error)
}

// Channel announces articles on one account. Nothing but an effect's Apply changes anything.
type Channel interface {
	// Updates says that a correction reaches the channel's readers without a second post.
	Updates() bool
	// Account asks whose the credential is, and answers the destination of the channel's operations.
	Account(ctx context.Context) (destination string, err error)
	// Backlog reads what the account has published, newest first.
	Backlog(ctx context.Context) (publish.Backlog, error)
	// Compose fixes an announcement to the byte, and checks it.
	Compose(ctx context.Context, a publish.Announcement) (publish.Message, error)
	// Effect is how a message is looked for and sent.
	Effect(ctx context.Context, m publish.Message) (publish.Effect, error)
}

// Drafts makes an intent's draft. It is asked once: the first draft is kept.
type Drafts interface {
	Draft(ctx context.Context, in publish.Intent) ([]byte, error)
}

// QA says what is wrong with a draft, before it is kept.
type QA interface {
	Check(ctx context.Context, name string, source []byte) ([]publish.Fault, error)
}

// Steps holds what the steps work with. Its exported methods are the activities, each registered under
// its own name.
type Steps struct {
	Ledger     Ledger
	Repository Repository
	Corpus     Corpus
	Site       Site
	Channels   map[string]Channel
	Drafts     Drafts
	QA         QA
	Author     publish.Author // of commits; the date comes from the intent
	// LaneWait is how long a step waits for its lane inside the activity; a longer wait is a durable timer.
	LaneWait time.Duration
}

// The kinds of artifacts.
const (
	draftKind   = "draft"
	messageKind = "message/" // and the channel's name
)

// blocked is a Result that a person must move on.
func blocked(c publish.Condition, detail, next string) publish.Result {
	return publish.Result{Outcome: publish.Blocked, Condition: c, Detail: detail, Next: next}
}

// unreadable is a Result that says to look again: nothing was changed.
func unreadable(what string, err error) publish.Result {
	return publish.Result{
		Outcome: publish.Blocked, Condition: "unreadable", Detail: what + ": " + err.Error(),
		Next: "it is tried again by itself", Wait: readPause,
	}
}

// readPause is the least time between a read that failed and the next.
const readPause = 5 * time.Second

// stopped reads an error that came before any change was attempted.
func stopped(what string, err error) publish.Result {
	switch t := publish.AsTrouble(err); t.Kind {
	case publish.Halted, publish.Rejected:
		return blocked(t.Condition, t.Error(), t.Next)
	case publish.NotSent, publish.Deferred:
		res := unreadable(what, t)
		res.Wait = max(t.After, readPause)
		return res
	default:
		return unreadable(what, err)
	}
}
