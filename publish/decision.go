package publish

import (
	"fmt"
	"slices"
	"strings"
)

// DecideName is the name of the update, and of the signal, that carries a Decision.
const DecideName = "decide"

// Action is what a person wants done about a blocked step.
type Action string

// The actions.
const (
	Confirm Action = "confirm" // it took effect: here is the receipt
	Retry   Action = "retry"   // try again, under the same operation key
	Skip    Action = "skip"    // leave this step undone and go on; deliveries and sweeping only
	Abandon Action = "abandon" // end the run here
)

// Decision is what a person said about a blocked step.
type Decision struct {
	Step    Step    `json:"step"`
	Action  Action  `json:"action"`
	By      string  `json:"by"`
	Note    string  `json:"note,omitempty"`
	Receipt Receipt `json:"receipt,omitzero"` // for confirm
}

// Allowed lists what may be decided about a step that waits. Only an announcement can be made by hand, or
// left out, as can what is only tidying; everything else can be seen by looking.
func Allowed(s Step) []Action {
	switch s {
	case Prepare, Syndicate:
		return []Action{Confirm, Retry, Skip, Abandon}
	case Sweep:
		return []Action{Retry, Skip}
	}
	return []Action{Retry, Abandon}
}

// Check refuses a decision that does not fit the step that waits ("" when none does).
func (d Decision) Check(waiting Step) error {
	switch {
	case waiting == "":
		return fmt.Errorf("nothing waits for a decision; look at the record for what the run is doing")
	case d.Step != waiting:
		return fmt.Errorf("step %q does not wait for a decision; %s does", d.Step, waiting)
	case !slices.Contains(Allowed(waiting), d.Action):
		return fmt.Errorf("action %q: %s takes one of %s", d.Action, waiting, actions(waiting))
	case strings.TrimSpace(d.By) == "":
		return fmt.Errorf("by: say who decides")
	case d.Action == Confirm && (d.Receipt.URL == "" || d.Receipt.ID == ""):
		return fmt.Errorf("receipt: confirm needs the id and the URL of what was published")
	}
	return nil
}

func actions(s Step) string {
	var names []string
	for _, a := range Allowed(s) {
		names = append(names, string(a))
	}
	return strings.Join(names, ", ")
}
