package suiro_test

import (
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// proseOf are the lines of a document without its fenced blocks and comments, from 1.
func proseOf(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		fence, comment := false, false
		for i, line := range strings.Split(text, "\n") {
			switch {
			case strings.HasPrefix(strings.TrimSpace(line), "```"):
				fence = !fence
			case fence:
			case comment || strings.HasPrefix(line, "<!--"):
				comment = !strings.Contains(line, "-->")
			default:
				if !yield(i+1, line) {
					return
				}
			}
		}
	}
}

var (
	markdownLink = regexp.MustCompile(`\[[^\]]*\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)$`)
	heading      = regexp.MustCompile(`^#+ (.*)$`)
)

// anchorOf is the anchor of a heading, as GitHub makes it.
func anchorOf(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.ReplaceAll(heading, "`", "")) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

// brokenLink is the reason why a link in a document of a tree leads nowhere; "": it does not.
func brokenLink(tree fs.FS, document, target string) string {
	if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return ""
	}
	file, anchor, hasAnchor := strings.Cut(target, "#")
	to := document
	if file != "" {
		to = path.Join(path.Dir(document), file)
	}
	if _, err := fs.Stat(tree, to); err != nil {
		return "no file " + to
	}
	if !hasAnchor {
		return ""
	}
	text, err := fs.ReadFile(tree, to)
	if err != nil {
		return err.Error()
	}
	for _, line := range proseOf(string(text)) {
		if h := heading.FindStringSubmatch(line); h != nil && anchorOf(h[1]) == anchor {
			return ""
		}
	}
	return "no heading #" + anchor + " in " + to
}

func TestLinksInDocumentsLeadSomewhere(t *testing.T) {
	links := 0
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (file == "build" || strings.HasPrefix(d.Name(), ".") && file != "."):
			return fs.SkipDir
		case path.Ext(file) != ".md":
			return nil
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for number, line := range proseOf(string(text)) {
			for _, link := range markdownLink.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, ""), -1) {
				links++
				target := link[1] + link[2] // inline, or as a definition
				assert.Empty(t, brokenLink(os.DirFS("."), filepath.ToSlash(file), target), "%s:%d", file, number)
			}
		}
		return nil
	})
	require.NoError(t, err)
	assert.Greater(t, links, 50)
}

func TestTheIndexOfTheGuidesHasEachPage(t *testing.T) {
	index, err := os.ReadFile("docs/README.md")
	require.NoError(t, err)
	for file := range guides(t) {
		if path.Dir(file) == "docs" && file != "docs/README.md" {
			assert.Contains(t, string(index), "]("+path.Base(file)+")")
		}
	}
}

func TestALinkThatLeadsNowhereIsFound(t *testing.T) {
	tree := fstest.MapFS{
		"README.md": {Data: []byte("# The title\n```\n# no heading\n```\n")},
		"docs/a.md": {Data: []byte("## What `x.Y` does, and why\n")},
	}
	for _, target := range []string{"a.md", "../README.md", "#what-xy-does-and-why", "../README.md#the-title", "https://example.com/x"} {
		assert.Empty(t, brokenLink(tree, "docs/a.md", target), target)
	}
	for _, target := range []string{"b.md", "README.md", "#what", "../README.md#no-heading", "../b.md#x"} {
		assert.NotEmpty(t, brokenLink(tree, "docs/a.md", target), target)
	}
}

var (
	makeCommand = regexp.MustCompile(`\bmake ([a-z][a-z0-9-]*)`)
	goCommand   = regexp.MustCompile(`\bgo (?:run|test|build|vet|install|doc)\b([^|;&#]*)`)
	cdCommand   = regexp.MustCompile(`\bcd (\S+) && `)
	pathOfTree  = regexp.MustCompile(`^\.?/?[\w.*…-]+(?:/[\w.*…-]+)*/?$`)
)

// brokenCommand is the reason why a command that a document shows cannot work; "": it can.
func brokenCommand(tree fs.FS, targets map[string]bool, command string) string {
	if m := makeCommand.FindStringSubmatch(command); m != nil && !targets[m[1]] {
		return "no target " + m[1] + " in the Makefile"
	}
	dir := "."
	if cd := cdCommand.FindStringSubmatch(command); cd != nil {
		dir = path.Clean(cd[1])
	}
	for _, m := range goCommand.FindAllStringSubmatch(command, -1) {
		for _, word := range strings.Fields(m[1]) {
			pkg, isPath := strings.CutPrefix(word, "./")
			if !isPath {
				continue
			}
			pkg = strings.TrimSuffix(strings.TrimSuffix(pkg, "..."), "/")
			if _, err := fs.Stat(tree, path.Join(dir, pkg)); err != nil {
				return "no package " + word
			}
			break // the rest are the program's own arguments
		}
	}
	return ""
}

// missingPath is a path below a folder of the module that a document names and that does not exist.
func missingPath(tree fs.FS, folders map[string]bool, document, name string) string {
	name = strings.TrimSuffix(name, "...")
	if !pathOfTree.MatchString(name) || strings.ContainsAny(name, "*…") {
		return ""
	}
	first, _, below := strings.Cut(strings.TrimPrefix(name, "./"), "/")
	if !below || !folders[first] {
		return ""
	}
	if _, err := fs.Stat(tree, strings.TrimSuffix(strings.TrimPrefix(name, "./"), "/")); err != nil {
		return "no " + name
	}
	return ""
}

func makeTargets(t *testing.T) map[string]bool {
	t.Helper()
	makefile, err := os.ReadFile("Makefile")
	require.NoError(t, err)
	targets := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):`).FindAllStringSubmatch(string(makefile), -1) {
		targets[m[1]] = true
	}
	return targets
}

func TestCommandsAndFilesInTheGuidesExist(t *testing.T) {
	targets, tree, folders := makeTargets(t), os.DirFS("."), map[string]bool{}
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, e := range entries {
		folders[e.Name()] = e.IsDir() && e.Name() != "build" // commands write into that
	}
	documents := guides(t)
	for _, file := range []string{"CONTRIBUTING.md", "SECURITY.md"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		documents[file] = string(text)
	}
	commands := 0
	for file, text := range documents {
		for i, line := range strings.Split(text, "\n") {
			if code, indented := strings.CutPrefix(line, "    "); indented {
				commands++
				assert.Empty(t, brokenCommand(tree, targets, code), "%s:%d", file, i+1)
			}
		}
		for number, line := range proseOf(text) {
			for _, span := range codeSpan.FindAllStringSubmatch(line, -1) {
				assert.Empty(t, brokenCommand(tree, targets, span[1]), "%s:%d", file, number)
				assert.Empty(t, missingPath(tree, folders, file, span[1]), "%s:%d", file, number)
			}
		}
	}
	assert.Greater(t, commands, 5)
}

func TestACommandOrFileThatDoesNotExistIsFound(t *testing.T) {
	tree := fstest.MapFS{"examples/echo/main.go": {}, "bench/load/cmd/load/main.go": {}}
	targets, folders := map[string]bool{"quick": true}, map[string]bool{"examples": true, "bench": true}
	for _, command := range []string{
		"go run ./examples/echo -addr ./x", "make quick", "go test ./...", "go test ./examples/...", "wrk http://127.0.0.1",
		"cd bench/load && go build -o /tmp/load ./cmd/load",
	} {
		assert.Empty(t, brokenCommand(tree, targets, command), command)
	}
	for _, command := range []string{"go run ./examples/ecko", "make quik", "go build -o /tmp/load ./cmd/load", "cd bench && go test ./cmd/..."} {
		assert.NotEmpty(t, brokenCommand(tree, targets, command), command)
	}
	for _, name := range []string{"examples/echo", "examples/echo/main.go", "net/http", "examples", "docs/x/y", "bench/load/", "examples/..."} {
		assert.Empty(t, missingPath(tree, folders, "docs/a.md", name), name)
	}
	for _, name := range []string{"examples/ecko", "bench/load/main.go", "./examples/ecko", "bench/ecko/..."} {
		assert.NotEmpty(t, missingPath(tree, folders, "docs/a.md", name), name)
	}
}
