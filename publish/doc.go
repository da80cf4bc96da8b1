// Package publish holds what Colophon knows about publishing: its nouns and its rules.
//
// It is pure: no input or output, no clock, no random source, no Temporal, no HTTP. Everything that
// is decided is decided here, from values; everything that is done is done elsewhere.
//
// # Glossary
//
// Intent: one article, on one date, for one campaign, into one repository. It exists before any work
// is done and does not change while the work is repeated.
//
// Key: the name of an intent, campaign:date:entry. The Temporal workflow ID is the key.
//
// Fingerprint: a digest of the inputs that the key is bound to. The same key with another fingerprint
// is a conflict, never a retry.
//
// Revision: which publication of the article this is; 1 is the first, higher ones are corrections.
//
// Operation: one change to one remote system for one intent. OperationKey names it for ever, whatever
// process, run or attempt performs it.
//
// Effect: how an operation is looked for (Find, reads only) and done (Apply, one request at most). Its
// Class alone decides how it may be repeated.
//
// Finding: what a look saw: present, absent, someone else's, several, incomplete, or not ready yet.
//
// Attempt: one try at an operation, numbered from 1, durable in the ledger before the request leaves.
//
// Trouble: why an Apply or Find did not succeed; its Kind says what is proven about the remote.
//
// Outcome: passed, failed, blocked or not_confirmed. The last is never folded into failed.
//
// State: how far an intent has come, from scheduled to syndicated. Step: what moves it on.
//
// Receipt: what proves an effect: an id, a URL, a SHA. Evidence: what a look saw, and when.
//
// Plan: everything about an intent's change that is fixed before the first request is sent, the
// commit's SHA included.
//
// Delivery: one (article, channel) pair. State belongs to the pair, not to the run or the article.
//
// Approval: permission to follow one numbered attempt with another, from a rule or a person.
//
// Decision: what a person said about a blocked step: confirm, retry, skip or abandon.
//
// Record: the run record; where each step stands, with receipts, and whose move it is.
package publish
