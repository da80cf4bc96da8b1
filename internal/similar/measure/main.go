// Command measure tells how well likeness is told, on public labelled texts and on a real blog.
//
//	go run ./internal/similar/measure DATA
//
// DATA holds meaning/clough-stevenson (Clough and Stevenson 2011: 95 answers to five questions, copied to four
// degrees), meaning/lee (Lee, Pincombe and Welsh 2005: 50 news items, every pair judged by people) and rust-blog/content
// (the posts of the Rust project's two blogs). What is missing is left out, and said so.
package main

import (
	"encoding/csv"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"colophon/internal/article"
	"colophon/internal/similar"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: measure DATA")
		os.Exit(2)
	}
	for _, m := range []struct {
		folder string
		f      func(string) error
	}{{"meaning/clough-stevenson", answers}, {"meaning/lee", news}, {"rust-blog/content", blog}} {
		dir := filepath.Join(os.Args[1], filepath.FromSlash(m.folder))
		if _, err := os.Stat(dir); err != nil {
			fmt.Printf("%s: left out, it is not there\n\n", m.folder)
			continue
		}
		if err := m.f(dir); err != nil {
			fmt.Fprintln(os.Stderr, m.folder+":", err)
			os.Exit(1)
		}
	}
}

// plain is a text without marks, a passage a paragraph.
func plain(raw []byte) similar.Text {
	var t similar.Text
	for _, p := range strings.Split(strings.ToValidUTF8(string(raw), " "), "\n\n") {
		if p = strings.Join(strings.Fields(p), " "); p != "" {
			t.Passages = append(t.Passages, p)
		}
	}
	return t
}

// interval is Wilson's, at 95 %.
func interval(k, n int) string {
	if n == 0 {
		return "–"
	}
	const z = 1.96
	p, m := float64(k)/float64(n), float64(n)
	centre, half := p+z*z/(2*m), z*math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return fmt.Sprintf("%.2f (%.2f–%.2f; %d of %d)", p, (centre-half)/(1+z*z/m), (centre+half)/(1+z*z/m), k, n)
}

func answers(dir string) error {
	f, err := os.Open(filepath.Join(dir, "file_information.csv"))
	if err != nil {
		return err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return err
	}
	var originals []similar.Article
	for _, task := range []string{"a", "b", "c", "d", "e"} {
		raw, err := os.ReadFile(filepath.Join(dir, "orig_task"+task+".txt"))
		if err != nil {
			return err
		}
		originals = append(originals, similar.Article{ID: task, Signature: similar.Sign(plain(raw))})
	}
	site := similar.New(originals)
	found, of, copies := map[string]int{}, map[string]int{}, map[string]int{}
	type scored struct {
		level  string
		cosine float64
		shared float64
	}
	var all []scored
	flagged, right := 0, 0
	for _, row := range rows[1:] {
		name, task, level := row[0], row[1], row[2]
		if level == "orig" {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		of[level]++
		for _, l := range site.Judge(plain(raw)).Closest {
			if l.ID == task {
				all = append(all, scored{level, l.Cosine, l.Contains})
			}
			if l.Verdict == similar.Clear {
				continue
			}
			flagged++
			if l.ID == task && level != "non" {
				right++
				found[level]++
				if l.Verdict == similar.Copy {
					copies[level]++
				}
			}
		}
	}
	fmt.Printf("## Clough & Stevenson: 95 answers, each against the five sources\n\nPrecision %s.\n\n| level | recall | of these, called a copy |\n|---|---|---|\n", interval(right, flagged))
	for _, level := range []string{"cut", "light", "heavy"} {
		fmt.Printf("| %s | %s | %d |\n", level, interval(found[level], of[level]), copies[level])
	}
	fmt.Printf("\n%d answers were written without the source. Recall when none of them may be flagged:\n\n| measure | bound | recall |\n|---|---|---|\n", of["non"])
	for name, score := range map[string]func(scored) float64{"cosine": func(s scored) float64 { return s.cosine }, "passages": func(s scored) float64 { return s.shared }} {
		bound, k, n := 0.0, 0, 0
		for _, s := range all {
			if s.level == "non" {
				bound = max(bound, score(s))
			}
		}
		for _, s := range all {
			if s.level != "non" {
				n++
				if score(s) > bound {
					k++
				}
			}
		}
		fmt.Printf("| %s | %.2f | %s |\n", name, bound, interval(k, n))
	}
	fmt.Println()
	return nil
}

func lines(path string) ([]string, error) {
	raw, err := os.ReadFile(path)
	return strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(raw), " ")), "\n"), err
}

// news compares with people: the area under the curve is how often a pair that people call alike scores higher than one
// that they do not.
func news(dir string) error {
	items, err := lines(filepath.Join(dir, "lee.cor"))
	if err != nil {
		return err
	}
	others, err := lines(filepath.Join(dir, "bg.cor"))
	if err != nil {
		return err
	}
	matrix, err := lines(filepath.Join(dir, "sim.txt"))
	if err != nil {
		return err
	}
	var articles []similar.Article
	for n, text := range append(items, others...) {
		articles = append(articles, similar.Article{ID: strconv.Itoa(n), Signature: similar.Sign(plain([]byte(text)))})
	}
	site := similar.New(articles)
	var alike, other []float64
	reviewed := [2]int{}
	for n, row := range matrix {
		cosines := site.Cosines(articles[n].Signature)
		for m, field := range strings.Fields(row) {
			if m <= n {
				continue
			}
			judged, err := strconv.ParseFloat(field, 64)
			if err != nil {
				return err
			}
			if judged >= 0.6 {
				alike = append(alike, cosines[m])
				if cosines[m] >= site.Bounds().Review {
					reviewed[0]++
				}
			} else {
				other = append(other, cosines[m])
				if cosines[m] >= site.Bounds().Review {
					reviewed[1]++
				}
			}
		}
	}
	better := 0.0
	for _, a := range alike {
		for _, o := range other {
			switch {
			case a > o:
				better++
			case a == o:
				better += 0.5
			}
		}
	}
	fmt.Printf("## Lee: 1225 pairs of 50 news items, judged by people; %d are alike (0.6 and more)\n\nAgreement of the cosine with people (area under the curve): %.2f. The site's bound for a review is %.2f: recall %s, precision %s.\n\n",
		len(alike), better/float64(len(alike)*len(other)), site.Bounds().Review, interval(reviewed[0], len(alike)), interval(reviewed[0], reviewed[0]+reviewed[1]))
	return nil
}

// kinds are the series of the blog, by their file names, as its editors would declare them.
var kinds = map[string]*regexp.Regexp{
	"releases":       regexp.MustCompile(`(?i)^rust-\d`),
	"prereleases":    regexp.MustCompile(`prerelease`),
	"rustup":         regexp.MustCompile(`(?i)^rustup-`),
	"survey":         regexp.MustCompile(`(?i)survey`),
	"goals":          regexp.MustCompile(`(?i)project-goals`),
	"roadmap":        regexp.MustCompile(`(?i)roadmap`),
	"design-meeting": regexp.MustCompile(`(?i)design-meeting|steering-cycle|planning-meeting`),
	"infra":          regexp.MustCompile(`(?i)infra-team|infrastructure-team`),
	"leadership":     regexp.MustCompile(`(?i)leadership-council|council-update|core-team-update`),
	"this-month":     regexp.MustCompile(`(?i)this-(month|development)|development-cycle|cargo-(dev|in)-|keeping-secure|cargo-development`),
	"compiler-team":  regexp.MustCompile(`(?i)compiler-team|lang-team|cargo-team|libs-|types-team|rustdoc|clippy`),
	"security":       regexp.MustCompile(`(?i)^(inside-rust/)?(security|cve)`),
	"gsoc":           regexp.MustCompile(`(?i)gsoc|summer-of-code`),
	"editions":       regexp.MustCompile(`(?i)edition`),
}

func blog(dir string) error {
	var all []similar.Text
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" || d.Name() == "_index.md" {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		a, err := article.Parse(path, raw)
		if err != nil {
			return nil // no article
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		names = append(names, filepath.ToSlash(name))
		b := article.Text(a)
		all = append(all, similar.Text{Title: a.Title, Headings: b.Headings(), Passages: b.Visible()})
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Printf("## The Rust project's blogs: %d posts, each against all others\n\n| series | bound | clear | review | copy | of these, within a series |\n|---|---|---|---|---|---|\n", len(all))
	for _, declared := range []bool{false, true} {
		articles := make([]similar.Article, len(all))
		for n := range all {
			all[n].Series = ""
			if declared {
				all[n].Series = series(names[n])
			}
			articles[n] = similar.Article{ID: names[n], Signature: similar.Sign(all[n])}
		}
		site := similar.New(articles)
		count, within := map[similar.Verdict]int{}, 0
		var pairs []string
		for n := range all {
			rest := site.Without(names[n])
			j := rest.Judge(all[n])
			count[j.Verdict]++
			if j.Verdict != similar.Clear && sameKind(names[n], j.Closest[0].ID) {
				within++
			}
			if declared && j.Verdict != similar.Clear {
				c := j.Closest[0]
				pairs = append(pairs, fmt.Sprintf("%-6s cosine %.2f, passages %3.0f %%, headings %3.0f %%: %s | %s", c.Verdict, c.Cosine, 100*c.Contains, 100*c.Outline, names[n], c.ID))
			}
		}
		fmt.Printf("| %s | %.2f | %d | %d | %d | %d |\n", map[bool]string{true: "declared", false: "none declared"}[declared], site.Bounds().Review,
			count[similar.Clear], count[similar.Review], count[similar.Copy], within)
		if declared {
			slices.Sort(pairs)
			fmt.Printf("\nWhat is flagged with the series declared:\n\n```\n%s\n```\n", strings.Join(pairs, "\n"))
		}
	}
	return nil
}

func series(name string) string {
	for kind, pattern := range kinds {
		if pattern.MatchString(name) || pattern.MatchString(strings.TrimPrefix(name, "inside-rust/")) {
			return kind
		}
	}
	return ""
}

func sameKind(a, b string) bool { return series(a) != "" && series(a) == series(b) }
