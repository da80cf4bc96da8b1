package publish

import (
	"strings"
	"testing"
)

func TestKeyIsReadStrictly(t *testing.T) {
	good := "media-001:2026-10-04:idempotency"
	k, err := ParseKey(good)
	if err != nil || k.Campaign() != "media-001" || k.Date() != "2026-10-04" || k.Entry() != "idempotency" {
		t.Fatalf("ParseKey(%q) = %q, %v", good, k, err)
	}
	for _, bad := range []string{
		"", "a", "a:b", "media:2026-10-04", "media:2026-10-04:x:y", "media:2026-02-30:x", "media:2026-1-4:x",
		"Media:2026-10-04:x", "media:2026-10-04:../x", "media:2026-10-04:", ":2026-10-04:x", "me dia:2026-10-04:x",
		"media:2026-10-04:x\n", "media:2026-10-04:x/y", "-m:2026-10-04:x", "m:2026-10-04:x--y", "m:2026-10-04:" + strings.Repeat("x", 101),
	} {
		if k, err := ParseKey(bad); err == nil {
			t.Errorf("ParseKey(%q) = %q, want an error", bad, k)
		}
	}
}

func FuzzKey(f *testing.F) {
	f.Add("media-001:2026-10-04:idempotency")
	f.Add("a:0000-01-01:b")
	f.Fuzz(func(t *testing.T, s string) {
		k, err := ParseKey(s)
		if err != nil {
			return
		}
		again, err := NewKey(k.Campaign(), k.Date(), k.Entry())
		if err != nil || again != k || string(k) != s {
			t.Fatalf("%q: read as %q, made again as %q, %v", s, k, again, err)
		}
		if strings.ContainsAny(s, "/\\ \n\t") {
			t.Fatalf("%q: accepted a character that does not belong in a key", s)
		}
	})
}
