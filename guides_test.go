package suiro_test

import (
	"fmt"
	"go/format"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The code in README.md and docs/ is tested. A fenced block of Go is one of these:
//
//   - A program: package main. It compiles, and go vet is content. An HTML comment right above its
//     fence says what it does when it is run, see script. The first program of a page has one.
//   - A test: its fence says "go test" instead of "go". It passes.
//   - A fragment: anything else. It parses. With an HTML comment above its fence that begins with
//     "given" it also compiles, see given.

// A block is a fenced block of code in a document.
type block struct {
	file string // of the document
	line int    // of the fence
	info string // the word or words behind the fence
	note string // the HTML comment right above the fence, without its marks
	code string
}

func (b block) String() string { return b.file + ":" + strconv.Itoa(b.line) }

var packageClause = regexp.MustCompile(`(?m)^package \w+$`)

func (b block) isProgram() bool  { return b.info == "go" && packageClause.MatchString(b.code) }
func (b block) isTest() bool     { return b.info == "go test" }
func (b block) isFragment() bool { return b.info == "go" && !b.isProgram() }

// blocksOf finds the blocks of a document.
func blocksOf(file, text string) (all []block) {
	note, noteOpen := "", false
	var b *block
	for i, line := range strings.Split(text, "\n") {
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case b != nil && line == "```":
			all = append(all, *b)
			b = nil
		case b != nil:
			b.code += line + "\n"
		case fence:
			b = &block{file: file, line: i + 1, info: strings.TrimSpace(info), note: strings.TrimSpace(note)}
			note = ""
		case strings.HasPrefix(line, "<!--"), noteOpen:
			if !noteOpen {
				note = ""
			}
			note += strings.TrimSuffix(strings.TrimPrefix(line, "<!--"), "-->") + "\n"
			noteOpen = !strings.HasSuffix(line, "-->")
		default:
			note = ""
		}
	}
	return all
}

// notes are those of the blocks of Go in README.md, in order, where lines are scarce.
var notes = []string{"run tcp\nsend \"hello\"\nexpect \"hello\"", "given"}

// blocksOfGuide finds the blocks of a document for users, each with its note.
func blocksOfGuide(file, text string) []block {
	all := blocksOf(file, text)
	for i := range all {
		if file == "README.md" && all[i].note == "" && i < len(notes) {
			all[i].note = notes[i]
		}
	}
	return all
}

// guides are the documents for users, by their paths.
func guides(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	all := map[string]string{}
	for _, file := range append(files, "README.md") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all[filepath.ToSlash(file)] = string(text)
	}
	return all
}

// A script says what a program does. Its first line is "run" and the kind of the exchange:
//
//	run output     the program ends by itself
//	run tcp        also unix, udp, tls, and mtls with a certificate of the client
//
// With all but output the program is a server: it prints "listening on" and its address, which the
// test makes it do by Server.Listening if the program does not set that. In the test, each port of
// an address in the program is 0. After the exchange the program gets SIGTERM, and must end with
// exit code 0. It runs in a folder with cert.pem, key.pem and ca.pem.
//
// The other lines are steps, in order, with texts in Go's syntax:
//
//	send TEXT      sends bytes
//	expect TEXT    receives exactly these bytes; the only step of the kind output: it prints them
//	until TEXT     receives bytes up to and with this text
//	finish         ends writing
//	eof            the peer ends writing
//	reconnect      closes the connection, and makes another one
//	upstream ADDR  before the start: an echo server of the test takes the place of this address
//	arg TEXT       before the start: an argument of the program
type script struct {
	kind      string
	upstreams []string
	args      []string
	steps     []step
}

type step struct{ verb, text string }

// scriptOf reads the script of a block; nil: it has none.
func scriptOf(b block) (*script, error) {
	head, rest, _ := strings.Cut(b.note, "\n")
	kind, isRun := strings.CutPrefix(head, "run ")
	if !isRun {
		return nil, nil
	}
	s := &script{kind: kind}
	switch kind {
	case "output", "tcp", "unix", "udp", "tls", "mtls":
	default:
		return nil, fmt.Errorf("%v: unknown kind of exchange %q", b, kind)
	}
	for line := range strings.Lines(rest) {
		verb, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if text != "" {
			var err error
			if text, err = strconv.Unquote(text); err != nil {
				return nil, fmt.Errorf("%v: %q: %w", b, strings.TrimSpace(line), err)
			}
		}
		switch verb {
		case "upstream":
			s.upstreams = append(s.upstreams, text)
		case "arg":
			s.args = append(s.args, text)
		case "send", "expect", "until", "finish", "eof", "reconnect":
			s.steps = append(s.steps, step{verb, text})
		case "":
		default:
			return nil, fmt.Errorf("%v: unknown step %q", b, verb)
		}
	}
	if len(s.steps) == 0 {
		return nil, fmt.Errorf("%v: nothing is expected", b)
	}
	if kind == "output" && (len(s.steps) > 1 || s.steps[0].verb != "expect") {
		return nil, fmt.Errorf("%v: the steps of a program that ends by itself are one expect", b)
	}
	return s, nil
}

// firstProgramIsRun is the error of a page whose first program has no script; nil for a page
// without programs.
func firstProgramIsRun(file, text string) error {
	for _, b := range blocksOfGuide(file, text) {
		if b.isTest() {
			return nil
		}
		if b.isProgram() {
			s, err := scriptOf(b)
			if err == nil && s == nil {
				err = fmt.Errorf("%v: the first program of the page is not run: no <!-- run … --> above it", b)
			}
			return err
		}
	}
	return nil
}

// withoutProgram are the pages that need not begin with a program: the index, and those that it
// lists as reference.
func withoutProgram(index string) map[string]bool {
	pages := map[string]bool{"docs/README.md": true}
	_, reference, _ := strings.Cut(index, "\n## Reference\n")
	reference, _, _ = strings.Cut(reference, "\n## ")
	for _, link := range linkToPage.FindAllStringSubmatch(reference, -1) {
		pages["docs/"+link[1]] = true
	}
	return pages
}

var linkToPage = regexp.MustCompile(`(?m)^- \[[^]]+\]\(([\w-]+\.md)\)`)

// lengthy skips a test that builds programs or reads all texts, in short runs. They have the race
// detector, which makes such a test take minutes and finds nothing in it.
func lengthy(t *testing.T) {
	if testing.Short() {
		t.Skip("it is slow, and not about concurrency")
	}
}

func TestPagesOfTheReferenceNeedNoProgram(t *testing.T) {
	index := "- [A](a.md)\n\n## Reference\n\n- [B](b.md): see [C](c.md)\n\n## More\n\n- [D](d.md)\n"
	assert.Equal(t, map[string]bool{"docs/README.md": true, "docs/b.md": true}, withoutProgram(index))
	assert.Equal(t, map[string]bool{"docs/README.md": true}, withoutProgram("- [A](a.md)\n"))
}

func TestEachGuideBeginsWithAProgramThatIsRun(t *testing.T) {
	all := guides(t)
	require.Greater(t, len(all), 5)
	exempt := withoutProgram(all["docs/README.md"])
	require.Len(t, exempt, 4)
	for file, text := range all {
		if exempt[file] {
			continue
		}
		assert.NoError(t, firstProgramIsRun(file, text))
		found := false
		for _, b := range blocksOfGuide(file, text) {
			found = found || b.isProgram() || b.isTest()
		}
		assert.True(t, found, "%s has no program", file)
	}
}

// lastSection is the heading of the last section of a page.
func lastSection(text string) (last string) {
	for _, line := range proseOf(text) {
		if h, ok := strings.CutPrefix(line, "## "); ok {
			last = h
		}
	}
	return last
}

// The last section of a page is about problems. The page about troubleshooting is nothing else.
func TestEachGuideEndsWithProblems(t *testing.T) {
	require.Equal(t, "B", lastSection("## A\n\n## B\n\n```\n## C\n```\n"))
	for file, text := range guides(t) {
		if path.Dir(file) != "docs" || file == "docs/README.md" || file == "docs/flakes.md" || file == "docs/troubleshooting.md" {
			continue
		}
		assert.Equal(t, "Problems", lastSection(text), file)
	}
}

func TestAGuideWhoseFirstProgramIsNotRunIsFound(t *testing.T) {
	program := "```go\npackage main\n\nfunc main() {}\n```\n"
	assert.NoError(t, firstProgramIsRun("x.md", "<!-- run output\nexpect \"x\"\n-->\n"+program))
	assert.NoError(t, firstProgramIsRun("x.md", "no program\n```go\nx()\n```\n"))
	for what, text := range map[string]string{
		"no comment":          program,
		"another comment":     "<!-- walk output\nexpect \"x\"\n-->\n" + program,
		"text in between":     "<!-- run output\nexpect \"x\"\n-->\nsome text\n" + program,
		"an unknown kind":     "<!-- run pigeon\nexpect \"x\"\n-->\n" + program,
		"an unknown step":     "<!-- run tcp\nwish \"x\"\n-->\n" + program,
		"no step":             "<!-- run tcp -->\n" + program,
		"a text without mark": "<!-- run tcp\nsend x\n-->\n" + program,
		"two outputs":         "<!-- run output\nexpect \"x\"\nexpect \"y\"\n-->\n" + program,
		"input for output":    "<!-- run output\nsend \"x\"\n-->\n" + program,
	} {
		assert.Error(t, firstProgramIsRun("x.md", text), what)
	}
}

func TestProgramsInTheGuidesAreFormatted(t *testing.T) {
	for file, text := range guides(t) {
		for _, b := range blocksOfGuide(file, text) {
			if b.isProgram() || b.isTest() {
				formatted, err := format.Source([]byte(b.code))
				require.NoError(t, err, "%v", b)
				assert.Equal(t, string(formatted), b.code, "%v", b)
			}
		}
	}
}

func TestBlocksAreFound(t *testing.T) {
	text := "# x\n\n<!-- run tcp\nsend \"a\" -->\n```go\npackage main\n```\n\n<!-- given -->\n\n```go\nx()\n```\n" +
		"```go test\npackage p\n```\n\n```\nno Go\n```\n"
	blocks := blocksOf("x.md", text)
	require.Len(t, blocks, 4)
	assert.Equal(t, block{"x.md", 5, "go", "run tcp\nsend \"a\"", "package main\n"}, blocks[0])
	assert.Equal(t, block{"x.md", 11, "go", "", "x()\n"}, blocks[1], "an empty line parts a block from a comment")
	assert.True(t, blocks[0].isProgram() && blocks[1].isFragment() && blocks[2].isTest())
	assert.False(t, blocks[3].isProgram() || blocks[3].isFragment() || blocks[3].isTest())
}

// README is read in a minute: at most 120 lines, and ten figures with the command for each.
func TestTheReadmeIsShort(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	assert.LessOrEqual(t, strings.Count(string(text), "\n"), 120, "lines")
	_, figures, _ := strings.Cut(string(text), "<!-- figures:")
	figures, _, _ = strings.Cut(figures, "<!-- end of figures -->")
	rows := regexp.MustCompile("(?m)^\\| .*\\| `[\\w-]+` \\|$").FindAllString(figures, -1)
	assert.NotEmpty(t, rows)
	assert.LessOrEqual(t, len(rows), 10, "figures")
	assert.Equal(t, strings.Count(figures, "\n|")-2, len(rows), "each row but the head has its workload")
	assert.Contains(t, string(text), "go run ./bench -workloads WORKLOAD")
}
