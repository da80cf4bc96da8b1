package publish

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Fingerprint is the SHA-256, in hexadecimal, of the canonical JSON (RFC 8785) of the inputs that an
// intent's key is bound to.
type Fingerprint string

// Input is one binding input of an intent.
type Input struct {
	Field string `json:"field"`
	Value string `json:"value"`
}

// Inputs are the binding inputs, in the order of RFC 8785 (names sorted by UTF-16 code units).
func (i Intent) Inputs() []Input {
	return []Input{
		{"base_branch", i.BaseBranch},
		{"date", string(i.Date)},
		{"repository", i.Repository},
		{"slug", i.Slug},
		{"topic", i.Topic},
	}
}

// Fingerprint digests the binding inputs.
func (i Intent) Fingerprint() Fingerprint {
	sum := sha256.Sum256([]byte(CanonicalJSON(i.Inputs())))
	return Fingerprint(hex.EncodeToString(sum[:]))
}

// CanonicalJSON writes string members, already sorted by name, as RFC 8785 says (sections 3.2.2.2 and
// 3.2.3). Invalid UTF-8, which the RFC forbids, is replaced by U+FFFD.
func CanonicalJSON(members []Input) string {
	var b strings.Builder
	b.WriteByte('{')
	for n, m := range members {
		if n > 0 {
			b.WriteByte(',')
		}
		writeString(&b, m.Field)
		b.WriteByte(':')
		writeString(&b, m.Value)
	}
	b.WriteByte('}')
	return b.String()
}

func writeString(b *strings.Builder, s string) {
	short := map[rune]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}
	b.WriteByte('"')
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		switch esc, ok := short[r]; {
		case ok:
			b.WriteString(esc)
		case r < 0x20:
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}

// Difference is one binding input that differs between what a key was bound to and what is asked now.
type Difference struct {
	Field string `json:"field"`
	Bound string `json:"bound"` // what the key stands for
	Asked string `json:"asked"` // what was asked under the same key
}

func (d Difference) String() string {
	return fmt.Sprintf("%s: %q is bound, %q was asked", d.Field, d.Bound, d.Asked)
}

// Differences compares the binding inputs of two intents under one key; none means the same intent.
func Differences(bound, asked Intent) []Difference {
	var out []Difference
	b, a := bound.Inputs(), asked.Inputs()
	for n := range b {
		if b[n].Value != a[n].Value {
			out = append(out, Difference{b[n].Field, b[n].Value, a[n].Value})
		}
	}
	return out
}

// ConflictError says that a key is already bound to other inputs. Nothing was changed.
type ConflictError struct {
	Key         Key          `json:"key"`
	Differences []Difference `json:"differences"`
}

func (e *ConflictError) Error() string {
	parts := make([]string, len(e.Differences))
	for n, d := range e.Differences {
		parts[n] = d.String()
	}
	return fmt.Sprintf("%s is bound to other inputs: %s; a change of these is a new intent and needs a new key",
		e.Key, strings.Join(parts, "; "))
}

// TakenError says that another intent holds something that only one may hold. Nothing was changed.
type TakenError struct {
	Key   Key    `json:"key"`
	Field string `json:"field"` // "slug", "path", or "date and entry"
	Value string `json:"value"`
	By    Key    `json:"by"`
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("%s: %s %q is held by %s; choose another", e.Key, e.Field, e.Value, e.By)
}

// CorrectionError refuses a revision that does not follow what is published. Nothing was changed.
type CorrectionError struct {
	Key      Key    `json:"key"`
	Revision int    `json:"revision"` // that was asked for
	Why      string `json:"why"`
}

func (e *CorrectionError) Error() string {
	return fmt.Sprintf("%s, revision %d: %s", e.Key, e.Revision, e.Why)
}
