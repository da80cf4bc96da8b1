-- +goose Up
CREATE TABLE accepted (
    link TEXT PRIMARY KEY -- in its normal form: a page that an audit was told to let be
);

-- +goose Down
DROP TABLE accepted;
