package x

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
	"golang.org/x/text/unicode/norm"
)

// The weights of twitter-text's configuration 3, whole instead of by the hundred.
// https://docs.x.com/resources/fundamentals/counting-characters
const (
	maxWeight = 280
	urlWeight = 23
)

var (
	linked = regexp.MustCompile(`https?://[^\s<>"]+`)
	// bare is what may be a link without a scheme. Whether it is one depends on a list of top-level domains that
	// changes; so it is taken for one, and never for less than its letters.
	bare = regexp.MustCompile(`(?i)[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)*\.\p{L}{2,}(?:/[^\s<>"]*)?`)
)

// weight is how much of a post's 280 a text takes up: never less than X says, and more only for what looks like a link
// without being one.
func weight(text string) (n int) {
	text = norm.NFC.String(text)
	links := 0
	text = linked.ReplaceAllStringFunc(text, func(l string) string {
		links++
		if at := strings.IndexFunc(l, func(r rune) bool { return r > unicode.MaxASCII }); at >= 0 {
			return "\x00" + l[at:] // in a path, most other letters end the link
		}
		return "\x00"
	})
	for _, piece := range strings.Split(text, "\x00") {
		last := 0
		for _, at := range bare.FindAllStringIndex(piece, -1) {
			n += weigh(piece[last:at[0]]) + max(urlWeight, weigh(piece[at[0]:at[1]]))
			last = at[1]
		}
		n += weigh(piece[last:])
	}
	return n + links*urlWeight
}

// weigh sums a text without links: an emoji is 2, however many code points it takes.
func weigh(text string) (n int) {
	for g := uniseg.NewGraphemes(text); g.Next(); {
		runes := g.Runes()
		if emoji(runes) {
			n += 2
			continue
		}
		for _, r := range runes {
			n += one(r)
		}
	}
	return n
}

// one is the weight of a code point: 1 for most scripts that are written with letters, 2 for all others.
func one(r rune) int {
	switch {
	case r <= 4351, r >= 8192 && r <= 8205, r >= 8208 && r <= 8223, r >= 8242 && r <= 8247:
		return 1
	}
	return 2
}

// emoji says whether a grapheme is an emoji of several code points; one of a single code point weighs 2 anyway.
func emoji(runes []rune) bool {
	if len(runes) < 2 {
		return false
	}
	for n, r := range runes {
		switch {
		case r >= 0x1F1E6 && r <= 0x1F1FF: // flags, by two letters
			return len(runes) == 2
		case r == 0xFE0F && n > 0, r == 0x20E3, r >= 0x1F3FB && r <= 0x1F3FF && n > 0, r >= 0xE0020 && r <= 0xE007F:
			return true
		case r == 0x200D && runes[0] >= 0x2190:
			return true
		}
	}
	return false
}
