// Package examples holds a calendar, its drafts and a configuration that the demo publishes.
package examples

import "embed"

// Files are calendar.yaml, colophon.yaml and drafts/*.md.
//
//go:embed *.yaml drafts/*.md
var Files embed.FS
