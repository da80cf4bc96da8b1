package fault

import (
	"encoding/json"
	"net/http"
)

// Admin lets another process order faults: POST adds a rule, sent as JSON, and refuses a wrong one with
// 400; GET lists the hits; DELETE takes all rules away. It answers on whatever path it is served.
func (l *Layer) Admin() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch req.Method {
		case http.MethodPost:
			var r Rule
			in := json.NewDecoder(req.Body)
			in.DisallowUnknownFields()
			err := in.Decode(&r)
			if err == nil {
				err = l.add(r)
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			w.WriteHeader(http.StatusNoContent)
		case http.MethodGet:
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(l.Hits())
		case http.MethodDelete:
			l.Clear()
			w.WriteHeader(http.StatusNoContent)
		default:
			w.Header().Set("Allow", "DELETE, GET, POST")
			http.Error(w, "a rule is added by POST, hits are listed by GET, rules are cleared by DELETE", http.StatusMethodNotAllowed)
		}
	})
}
