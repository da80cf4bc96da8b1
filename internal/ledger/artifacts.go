package ledger

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"colophon/publish"
)

func digest(content []byte) publish.Digest {
	sum := sha256.Sum256(content)
	return publish.Digest(hex.EncodeToString(sum[:]))
}

// kept tells that an artifact was kept. Its content is text wherever it can be, which diffs well.
type kept struct {
	Revision int            `json:"revision"`
	Kind     string         `json:"kind"`
	Digest   publish.Digest `json:"digest"`
	Content  string         `json:"content,omitempty"`
	Bytes    []byte         `json:"bytes,omitempty"` // the content that is not UTF-8
}

func (*kept) kind() string { return "kept" }

func (e *kept) apply(ctx context.Context, tx *tx, key string) error {
	content := e.Bytes
	if content == nil {
		content = []byte(e.Content)
	}
	if err := checked(e.Digest, content); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO artifacts (digest, content) VALUES ($1, $2) ON CONFLICT (digest) DO NOTHING`, e.Digest, content); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO kept (key, revision, kind, digest) VALUES ($1, $2, $3, $4)`, key, e.Revision, e.Kind, e.Digest)
	return err
}

// Keep keeps the first artifact of a kind for an intent's revision, and answers that one ever after.
func (l *Ledger) Keep(ctx context.Context, key publish.Key, revision int, kind string, content []byte) (d publish.Digest, first []byte, err error) {
	err = l.within(ctx, func(tx *tx) error {
		var ok bool
		if d, first, ok, err = find(ctx, tx, key, revision, kind); err != nil || ok {
			return err
		}
		d, first = digest(content), content
		e := &kept{Revision: revision, Kind: kind, Digest: d}
		if utf8.Valid(content) {
			e.Content = string(content)
		} else {
			e.Bytes = content
		}
		return add(ctx, tx, string(key), e)
	})
	return d, first, err
}

// Kept answers the artifact that was kept, if one was.
func (l *Ledger) Kept(ctx context.Context, key publish.Key, revision int, kind string) (publish.Digest, []byte, bool, error) {
	return find(ctx, l.db, key, revision, kind)
}

func find(ctx context.Context, q querier, key publish.Key, revision int, kind string) (d publish.Digest, content []byte, ok bool, err error) {
	err = q.QueryRowContext(ctx, `SELECT a.digest, a.content FROM kept k JOIN artifacts a USING (digest) WHERE k.key = $1 AND k.revision = $2 AND k.kind = $3`, key, revision, kind).Scan(&d, &content)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil, false, nil
	}
	if err != nil {
		return "", nil, false, fmt.Errorf("ledger: %s of %s: %w", kind, key, err)
	}
	return d, content, true, checked(d, content)
}

// Artifact answers an artifact by its digest, and refuses one whose bytes no longer fit it.
func (l *Ledger) Artifact(ctx context.Context, d publish.Digest) ([]byte, error) {
	var content []byte
	if err := l.db.QueryRowContext(ctx, `SELECT content FROM artifacts WHERE digest = $1`, d).Scan(&content); err != nil {
		return nil, fmt.Errorf("ledger: artifact %s: %w", d, err)
	}
	return content, checked(d, content)
}

func checked(d publish.Digest, content []byte) error {
	if got := digest(content); got != d {
		return fmt.Errorf("ledger: artifact %s has been changed: its bytes give %s", d, got)
	}
	return nil
}

// Pin keeps the first plan of an intent's revision, and answers that one ever after.
func (l *Ledger) Pin(ctx context.Context, key publish.Key, revision int, p publish.Plan) (publish.Plan, error) {
	_, first, err := l.Keep(ctx, key, revision, planKind, []byte(text(p)))
	if err != nil {
		return p, err
	}
	var pinned publish.Plan
	if err := json.Unmarshal(first, &pinned); err != nil {
		return p, fmt.Errorf("ledger: plan of %s: %w", key, err)
	}
	return pinned, nil
}
