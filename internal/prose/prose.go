// Package prose finds sentences that are hard to read: in Markdown, and in the comments of Go.
//
// It knows the rules that a program can check. A sentence has at most MaxWords words, and a line at
// most MaxColumns columns. No sentence is built in one of the ways that readers have stumbled over
// (see constructions). The tests in the root of the repository apply it to every document and
// comment.
package prose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxWords is how many words a sentence may have.
	MaxWords = 35
	// MaxColumns is how many characters a line of Markdown or of a comment may have. A tab counts
	// as four. A line without a space, such as a link, cannot be broken and may be longer.
	MaxColumns = 100
)

// A Finding is one breach of a rule.
type Finding struct {
	Line int    // from 1: where the sentence begins
	Rule string // in a few words
	Text string // the words that break the rule
}

func (f Finding) String() string { return fmt.Sprintf("line %d: %s: %s", f.Line, f.Rule, f.Text) }

// A text is some words that belong together, such as a paragraph, an item of a list or the cell
// of a table. Code within it is replaced by a placeholder.
type text struct {
	line  int // of the first word
	words []word
}

type word struct {
	line int
	s    string
}

func (t *text) add(line int, s string) {
	for _, w := range strings.Fields(s) {
		t.words = append(t.words, word{line, w})
	}
}

// check finds the breaches in texts and lines, in the order of lines.
func check(texts []text, findings []Finding) []Finding {
	for _, t := range texts {
		for _, s := range sentences(t.words) {
			findings = append(findings, checkSentence(s)...)
		}
	}
	slices.SortStableFunc(findings, func(a, b Finding) int { return cmp.Compare(a.Line, b.Line) })
	return findings
}

func checkSentence(s []word) (findings []Finding) {
	n := 0
	parts := make([]string, len(s))
	for i, w := range s {
		parts[i] = w.s
		if strings.ContainsFunc(w.s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			n++
		}
	}
	sentence := strings.Join(parts, " ")
	if n > MaxWords {
		findings = append(findings, Finding{s[0].line, fmt.Sprintf("a sentence of %d words", n), sentence})
	}
	small := strings.ToLower(sentence)
	for _, c := range constructions {
		if !strings.Contains(small, c.word) {
			continue
		}
		if at := c.pattern.FindString(sentence); at != "" && !(c.statement && strings.HasSuffix(sentence, "?")) {
			findings = append(findings, Finding{s[0].line, c.name, at})
		}
	}
	return findings
}

// sentences splits words after those that end a sentence.
func sentences(words []word) (all [][]word) {
	begin := 0
	for i, w := range words {
		if i+1 == len(words) || endsSentence(w.s) && beginsSentence(words[i+1].s) {
			all = append(all, words[begin:i+1])
			begin = i + 1
		}
	}
	return all
}

func endsSentence(w string) bool {
	w = strings.TrimRight(w, `"')]*_”`)
	switch strings.ToLower(strings.TrimLeft(w, `"'([*_“`)) {
	case "e.g.", "i.e.", "etc.", "vs.", "cf.", "no.":
		return false
	}
	return w != "" && strings.ContainsRune(".?!", rune(w[len(w)-1]))
}

// beginsSentence reports whether a word can be the first of a sentence. A name that begins with a
// small letter can, too: a word after a full stop that is not one of the abbreviations.
func beginsSentence(w string) bool {
	r, _ := utf8.DecodeRuneInString(strings.TrimLeft(w, `"'([*_“`))
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// tooLong is the finding of a line that is too long.
func tooLong(number int, line string) []Finding {
	columns := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
	if columns <= MaxColumns || !strings.Contains(strings.TrimLeft(strings.TrimSpace(line), "/-*# "), " ") {
		return nil
	}
	return []Finding{{number, fmt.Sprintf("a line of %d columns", columns), line}}
}
