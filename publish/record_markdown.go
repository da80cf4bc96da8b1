package publish

import (
	"fmt"
	"strings"
	"time"
)

// Markdown shows the record to a person: a table of steps, the deliveries, what is waited for, and
// exactly what to send when it is a person's move.
func (r Record) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n", mdText(r.title()))
	fmt.Fprintf(&b, "`%s` · revision %d · fingerprint `%.12s` · **%s**\n\n", r.Intent.Key, r.Intent.Revision, r.Fingerprint, r.standing())
	if r.Waiting != nil {
		r.Waiting.markdown(&b, r.Intent.Key)
	}
	b.WriteString("| Step | Outcome | Proof |\n|---|---|---|\n")
	for _, l := range r.Steps {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", l.Step, mark(l.Outcome), proof(l.Receipts))
	}
	for _, d := range r.Deliveries {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", mdText(d.Channel), d.standing(), d.proof())
	}
	r.turns(&b)
	r.refused(&b)
	fmt.Fprintf(&b, "\nTopic: %s  \nArticle: <%s>  \nFile: `%s` in `%s` on `%s`\n",
		mdText(r.Intent.Topic), r.Intent.URL, r.Intent.Path, r.Intent.Repository, r.Intent.BaseBranch)
	return b.String()
}

func (r Record) title() string {
	if r.Plan.Title != "" {
		return r.Plan.Title
	}
	return r.Intent.Topic
}

func (r Record) standing() string {
	if r.Outcome != "" {
		return fmt.Sprintf("%s, %s", r.State, r.Outcome)
	}
	if r.State == "" {
		return "starting"
	}
	return string(r.State)
}

func (w Waiting) markdown(b *strings.Builder, key Key) {
	fmt.Fprintf(b, "> **Waiting for %s** — %s's move, since %s.", mdText(w.For), w.Owner, w.Since.UTC().Format(time.DateTime))
	if !w.Until.IsZero() {
		fmt.Fprintf(b, " Until %s.", w.Until.UTC().Format(time.DateTime))
	}
	b.WriteString("\n")
	if w.Next != "" {
		fmt.Fprintf(b, ">\n> %s\n", mdText(w.Next))
	}
	b.WriteString("\n")
	if w.Owner == Colophon {
		return
	}
	fmt.Fprintf(b, "> Last confirmed: **%s**.", w.Confirmed)
	if w.Operation != "" {
		fmt.Fprintf(b, " In question: operation `%.12s`, after attempt %d.", w.Operation, w.Attempt)
	}
	b.WriteString("\n")
	for _, e := range w.Evidence {
		fmt.Fprintf(b, ">\n> At %s, %s: %s\n", e.At.UTC().Format(time.TimeOnly), mdText(e.Look), mdText(e.Saw))
	}
	b.WriteString("\n")
	var how []string
	for _, a := range Allowed(w.Step) {
		how = append(how, fmt.Sprintf("`%s`", a))
	}
	fmt.Fprintf(b, "Send the update or signal `%s` with one of %s:\n\n```\n", DecideName, strings.Join(how, ", "))
	fmt.Fprintf(b, "temporal workflow signal -w '%s' --name %s --input '{\"step\":\"%s\",\"action\":\"retry\",\"by\":\"YOUR NAME\"}'\n```\n\n", w.ID(key), DecideName, w.Step)
}

// ID is the workflow that waits: the run itself, or the delivery of one channel.
func (w Waiting) ID(key Key) string {
	if w.Channel != "" {
		return DeliveryID(key, w.Channel)
	}
	return string(key)
}

func (r Record) turns(b *strings.Builder) {
	var rows []string
	for _, l := range r.Steps {
		for n, t := range l.Turns {
			if n == 1 && l.Omitted > 0 {
				rows = append(rows, fmt.Sprintf("| | %s | | … %d more, in the history |", l.Step, l.Omitted))
			}
			by := ""
			if t.By != "" {
				by = " (" + mdText(t.By) + ")"
			}
			sign := mark(t.Outcome)
			switch {
			case t.Condition == RetryApproved:
				sign = "↻ approved"
			case t.Again && t.Outcome != NotConfirmed:
				sign = "… again"
			}
			if t.Times > 0 {
				by += fmt.Sprintf(" (%d times)", t.Times+1)
			}
			rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s%s |", t.At.UTC().Format(time.TimeOnly), l.Step, sign, mdText(t.Detail), by))
		}
	}
	if len(rows) > 0 {
		fmt.Fprintf(b, "\n### What did not go straight\n\n| At (UTC) | Step | Outcome | What happened |\n|---|---|---|---|\n%s\n", strings.Join(rows, "\n"))
	}
}

func (r Record) refused(b *strings.Builder) {
	if len(r.Refused) == 0 {
		return
	}
	b.WriteString("\n### Decisions that did not fit\n\n| At (UTC) | By | Why |\n|---|---|---|\n")
	for _, t := range r.Refused {
		fmt.Fprintf(b, "| %s | %s | %s |\n", t.At.UTC().Format(time.TimeOnly), mdText(t.By), mdText(t.Detail))
	}
}

func (d Delivery) standing() string {
	if d.Skipped {
		return "skipped"
	}
	return mark(d.Outcome)
}

func (d Delivery) proof() string {
	if d.Receipt.Empty() {
		return mdText(d.Detail)
	}
	return proof([]Named{{What: "receipt", Receipt: d.Receipt}})
}

func mark(o Outcome) string {
	switch o {
	case Passed:
		return "✓ passed"
	case NotConfirmed:
		return "? not_confirmed"
	case "":
		return "… running"
	default:
		return "✗ " + string(o)
	}
}

func proof(rs []Named) string {
	var parts []string
	for _, n := range rs {
		text := n.Receipt.ID
		switch {
		case text == "" && n.Receipt.SHA == "":
			text = "seen"
		case text == "":
			text = n.Receipt.SHA.Short()
		case n.Receipt.SHA != "":
			text += " at " + n.Receipt.SHA.Short()
		}
		if strings.HasPrefix(n.Receipt.URL, "http") {
			text = fmt.Sprintf("[%s](%s)", mdText(text), strings.NewReplacer("(", "%28", ")", "%29", " ", "%20", "|", "%7C").Replace(n.Receipt.URL))
		} else {
			text = mdText(text)
		}
		parts = append(parts, n.What+" "+text)
	}
	return strings.Join(parts, ", ")
}

// mdText makes text that people or remotes wrote harmless inside a line or table cell of Markdown.
func mdText(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", "`", "\\`", "[", `\[`, "]", `\]`, "*", `\*`).Replace(s)
}
