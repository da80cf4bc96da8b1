-- +goose Up
CREATE TABLE lanes (
    name   TEXT PRIMARY KEY,
    op     TEXT NOT NULL,    -- the operation that holds the lane, or held it last
    leased INTEGER NOT NULL, -- 1 while its attempt is under way
    until  TEXT NOT NULL,    -- when the lane opens: at the end of the lease, of the gap after it, or of a rate limit
    why    TEXT NOT NULL
);
ALTER TABLE operations ADD COLUMN deferrals INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE operations DROP COLUMN deferrals;
DROP TABLE lanes;
