package similar

import (
	"fmt"
	"strings"
	"testing"
)

// essay is an article of its own: every sentence holds words that no other has.
func essay(name string, sentences int) Text {
	t := Text{Title: "On " + name, Headings: []string{name + " begins", name + " goes on", name + " ends"}}
	for n := range sentences {
		t.Passages = append(t.Passages, fmt.Sprintf("The %[1]s of day %[2]d met the %[1]sling number%[2]d, and %[1]s%[2]d was the word that they kept about harbour%[3]d.", name, n, n*7))
	}
	return t
}

func site(n int, more ...Text) *Site {
	var all []Article
	for i := range n {
		all = append(all, Article{ID: fmt.Sprintf("posts/%d.md", i), Signature: Sign(essay(fmt.Sprintf("q%c%c", 'a'+i/26, 'a'+i%26), 12))})
	}
	for i, t := range more {
		all = append(all, Article{ID: fmt.Sprintf("more/%d.md", i), Signature: Sign(t)})
	}
	return New(all)
}

func TestWhatTheSiteSaysAlreadyIsFound(t *testing.T) {
	look := Text{
		Title: "Look before you act", Headings: []string{"The lost answer", "Two looks", "The third outcome"},
		Passages: []string{
			"A request whose answer was lost may have been carried out, and nobody who sent it can tell from the silence alone.",
			"So the program waits a while, looks at what the server shows, and waits again before it looks a second time.",
			"Only when both looks have seen nothing is the request made once more, under the name that it had before.",
			"The third outcome deserves a name of its own, because whoever calls it a failure will sooner or later publish twice.",
		},
	}
	s := site(40, look)
	half := essay("zebra", 4)
	half.Passages = append(half.Passages, look.Passages[:3]...)
	outline := essay("yonder", 12)
	outline.Headings = look.Headings
	reworded := Text{Title: "Looking first", Passages: []string{
		"When the answer to a request gets lost, the request may well have been carried out; silence tells its sender nothing.",
		"The program therefore waits, looks at what the server shows, waits again, and takes a second look.",
		"The request is made again only after two looks that saw nothing, and it keeps its name.",
		"This third outcome needs a name: calling it a failure means to publish twice some day.",
	}}
	for name, c := range map[string]struct {
		draft Text
		want  Verdict
		id    string
	}{
		"another subject":              {essay("walrus", 12), Clear, ""},
		"the same under another title": {Text{Title: "Something new", Passages: look.Passages}, Copy, "more/0.md"},
		"half of it copied":            {half, Copy, "more/0.md"},
		"reworded":                     {reworded, Review, "more/0.md"},
		"the same outline":             {outline, Review, "more/0.md"},
	} {
		j := s.Judge(c.draft)
		if j.Verdict != c.want || c.id != "" && j.Closest[0].ID != c.id || j.Bounds.Pairs == 0 {
			t.Errorf("%s: %s, %+v", name, j.Verdict, j.Closest[0])
		}
		if c.want != Clear && j.Closest[0].Why == "" {
			t.Errorf("%s: no reason", name)
		}
	}
	j := s.Judge(half)
	if q := j.Closest[0].Quotes; len(q) == 0 || !strings.Contains(strings.Join(look.Passages, "\n"), q[0]) || len(q[0]) < 60 {
		t.Errorf("quoted %q", q)
	}
}

func TestASeriesMayBeAlike(t *testing.T) {
	first := essay("survey", 12)
	first.Series = "survey"
	next := first
	next.Title = "On survey, again"
	s := site(30, first)
	if j := s.Judge(next); j.Verdict != Clear || !j.Closest[0].Series && j.Closest[0].ID == "more/0.md" {
		t.Errorf("%+v", j)
	}
	next.Series = "another"
	if j := s.Judge(next); j.Verdict != Copy {
		t.Errorf("of another series: %+v", j.Closest[0])
	}
	next.Series = ""
	if j := s.Judge(next); j.Verdict != Copy {
		t.Errorf("not declared: %+v", j.Closest[0])
	}
}

// TestBoilerplateIsNoLikeness: what most articles end with, and the headings that all have, count for nothing.
func TestBoilerplateIsNoLikeness(t *testing.T) {
	foot := "If you have read this far, subscribe to our letter, follow us wherever you like, and tell your friends about this site; we answer every question that reaches us."
	with := func(e Text) Text {
		e.Passages = append(e.Passages, foot, foot)
		e.Headings = []string{"Summary", "Details", "Thanks", "Where to go from here"}
		return e
	}
	var more []Text
	for n := range 30 {
		more = append(more, with(essay(fmt.Sprintf("boiler%c", 'a'+n), 3)))
	}
	if j := site(10, more...).Judge(with(essay("walrus", 3))); j.Verdict != Clear {
		t.Errorf("%+v", j.Closest[0])
	}
}

// TestScriptsWithoutSpacesAreNotWorse: a copied half is found in each.
func TestScriptsWithoutSpacesAreNotWorse(t *testing.T) {
	for name, c := range map[string]struct{ copied, own string }{
		"English":  {"a request whose answer was lost may have been carried out and nobody can tell", "the harbour was quiet on the morning after the storm had passed over the islands"},
		"Chinese":  {"丢失了回答的请求可能已经被执行，发送者仅凭沉默无法判断结果。", "暴风雨过后的清晨，港口一片安静，渔船整齐地停靠在岸边等待出海。"},
		"Japanese": {"応答が失われた要求は実行されたかもしれず、沈黙だけでは送信者には分からない。", "嵐が去った翌朝、港は静まり返り、漁船は岸辺に整然と並んで出航を待っていた。"},
		"Thai":     {"คำขอที่คำตอบหายไปอาจถูกดำเนินการแล้วและผู้ส่งไม่อาจทราบได้จากความเงียบ", "เช้าวันหลังพายุผ่านไปท่าเรือเงียบสงบและเรือประมงจอดเรียงรายอยู่ริมฝั่ง"},
		"Korean":   {"응답이 사라진 요청은 이미 수행되었을 수 있으며 보낸 사람은 침묵만으로는 알 수 없다", "폭풍이 지나간 다음 날 아침 항구는 조용했고 어선들은 해안에 나란히 서 있었다"},
	} {
		was := Text{Title: "x", Passages: []string{c.copied}}
		j := site(5, was).Judge(Text{Title: "y", Passages: []string{c.copied, c.own}})
		if j.Verdict != Copy || j.Closest[0].ID != "more/0.md" || len(j.Closest[0].Quotes) == 0 || !strings.Contains(c.copied, j.Closest[0].Quotes[0]) {
			t.Errorf("%s: %s %+v", name, j.Verdict, j.Closest[0])
		}
		if j := site(5, was).Judge(Text{Title: "y", Passages: []string{c.own}}); j.Verdict != Clear {
			t.Errorf("%s, its own: %+v", name, j.Closest[0])
		}
	}
}

func TestFormsOfTheSameWordAreTheSame(t *testing.T) {
	for name, pair := range map[string][2]string{
		"case":          {"Straße ÉTÉ", "STRASSE été"},
		"composition":   {"caf\u00e9", "cafe\u0301"},
		"width":         {"ＡＢＣ１２３", "abc123"},
		"apostrophes":   {"it's", "it’s"},
		"punctuation":   {"look, then act.", "look then — act"},
		"ligature":      {"ﬁle", "file"},
		"emoji between": {"look 🔎 act", "look act"},
	} {
		if a, b := folded(pair[0]), folded(pair[1]); a != b || a == "" {
			t.Errorf("%s: %q and %q", name, a, b)
		}
	}
}

func TestAnEmptySiteAndAnEmptyDraftAreNoTrouble(t *testing.T) {
	for _, j := range []Judgement{New(nil).Judge(essay("walrus", 3)), site(3).Judge(Text{}), New(nil).Judge(Text{}), site(3, Text{}).Judge(Text{})} {
		if j.Verdict != Clear {
			t.Errorf("%+v", j)
		}
	}
}

func FuzzJudge(f *testing.F) {
	f.Add("Look, then act.", "Act, then look.")
	f.Add("\xff\x00é", "丢失了回答的请求")
	f.Fuzz(func(t *testing.T, a, b string) {
		s := New([]Article{{ID: "a", Signature: Sign(Text{Title: a, Headings: []string{b}, Passages: []string{a, b}})}})
		j := s.Judge(Text{Title: b, Headings: []string{a}, Passages: []string{a}})
		for _, l := range j.Closest {
			if !(l.Cosine >= 0 && l.Cosine <= 1.000001 && l.Contains >= 0 && l.Contains <= 1.000001) {
				t.Errorf("%+v", l)
			}
			for _, q := range l.Quotes {
				if !strings.Contains(a, strings.TrimSuffix(q, "…")) {
					t.Errorf("quoted %q, which the draft %q does not hold", q, a)
				}
			}
		}
	})
}

// BenchmarkJudge compares one draft with sites of growing size: the whole check, and what is made anew for each run.
func BenchmarkJudge(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		var all []Article
		for i := range n {
			all = append(all, Article{ID: fmt.Sprint(i), Signature: Sign(essay(fmt.Sprintf("q%da", i), 40))})
		}
		draft := essay("walrus", 40)
		b.Run(fmt.Sprintf("articles=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				New(all).Judge(draft)
			}
		})
	}
}
