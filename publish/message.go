package publish

import (
	"encoding/json"
	"time"
)

// Announcement is what a channel is told about a live article.
type Announcement struct {
	Intent      Intent
	Title       string
	Description string
	URL         string
	Language    string
	Tags        []string
	Markdown    string    // the article's body, without front matter
	Made        time.Time // when the announcement is fixed
	// Newest is the newest own post of the account that the ledger knows; "" if it knows none. Reading back ends
	// there.
	Newest string
	// Previous is the receipt of the revision before, on the same account; empty if there is none.
	Previous Receipt
}

// Message is an announcement with everything fixed that its first request, and every later one, says. The first
// that is composed is kept in the ledger before anything is sent, and used ever after.
type Message struct {
	Operation Operation       `json:"operation"`
	URL       string          `json:"url"`            // of the article
	Text      string          `json:"text"`           // what readers see of it
	Body      json.RawMessage `json:"body"`           // of the request, to the byte
	ID        string          `json:"id,omitempty"`   // what the caller chooses: a record's key, an idempotency key
	Made      time.Time       `json:"made"`           // the post's own time, where the caller says it
	Newest    string          `json:"newest"`         // as in Announcement
	Replaces  string          `json:"replaces"`       // the id of what is updated in place, for a correction
	Tier      string          `json:"tier,omitempty"` // what the server was found to offer against a second post
}

// Backlog is what an account had published when the ledger first met it.
type Backlog struct {
	Destination string    `json:"destination"` // as in Operation: the account, as the server names it
	Posts       []Post    `json:"posts"`       // newest first
	Whole       bool      `json:"whole"`       // all of it was read
	Reach       time.Time `json:"reach"`       // when the oldest that was read was made; zero if none was
}

// Post is one post as its account shows it.
type Post struct {
	Receipt Receipt   `json:"receipt"`
	Links   []string  `json:"links"`
	Created time.Time `json:"created"`
}

// Standing is what the ledger knows of an account, and of one article's URL on it.
type Standing struct {
	Known  bool      // its backlog was read
	Whole  bool      // all of it
	Reach  time.Time // how far back, if not
	Newest string    // the id of the newest own post that is known
	Posted []Receipt // posts in the backlog that link to the URL
}
