package suiro_test

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	exampleLink       = regexp.MustCompile(`\[(Example\w*)\](?:\[(\w+)\])?`)
	exampleDefinition = regexp.MustCompile(`(?m)^\[(\w+)\]: (\S+_test\.go)$`)
)

// filesOfExamples are the link definitions of a page that lead to Examples, by their labels.
func filesOfExamples(page string) map[string]string {
	files := map[string]string{}
	for _, d := range exampleDefinition.FindAllStringSubmatch(page, -1) {
		files[d[1]] = d[2]
	}
	return files
}

// lacksExample is the error of a row of a table of docs/from-tokio.md; "": there is none.
func lacksExample(row string, files map[string]string, read func(path string) (string, error)) string {
	link := exampleLink.FindStringSubmatch(row)
	if link == nil {
		return "no Example"
	}
	file := files[cmp.Or(link[2], link[1])]
	if file == "" {
		return "no link definition of " + link[1]
	}
	source, err := read(filepath.Join("docs", file))
	if err != nil {
		return err.Error()
	}
	_, body, found := strings.Cut(source, "\nfunc "+link[1]+"() {")
	body, _, _ = strings.Cut(body, "\n}\n")
	switch {
	case !found:
		return "no " + link[1] + " in " + file
	case !strings.Contains(body, "// Output:"):
		return link[1] + " is not run: it has no output"
	}
	return ""
}

func readFile(path string) (string, error) {
	source, err := os.ReadFile(path)
	return string(source), err
}

func TestEachRowForTokiosUsersHasAnExampleThatRuns(t *testing.T) {
	page, err := readFile("docs/from-tokio.md")
	require.NoError(t, err)
	files := filesOfExamples(page)
	rows := 0
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| Tokio |") {
			continue
		}
		rows++
		assert.Empty(t, lacksExample(line, files, readFile), line)
	}
	assert.Greater(t, rows, 40)
}

func TestARowWithoutAnExampleThatRunsIsFound(t *testing.T) {
	read := func(string) (string, error) {
		return "package x\n\nfunc ExampleA() {\n\t// Output: 1\n}\n\nfunc ExampleB() {\n}\n", nil
	}
	files := filesOfExamples("[ExampleA]: ../x_test.go\n[b]: ../x_test.go\n[ExampleC]: ../x_test.go\n[ExampleD]: ../none_test.go\n")
	assert.Empty(t, lacksExample("| a | b | [ExampleA] |", files, read))
	assert.Empty(t, lacksExample("| a | b | [ExampleA][b] |", files, read))
	assert.NotEmpty(t, lacksExample("| a | b | |", files, read))
	assert.NotEmpty(t, lacksExample("| a | b | [ExampleB][b] |", files, read))
	assert.NotEmpty(t, lacksExample("| a | b | [ExampleC] |", files, read))
	assert.NotEmpty(t, lacksExample("| a | b | [ExampleD] |", files, readFile))
	assert.NotEmpty(t, lacksExample("| a | b | [ExampleE] |", files, read))
}
