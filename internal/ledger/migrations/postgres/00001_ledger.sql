-- +goose Up
CREATE TABLE publications (
    key         TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    intent      TEXT NOT NULL,
    repository  TEXT NOT NULL,
    slug        TEXT NOT NULL,
    path        TEXT NOT NULL, -- folded: case and Unicode form do not make another path
    first_seen  TEXT NOT NULL,
    UNIQUE (repository, slug),
    UNIQUE (repository, path)
);

CREATE TABLE artifacts (
    digest  TEXT PRIMARY KEY,
    content BYTEA NOT NULL
);

CREATE TABLE kept (
    key      TEXT NOT NULL,
    revision INTEGER NOT NULL,
    kind     TEXT NOT NULL,
    digest   TEXT NOT NULL REFERENCES artifacts (digest),
    PRIMARY KEY (key, revision, kind)
);

CREATE TABLE operations (
    op          TEXT PRIMARY KEY,
    what        TEXT NOT NULL,
    intent      TEXT NOT NULL,
    destination TEXT NOT NULL,
    content_id  TEXT NOT NULL,
    revision    INTEGER NOT NULL,
    channel     TEXT NOT NULL,
    account     TEXT NOT NULL,
    text        TEXT NOT NULL, -- SHA-256 of the exact bytes
    state       TEXT NOT NULL,
    attempts    INTEGER NOT NULL,
    rejections  INTEGER NOT NULL,
    first       TEXT NOT NULL,
    last        TEXT NOT NULL,
    receipt     TEXT NOT NULL,
    looked      TEXT NOT NULL, -- when it was last looked for, and what was seen
    evidence    TEXT NOT NULL,
    deferrals   INTEGER NOT NULL DEFAULT 0,
    condition   TEXT NOT NULL DEFAULT '' -- why the last attempt did not succeed
);
CREATE INDEX operations_by_intent ON operations (intent);
CREATE INDEX operations_by_destination ON operations (destination, state);

CREATE TABLE attempts (
    op       TEXT NOT NULL REFERENCES operations (op),
    number   INTEGER NOT NULL,
    by       TEXT NOT NULL,
    approval TEXT NOT NULL,
    started  TEXT NOT NULL,
    state    TEXT NOT NULL,
    ended    TEXT NOT NULL,
    status   INTEGER NOT NULL, -- HTTP
    receipt  TEXT NOT NULL,
    error    TEXT NOT NULL,
    PRIMARY KEY (op, number)
);

CREATE TABLE lanes (
    name      TEXT PRIMARY KEY,
    op        TEXT NOT NULL,    -- the operation that holds the lane, or held it last
    leased    INTEGER NOT NULL, -- 1 while its attempt is under way
    until     TEXT NOT NULL,    -- when the lane opens: at the end of the lease, of the gap after it, or of a rate limit
    why       TEXT NOT NULL,
    condition TEXT NOT NULL     -- why it is closed
);

CREATE TABLE accounts (
    destination TEXT PRIMARY KEY,
    whole       INTEGER NOT NULL, -- 1 if all that the account had published was read
    reach       TEXT NOT NULL,    -- when the oldest that was read was made
    newest      TEXT NOT NULL     -- the id of the newest
);

CREATE TABLE backlog (
    destination TEXT NOT NULL REFERENCES accounts (destination),
    link        TEXT NOT NULL, -- in its normal form
    receipt     TEXT NOT NULL,
    created     TEXT NOT NULL
);
CREATE INDEX backlog_by_link ON backlog (destination, link);

CREATE TABLE records (
    key      TEXT NOT NULL,
    revision INTEGER NOT NULL,
    record   TEXT NOT NULL,
    closed   TEXT NOT NULL,
    PRIMARY KEY (key, revision)
);

CREATE TABLE events (
    id   BIGINT PRIMARY KEY,
    at   TEXT NOT NULL,
    kind TEXT NOT NULL,
    key  TEXT NOT NULL,
    body TEXT NOT NULL
);

-- +goose Down
DROP TABLE events;
DROP TABLE records;
DROP TABLE backlog;
DROP TABLE accounts;
DROP TABLE lanes;
DROP TABLE attempts;
DROP TABLE operations;
DROP TABLE kept;
DROP TABLE artifacts;
DROP TABLE publications;
