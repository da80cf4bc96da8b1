package bluesky

import (
	"crypto/sha256"
	"encoding/binary"
	"regexp"
	"strings"
	"time"

	"colophon/internal/channel"
	"colophon/publish"
)

// put is the request com.atproto.repo.putRecord. Swap stays in it as null: "only if there is no record yet". Left out,
// it would mean "whatever is there".
type put struct {
	Repo       string  `json:"repo"`
	Collection string  `json:"collection"`
	RKey       string  `json:"rkey"`
	Record     record  `json:"record"`
	Swap       *string `json:"swapRecord"`
}

// record is an app.bsky.feed.post.
type record struct {
	Type    string   `json:"$type"`
	Text    string   `json:"text"`
	Created string   `json:"createdAt"` // ISO 8601, in UTC, to the millisecond
	Langs   []string `json:"langs,omitempty"`
	Facets  []facet  `json:"facets,omitempty"`
	Embed   *embed   `json:"embed,omitempty"`
}

type facet struct {
	Index    span      `json:"index"`
	Features []feature `json:"features"`
}

// span counts bytes of the text in UTF-8; the end is exclusive.
type span struct {
	Start int `json:"byteStart"`
	End   int `json:"byteEnd"`
}

type feature struct {
	Type string `json:"$type"`
	URI  string `json:"uri,omitempty"`
	Tag  string `json:"tag,omitempty"`
}

type embed struct {
	Type     string   `json:"$type"`
	External external `json:"external"`
}

type external struct {
	URI         string `json:"uri"`
	Title       string `json:"title"`
	Description string `json:"description"`
}

func newRecord(text, language string, a publish.Announcement) record {
	r := record{
		Type: Collection, Text: text, Created: a.Made.UTC().Format("2006-01-02T15:04:05.000Z"), Facets: facets(text),
		Embed: &embed{Type: "app.bsky.embed.external", External: external{URI: a.URL, Title: a.Title, Description: a.Description}},
	}
	if language != "" {
		r.Langs = []string{language}
	}
	return r
}

var hashtag = regexp.MustCompile(`(?:^|\s)(#[\p{L}\p{N}_]+)`)

// facets make a text's links and hashtags such to readers, in the order of the text.
func facets(text string) []facet {
	var out []facet
	for _, at := range channel.Links.FindAllStringIndex(text, -1) {
		out = append(out, facet{span{at[0], at[1]}, []feature{{Type: "app.bsky.richtext.facet#link", URI: text[at[0]:at[1]]}}})
	}
	for _, at := range hashtag.FindAllStringSubmatchIndex(text, -1) {
		out = append(out, facet{span{at[2], at[3]}, []feature{{Type: "app.bsky.richtext.facet#tag", Tag: text[at[2]+1 : at[3]]}}})
	}
	return out
}

// links are where a record links to, in its text or by its card.
func (r record) links() []string {
	var out []string
	for _, f := range r.Facets {
		for _, g := range f.Features {
			if g.URI != "" {
				out = append(out, g.URI)
			}
		}
	}
	if r.Embed != nil && r.Embed.External.URI != "" {
		out = append(out, r.Embed.External.URI)
	}
	return out
}

// recordKey is a TID: a time in microseconds, and ten bits that tell what is made in the same one apart.
// https://atproto.com/specs/tid
func recordKey(made time.Time, what string) string {
	const digits = "234567abcdefghijklmnopqrstuvwxyz"
	sum := sha256.Sum256([]byte(what))
	n := uint64(made.UnixMicro())<<10 | uint64(binary.BigEndian.Uint16(sum[:])&0x3ff)
	var b strings.Builder
	for shift := 60; shift >= 0; shift -= 5 {
		b.WriteByte(digits[n>>shift&31])
	}
	return b.String()
}
