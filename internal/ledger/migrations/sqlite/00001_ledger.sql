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
    content BLOB NOT NULL
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
    evidence    TEXT NOT NULL
);
CREATE INDEX operations_by_intent ON operations (intent);

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

CREATE TABLE records (
    key      TEXT NOT NULL,
    revision INTEGER NOT NULL,
    record   TEXT NOT NULL,
    closed   TEXT NOT NULL,
    PRIMARY KEY (key, revision)
);

CREATE TABLE events (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    at   TEXT NOT NULL,
    kind TEXT NOT NULL,
    key  TEXT NOT NULL,
    body TEXT NOT NULL
);

-- +goose Down
DROP TABLE events;
DROP TABLE records;
DROP TABLE attempts;
DROP TABLE operations;
DROP TABLE kept;
DROP TABLE artifacts;
DROP TABLE publications;
