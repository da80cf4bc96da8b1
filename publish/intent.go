package publish

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Intent is one article on one date for one campaign. Topic, slug, date, repository and base branch
// are what its key is bound to (see Fingerprint); the rest says where and how, and may be configured
// anew between runs.
type Intent struct {
	Key        Key    `json:"key"`
	Topic      string `json:"topic"`
	Slug       string `json:"slug"`
	Date       Date   `json:"date"`
	Repository string `json:"repository"`  // owner/name
	BaseBranch string `json:"base_branch"` // the branch that is published
	Revision   int    `json:"revision"`    // 1 is the first publication

	Path     string       `json:"path"`             // of the article in the repository, with slashes
	URL      CanonicalURL `json:"url"`              // where the article will be served
	Draft    string       `json:"draft"`            // where the draft comes from: a Markdown file
	Channels []string     `json:"channels"`         // names of configured channels to announce it on
	Links    []string     `json:"links,omitempty"`  // that announcements may hold besides the article's own
	Repost   []string     `json:"repost,omitempty"` // of a correction: channels to announce it on again

	Approved *Approved `json:"approved,omitempty"` // nil until somebody has approved it
	Due      time.Time `json:"due,omitzero"`       // when its day begins, where the campaign is at home
}

// Approved is who let an intent be published, and when.
type Approved struct {
	By string    `json:"by"`
	At time.Time `json:"at"`
}

// CanonicalURL is the one absolute URL that an article is known by.
type CanonicalURL string

// SHA is the SHA-1 name of a Git object, 40 lower-case hexadecimal digits.
type SHA string

var shaPattern = regexp.MustCompile(`^[0-9a-f]{40}$`)

// Valid says whether s has the shape of a SHA; the empty answer of a broken server does not.
func (s SHA) Valid() bool { return shaPattern.MatchString(string(s)) }

// Short is the first ten digits, for people.
func (s SHA) Short() string { return string(s[:min(len(s), 10)]) }

// Branch is the one branch that carries this revision of the intent.
func (i Intent) Branch() string {
	name := fmt.Sprintf("colophon/%s/%s/%s", i.Key.Campaign(), i.Key.Date(), i.Key.Entry())
	if i.Revision > 1 {
		name += fmt.Sprintf("-r%d", i.Revision)
	}
	return name
}

// ContentID names the article for operation keys: the key, which never changes.
func (i Intent) ContentID() string { return string(i.Key) }

// Check refuses an intent that could not be published safely, naming the field and what it should be.
func (i Intent) Check() error {
	if k, err := ParseKey(string(i.Key)); err != nil {
		return err
	} else if k.Date() != i.Date {
		return fmt.Errorf("date %q: the key %s says %s", i.Date, i.Key, k.Date())
	}
	if strings.TrimSpace(i.Topic) == "" || strings.ContainsFunc(i.Topic, unicode.IsControl) || len(i.Topic) > 500 {
		return fmt.Errorf("topic %q: want one line of 1 to 500 bytes", i.Topic)
	}
	if err := CheckSlug(i.Slug); err != nil {
		return err
	}
	if !repositoryPattern.MatchString(i.Repository) {
		return fmt.Errorf("repository %q: want owner/name", i.Repository)
	}
	if err := checkBranch(i.BaseBranch); err != nil {
		return err
	}
	if i.Revision < 1 || i.Revision > maxRevision {
		return fmt.Errorf("revision %d: want 1, the first publication, or the number of a correction, 2 to %d", i.Revision, maxRevision)
	}
	for _, l := range i.Links {
		if err := checkLink(l); err != nil {
			return err
		}
	}
	for _, c := range i.Repost {
		if !slices.Contains(i.Channels, c) {
			return fmt.Errorf("repost %q: is none of the channels %s", c, strings.Join(i.Channels, ", "))
		}
	}
	if err := CheckPath(i.Path); err != nil {
		return err
	}
	return checkURL(i.URL)
}

var (
	repositoryPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}$`)
	branchPattern     = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./-]{0,200}$`)
)

func checkBranch(b string) error {
	bad := strings.Contains(b, "..") || strings.Contains(b, "//") || strings.HasSuffix(b, "/") ||
		strings.HasSuffix(b, ".") || strings.HasSuffix(b, ".lock")
	if bad || !branchPattern.MatchString(b) {
		return fmt.Errorf("branch %q: want a plain branch name such as main", b)
	}
	return nil
}

// maxRevision keeps a slip of the pen from being a revision.
const maxRevision = 1000

// checkLink refuses what is no plain link: it is compared, to the byte, with what a text links to.
func checkLink(l string) error {
	if !strings.HasPrefix(l, "https://") && !strings.HasPrefix(l, "http://") || strings.ContainsAny(l, " \"<>") || strings.ContainsFunc(l, unicode.IsControl) {
		return fmt.Errorf("link %q: want a whole link, as https://example.org/page", l)
	}
	return nil
}

// CheckSlug refuses anything but lower-case letters, digits and single hyphens, and the names that
// Windows reserves for devices: a repository with such a file cannot be checked out there.
func CheckSlug(s string) error {
	if err := checkName("slug", s); err != nil {
		return err
	}
	if reserved(s) {
		return fmt.Errorf("slug %q: is a reserved device name on Windows; choose another", s)
	}
	return nil
}

// CheckPath refuses a repository path that is absolute, leaves the repository, touches Git's own
// files, or cannot be checked out on every system.
func CheckPath(p string) error {
	if p == "" || len(p) > 400 || path.IsAbs(p) || path.Clean(p) != p || p == "." || strings.HasPrefix(p, "../") {
		return fmt.Errorf("path %q: want a relative path inside the repository, without dot segments", p)
	}
	for _, part := range strings.Split(p, "/") {
		stem, _, _ := strings.Cut(part, ".")
		switch {
		case strings.ContainsAny(part, `<>:"|?*\`) || strings.ContainsFunc(part, unicode.IsControl):
			return fmt.Errorf("path %q: %q has a character that some file systems refuse", p, part)
		case strings.HasSuffix(part, ".") || strings.HasSuffix(part, " "):
			return fmt.Errorf("path %q: %q ends with a dot or a space, which Windows drops", p, part)
		case strings.EqualFold(part, ".git") || reserved(stem):
			return fmt.Errorf("path %q: %q is a reserved name", p, part)
		}
	}
	return nil
}

func reserved(stem string) bool {
	s := strings.ToLower(stem)
	switch s {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(s) == 4 && (strings.HasPrefix(s, "com") || strings.HasPrefix(s, "lpt")) && s[3] >= '0' && s[3] <= '9'
}

// checkURL works without net/url's leniency: a URL that people write must be plain.
func checkURL(u CanonicalURL) error {
	s := string(u)
	rest, ok := strings.CutPrefix(s, "https://")
	if !ok {
		rest, ok = strings.CutPrefix(s, "http://")
	}
	host, _, _ := strings.Cut(rest, "/")
	bad := strings.ContainsAny(s, " \"<>\\^`{|}#?") || strings.ContainsFunc(s, unicode.IsControl) || strings.Contains(host, "@")
	if !ok || host == "" || bad {
		return fmt.Errorf("url %q: want an absolute http or https URL without query, fragment or user", s)
	}
	return nil
}
