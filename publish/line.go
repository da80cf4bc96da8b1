package publish

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// The names of what a line and the deliveries in it tell each other, and of the query that shows the line.
const (
	EnterName = "enter" // a delivery takes a place: a Place
	TurnName  = "turn"  // it is the delivery's turn: the account
	LeaveName = "leave" // the holder is settled: a Leaving
	LineQuery = "line"
)

// Line is the queue in front of one account: one delivery at a time, in the order in which they came. Whoever holds
// it keeps it until what was sent is settled; so a delivery of which nobody knows how it ended stops the line by
// itself.
type Line struct {
	Account string    `json:"account"` // as in Operation.Destination
	Holder  *Place    `json:"holder,omitempty"`
	Queue   []Place   `json:"queue,omitempty"`
	Since   time.Time `json:"since,omitzero"` // when the holder had its turn
	Nudged  time.Time `json:"nudged,omitzero"`
	Opens   time.Time `json:"opens,omitzero"` // no turn is given before
	Served  int       `json:"served"`         // deliveries that have left, over all runs
}

// Place is one delivery's place in a line.
type Place struct {
	Delivery string    `json:"delivery"` // its workflow ID
	Run      string    `json:"run"`      // its run
	Title    string    `json:"title"`
	Entered  time.Time `json:"entered"`
}

// Leaving says that a delivery has left, and when the account may be used again.
type Leaving struct {
	Delivery string    `json:"delivery"`
	Opens    time.Time `json:"opens,omitzero"`
}

// LineID is the workflow ID of an account's line: line/KIND/HOST/ID.
func LineID(account string) string { return "line/" + strings.Replace(account, ":", "/", 1) }

// Enter gives a delivery a place. One that has a place keeps it; another run of it takes over the place.
func (l *Line) Enter(p Place) {
	if l.Holder != nil && l.Holder.Delivery == p.Delivery {
		l.Holder.Run = p.Run
		l.Nudged = time.Time{} // it is told again that it is its turn
		return
	}
	if n := l.find(p.Delivery); n >= 0 {
		l.Queue[n].Run = p.Run
		return
	}
	l.Queue = append(l.Queue, p)
}

// Leave takes a delivery out of the line, wherever it stands.
func (l *Line) Leave(v Leaving) {
	if l.Holder != nil && l.Holder.Delivery == v.Delivery {
		l.Holder = nil
		l.Served++
	} else if n := l.find(v.Delivery); n >= 0 {
		l.Queue = slices.Delete(l.Queue, n, n+1)
	} else {
		return
	}
	if v.Opens.After(l.Opens) {
		l.Opens = v.Opens
	}
}

func (l *Line) find(delivery string) int {
	return slices.IndexFunc(l.Queue, func(p Place) bool { return p.Delivery == delivery })
}

// nudge is how often a holder that others wait for is told again that it is its turn: one that is no more is found
// out by that.
const nudge = time.Hour

// Move says what to do at a time: whom to tell that it is its turn, or else when to look again; neither when
// nothing is to be done until somebody comes, and over when nobody need come.
func (l *Line) Move(now time.Time) (tell *Place, again time.Time, over bool) {
	switch {
	case l.Holder != nil && l.Nudged.IsZero():
		return l.Holder, time.Time{}, false
	case l.Holder != nil && len(l.Queue) == 0:
		return nil, time.Time{}, false
	case l.Holder != nil && !now.Before(l.Nudged.Add(nudge)):
		return l.Holder, time.Time{}, false
	case l.Holder != nil:
		return nil, l.Nudged.Add(nudge), false
	case now.Before(l.Opens):
		return nil, l.Opens, false
	case len(l.Queue) > 0:
		next := l.Queue[0]
		l.Holder, l.Queue, l.Since, l.Nudged = &next, l.Queue[1:], now, time.Time{}
		return l.Holder, time.Time{}, false
	}
	return nil, time.Time{}, true
}

// shown is how many of the queue the page lists.
const shown = 50

// Markdown shows the line to a person.
func (l Line) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## Line of `%s`\n\n%d delivered since it was first used, %d waiting.\n\n", l.Account, l.Served, len(l.Queue))
	if l.Holder != nil {
		fmt.Fprintf(&b, "> **%s** has its turn since %s. The line goes on when it is settled; what it waits for, and whose move that is, is on the page of `%s`.\n\n",
			mdText(l.Holder.Title), l.Since.UTC().Format(time.DateTime), l.Holder.Delivery)
	} else if !l.Opens.IsZero() {
		fmt.Fprintf(&b, "> The next turn is not before %s UTC.\n\n", l.Opens.UTC().Format(time.DateTime))
	}
	if len(l.Queue) == 0 {
		return b.String()
	}
	b.WriteString("| | Delivery | Article | Waits since (UTC) |\n|---|---|---|---|\n")
	for n, p := range l.Queue[:min(len(l.Queue), shown)] {
		fmt.Fprintf(&b, "| %d | `%s` | %s | %s |\n", n+1, p.Delivery, mdText(p.Title), p.Entered.UTC().Format(time.DateTime))
	}
	if more := len(l.Queue) - shown; more > 0 {
		fmt.Fprintf(&b, "\n… and %d more.\n", more)
	}
	return b.String()
}
