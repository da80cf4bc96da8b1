package x

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestWeightIsWhatTwitterTextSays compares with what the npm package twitter-text 3.1.0 said of a corpus, which
// testdata/weights.mjs writes. Where a text has what may be a link without a scheme, ours may be more, and never less.
func TestWeightIsWhatTwitterTextSays(t *testing.T) {
	raw, err := os.ReadFile("testdata/weights.json")
	if err != nil {
		t.Fatal(err)
	}
	var corpus []struct {
		Text   string
		Weight int
		Links  []string
	}
	if err := json.Unmarshal(raw, &corpus); err != nil {
		t.Fatal(err)
	}
	equal := 0
	for _, c := range corpus {
		doubtful := bare.MatchString(linked.ReplaceAllString(c.Text, "")) || slices.ContainsFunc(c.Links, func(l string) bool { return !strings.HasPrefix(l, "http") })
		got := weight(c.Text)
		if got == c.Weight {
			equal++
		}
		if got < c.Weight || got != c.Weight && !doubtful {
			t.Errorf("%q: %d, want %d", c.Text, got, c.Weight)
		}
	}
	if len(corpus) < 300 || equal < len(corpus)*9/10 {
		t.Errorf("%d of %d texts are equal", equal, len(corpus))
	}
}
