package prose

import (
	"regexp"
	"strings"
)

var (
	codeSpan  = regexp.MustCompile("`+[^`]*`+")
	link      = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	linkLabel = regexp.MustCompile(`^\[[^\]]+\]: \S+$`) // [label]: target
	listItem  = regexp.MustCompile(`^\s*(?:[-*+]|\d+[.)])\s+`)
	htmlBlock = regexp.MustCompile(`(?s)<!--.*?-->`)
)

// Markdown finds the breaches in a document. Code is no prose. The cells of a table and the items
// of a list are texts of their own.
func Markdown(src string) (findings []Finding) {
	src = htmlBlock.ReplaceAllStringFunc(src, func(s string) string {
		return strings.Repeat("\n", strings.Count(s, "\n"))
	})
	var texts []text
	open := false // the last text goes on
	add := func(line int, s string, joins bool) {
		if !open || !joins {
			texts = append(texts, text{line: line})
		}
		texts[len(texts)-1].add(line, plain(s))
		open = true
	}
	fence := ""
	blank := true // the line before was blank: four spaces are code then
	for i, line := range strings.Split(src, "\n") {
		number, trimmed := i+1, strings.TrimSpace(line)
		switch {
		case fence != "":
			if trimmed == fence {
				fence = ""
			}
			continue
		case strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~"):
			fence, open = trimmed[:3], false
			continue
		case strings.HasPrefix(line, "    ") && (blank || !open):
			continue
		case linkLabel.MatchString(line):
			open = false
			continue
		}
		findings = append(findings, tooLong(number, line)...)
		blank = trimmed == ""
		switch {
		case trimmed == "":
			open = false
		case strings.HasPrefix(trimmed, "|"):
			for cell := range strings.SplitSeq(strings.Trim(codeSpan.ReplaceAllString(trimmed, "code"), "|"), "|") {
				add(number, cell, false)
			}
			open = false
		case strings.HasPrefix(trimmed, "#"):
			add(number, strings.TrimLeft(trimmed, "# "), false)
			open = false
		case listItem.MatchString(line):
			add(number, listItem.ReplaceAllString(line, ""), false)
		default:
			add(number, strings.TrimLeft(trimmed, "> "), true)
		}
	}
	return check(texts, findings)
}

// plain is a line without its markup. A span of code is one word.
func plain(line string) string {
	line = codeSpan.ReplaceAllString(line, "code")
	return link.ReplaceAllString(line, "$1")
}
