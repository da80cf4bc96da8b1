// Package fault puts faults in front of a server: each names the instant at which something goes wrong,
// and happens on the server's side of the wire, so that the client under test is the real one.
package fault

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"time"
)

// Kind is what goes wrong, and when.
type Kind string

// The kinds. Before: the request has no effect. After: it has, and the client is not told properly.
const (
	ResetBefore  Kind = "reset_before"  // the connection is reset when the request has arrived
	ResetAfter   Kind = "reset_after"   // the effect lands, then the connection is reset
	HangBefore   Kind = "hang_before"   // no effect and no answer, until the client leaves or Delay has passed
	HangAfter    Kind = "hang_after"    // the effect lands, the answer is withheld likewise
	StatusBefore Kind = "status_before" // Status is answered instead
	StatusAfter  Kind = "status_after"  // the effect lands, then Status is answered
	LateEffect   Kind = "late_effect"   // the connection is reset, and the effect lands Delay later, or as Lands says
	CutBody      Kind = "cut_body"      // the effect lands, half of the answer's body arrives
	EmptyBody    Kind = "empty_body"    // the effect lands, the answer is a success with nothing in it
	WrongType    Kind = "wrong_type"    // the effect lands, the answer is a success in HTML
	MissingID    Kind = "missing_id"    // the effect lands, the answer is a success that names nothing
	Redirect     Kind = "redirect"      // Status, 307 unless set, to somewhere else
	Stale        Kind = "stale"         // a read answers what it answered before, or, if it never did, that there is nothing
)

var kinds = []Kind{ResetBefore, ResetAfter, HangBefore, HangAfter, StatusBefore, StatusAfter, LateEffect, CutBody, EmptyBody, WrongType, MissingID, Redirect, Stale}

// lands says whether the effect has happened when the client notices the fault.
func (k Kind) lands() bool {
	return slices.Contains([]Kind{ResetAfter, HangAfter, StatusAfter, CutBody, EmptyBody, WrongType, MissingID}, k)
}

// Rule says which requests go wrong, and how.
type Rule struct {
	Method     string            `json:"method,omitempty"` // any, if empty
	Path       string            `json:"path,omitempty"`   // a regular expression; any, if empty
	Kind       Kind              `json:"kind"`
	Skip       int               `json:"skip,omitempty"`        // let that many matching requests pass first
	Times      int               `json:"times,omitempty"`       // 1 unless set; -1 is for ever
	Delay      time.Duration     `json:"delay,omitempty"`       // in JSON, nanoseconds
	Status     int               `json:"status,omitempty"`      // 500 unless set; of a redirect 307
	RetryAfter string            `json:"retry_after,omitempty"` // the header's value
	Body       string            `json:"body,omitempty"`        // of a status or a stale answer, as JSON; a page in HTML unless set
	Lands      *Landing          `json:"lands,omitempty"`       // of a late effect, instead of Delay
	Header     map[string]string `json:"header,omitempty"`      // more headers of a status, a redirect or a stale answer
}

// Landing says at which later request a late effect lands, so that no clock decides.
type Landing struct {
	Method string `json:"method,omitempty"` // any, if empty
	After  int    `json:"after"`            // how many such requests it waits for, from 1
	Behind bool   `json:"behind,omitempty"` // it lands when that one has been answered; before it, unless set
}

// rule is a rule that can be matched.
type rule struct {
	Rule
	index int // in the order of adding, from 0
	path  *regexp.Regexp
}

// compile fills a rule's defaults in, and refuses one that could never go wrong as meant.
func compile(r Rule) (*rule, error) {
	if !slices.Contains(kinds, r.Kind) {
		return nil, fmt.Errorf("fault kind %q: want one of %v", r.Kind, kinds)
	}
	path, err := regexp.Compile(r.Path)
	if err != nil {
		return nil, fmt.Errorf("fault path: %w", err)
	}
	if r.Times == 0 {
		r.Times = 1
	}
	if r.Status == 0 {
		switch r.Kind {
		case Redirect:
			r.Status = http.StatusTemporaryRedirect
		case Stale:
			r.Status = http.StatusNotFound
		default:
			r.Status = http.StatusInternalServerError
		}
	}
	return &rule{Rule: r, path: path}, nil
}

func (r *rule) matches(req *http.Request) bool {
	if r.Kind == Stale && !reads(req) {
		return false
	}
	return r.Times != 0 && (r.Method == "" || r.Method == req.Method) && r.path.MatchString(req.URL.Path)
}

// reads says whether a request changes nothing.
func reads(req *http.Request) bool {
	return req.Method == http.MethodGet || req.Method == http.MethodHead
}

// Hit is one request that went wrong.
type Hit struct {
	Rule   int       `json:"rule"` // the rule's index, in the order of adding, from 0
	Kind   Kind      `json:"kind"`
	Method string    `json:"method"`
	Path   string    `json:"path"`
	At     time.Time `json:"at"`
	Landed bool      `json:"landed"` // whether the effect had happened by then
}
