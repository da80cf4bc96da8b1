package article

import (
	"context"
	"fmt"
	"io"
	"os"

	"colophon/publish"
)

// maxDraft is the largest draft that is read, in bytes.
const maxDraft = 1 << 20

// Files makes drafts by reading the files that intents name.
type Files struct{}

// Draft reads an intent's draft. A file that is not there, or too large, is a Halted trouble.
func (Files) Draft(_ context.Context, in publish.Intent) ([]byte, error) {
	f, err := os.Open(in.Draft)
	if err != nil {
		return nil, &publish.Trouble{Kind: publish.Halted, Condition: "draft_missing", Detail: "the draft cannot be read", Next: "put the draft where the calendar says, then decide retry", Err: err}
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxDraft+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", in.Draft, err)
	}
	if len(content) > maxDraft {
		return nil, &publish.Trouble{Kind: publish.Halted, Condition: "draft_too_large", Detail: fmt.Sprintf("%s is larger than %d bytes", in.Draft, maxDraft), Next: "shorten the draft, then decide retry"}
	}
	return content, nil
}
