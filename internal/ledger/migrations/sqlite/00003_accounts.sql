-- +goose Up
ALTER TABLE lanes ADD COLUMN condition TEXT NOT NULL DEFAULT 'busy'; -- why it is closed
ALTER TABLE operations ADD COLUMN condition TEXT NOT NULL DEFAULT ''; -- why the last attempt did not succeed
CREATE INDEX operations_by_destination ON operations (destination, state);

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

-- +goose Down
DROP TABLE backlog;
DROP TABLE accounts;
DROP INDEX operations_by_destination;
ALTER TABLE operations DROP COLUMN condition;
ALTER TABLE lanes DROP COLUMN condition;
