package ledger

import "database/sql"

// DB is the ledger's database.
func DB(l *Ledger) *sql.DB { return l.db }

// Columns is what a table can be sorted by to be compared.
var Columns = map[string]string{
	"publications": "key", "artifacts": "digest", "kept": "key, revision, kind", "operations": "op", "attempts": "op, number",
	"lanes": "name", "accounts": "destination", "backlog": "destination, link, receipt", "records": "key, revision", "events": "id", "accepted": "link",
}
