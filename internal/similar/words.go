package similar

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// word is one word of a text, and where it stands in it, in bytes.
type word struct {
	text     string // folded: case and compatibility forms make no difference
	from, to int
}

// unspaced are the scripts that are written without spaces between words.
var unspaced = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan}

// words splits a text. A word is a run of letters, marks and digits. Where a script has no spaces, each two neighbouring
// characters are a word, so that every phrase of it is covered without knowing the language.
func words(s string) (out []word) {
	fold := cases.Fold()
	begin := -1
	end := func(to int) {
		if begin >= 0 {
			out = append(out, word{fold.String(norm.NFKC.String(s[begin:to])), begin, to})
			begin = -1
		}
	}
	last, lastAt := rune(-1), 0 // the character before, in a script without spaces
	for at, r := range s {
		switch {
		case unicode.In(r, unspaced...):
			end(at)
			if last >= 0 {
				out = append(out, word{string([]rune{last, r}), lastAt, at + len(string(r))})
			}
			last, lastAt = r, at
			continue
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) && begin >= 0:
			if begin < 0 {
				begin = at
			}
		case (r == '\'' || r == '’') && begin >= 0: // it's, l'article
		default:
			end(at)
		}
		last = -1
	}
	end(len(s))
	for n := range out {
		out[n].text = strings.TrimRight(strings.ReplaceAll(out[n].text, "’", "'"), "'")
	}
	return out
}
