package prose

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
)

var directive = regexp.MustCompile(`^//(?:[a-z0-9]+:[a-z0-9]|line |export |extern )`)

// Comments finds the breaches in the comments of a Go file. A group of comments is a document
// comment's text: empty lines part paragraphs, and lines that a tab or spaces indent are code.
func Comments(filename string, src []byte) ([]Finding, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, filename, src, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(src), "\n")
	var (
		texts    []text
		findings []Finding
	)
	for _, group := range file.Comments {
		texts = append(texts, comment(fset, group)...)
		for _, c := range group.List {
			from, to := fset.Position(c.Pos()).Line, fset.Position(c.End()).Line
			for n := from; n <= to && !directive.MatchString(c.Text); n++ {
				if column := fset.Position(c.Pos()).Column; n > from || !isCode(lines[n-1][:column-1]) {
					findings = append(findings, tooLong(n, strings.TrimSuffix(lines[n-1], "\r"))...)
				}
			}
		}
	}
	return check(texts, findings), nil
}

// isCode reports whether something else than blanks stands before a comment in its line. How long
// such a line may be is for its code to say.
func isCode(before string) bool { return strings.TrimSpace(before) != "" }

// comment is the paragraphs of a group of comments.
func comment(fset *token.FileSet, group *ast.CommentGroup) (texts []text) {
	open := false
	for _, c := range group.List {
		first := fset.Position(c.Pos()).Line
		body, block := strings.CutPrefix(c.Text, "/*")
		if block {
			body = strings.TrimSuffix(body, "*/")
		} else if directive.MatchString(c.Text) {
			continue
		}
		for i, line := range strings.Split(body, "\n") {
			line = strings.TrimPrefix(line, "//")
			trimmed := strings.TrimSpace(line)
			isItem := listItem.MatchString(line)
			switch {
			case trimmed == "":
				open = false
				continue
			case !isItem && !block && (strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "   ") && !open):
				open = false
				continue
			}
			if !open || isItem {
				texts = append(texts, text{line: first + i})
			}
			texts[len(texts)-1].add(first+i, plain(strings.TrimLeft(listItem.ReplaceAllString(line, ""), "# ")))
			open = true
		}
	}
	return texts
}
