// Package github makes the changes that publish an article in a GitHub repository: objects, branch,
// pull request, merge, and the branch's removal, each as one publish.Effect.
//
// It decides nothing about repeating, waits for nothing and retries nothing. It reads refs, never
// branches, since a branch read can follow a rename to another branch; it never searches, since the
// search index lags; and it validates every SHA and number, since go-github returns zero values for an
// empty success.
package github
