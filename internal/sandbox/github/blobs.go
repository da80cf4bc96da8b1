package github

import (
	"encoding/base64"
	"net/http"

	"github.com/go-git/go-git/v5/plumbing"
)

func (s *Server) createBlob(req *http.Request) (*reply, *failure) {
	var in struct{ Content, Encoding string }
	if bad := read(req, &in); bad != nil {
		return nil, bad
	}
	content := []byte(in.Content)
	switch in.Encoding {
	case "", "utf-8":
	case "base64":
		decoded, err := base64.StdEncoding.DecodeString(in.Content)
		if err != nil {
			return nil, fail(http.StatusUnprocessableEntity, "content is not valid Base64")
		}
		content = decoded
	default:
		return nil, fail(http.StatusUnprocessableEntity, "%q is not a supported encoding", in.Encoding)
	}
	h := s.put(plumbing.BlobObject, content)
	return &reply{status: http.StatusCreated, body: map[string]any{"sha": h.String(), "url": s.api("git/blobs/%s", h)}}, nil
}

func (s *Server) getBlob(req *http.Request) (*reply, *failure) {
	h, valid := parseHash(req.PathValue("sha"))
	o, err := s.repo.Storer.EncodedObject(plumbing.BlobObject, h)
	if err != nil || !valid {
		return nil, fail(http.StatusNotFound, "Not Found")
	}
	content, err := contents(o)
	if err != nil {
		return nil, fail(http.StatusInternalServerError, "%v", err)
	}
	return ok(map[string]any{
		"sha": h.String(), "node_id": "B_" + h.String()[:8], "url": s.api("git/blobs/%s", h), "size": len(content), "encoding": "base64", "content": wrapped(content),
	}), nil
}
