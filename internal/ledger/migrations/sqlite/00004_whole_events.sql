-- +goose Up
-- Events that rebuild the tables hold all that they kept.
UPDATE events SET body = json_set(body, '$.content', (SELECT CAST(content AS TEXT) FROM artifacts WHERE digest = json_extract(body, '$.digest')))
    WHERE kind = 'kept';
UPDATE events SET body = json_set(body, '$.record', json((SELECT record FROM records r WHERE r.key = events.key AND r.revision = json_extract(body, '$.revision'))))
    WHERE kind = 'closed';
UPDATE events SET body = json_set(body, '$.state', CASE kind WHEN 'sent' THEN 'done' WHEN 'unknown' THEN 'not_confirmed' ELSE kind END)
    WHERE kind IN ('sent', 'failed', 'not_performed', 'unknown');

-- +goose Down
UPDATE events SET body = json_remove(body, '$.content', '$.record', '$.state');
