package suiro_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/prose"
)

// findingsOf finds the breaches of the rules of package prose in all documents and comments below
// root. The benchmark writes bench/RESULTS.md.
func findingsOf(root string) (found []string, err error) {
	err = fs.WalkDir(os.DirFS(root), ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (file == "build" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && file != "." && file != ".github"):
			return fs.SkipDir
		case d.IsDir() || path.Ext(file) != ".go" && path.Ext(file) != ".md" || file == "bench/RESULTS.md":
			return nil
		}
		source, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return err
		}
		var findings []prose.Finding
		if path.Ext(file) == ".md" {
			findings = prose.Markdown(string(source))
		} else if findings, err = prose.Comments(file, source); err != nil {
			return err
		}
		for _, f := range findings {
			found = append(found, fmt.Sprintf("%s:%d: %s: %.100s", file, f.Line, f.Rule, f.Text))
		}
		return nil
	})
	return found, err
}

func TestProseIsPlain(t *testing.T) {
	lengthy(t)
	found, err := findingsOf(".")
	require.NoError(t, err)
	if len(found) > 0 {
		t.Errorf("%d findings:\n%s", len(found), strings.Join(found, "\n"))
	}
}

// Texts of these are no prose: configuration files, tables of words, names of tests.
var withoutProse = []string{"bench/peers", "internal/prose", "interop/std", "reactor/internal/reactortest"}

// findingsInTexts finds the breaches in the texts of a Go file, such as those of errors, logs and
// flags. A text has three words or more. Its line may be long.
func findingsInTexts(file string, source []byte) (found []string, err error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ast.Inspect(f, func(n ast.Node) bool {
		l, ok := n.(*ast.BasicLit)
		if !ok || l.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(l.Value)
		if err != nil || strings.Count(text, " ") < 2 {
			return true
		}
		for _, g := range prose.Markdown(text) {
			if !strings.HasPrefix(g.Rule, "a line of") {
				found = append(found, fmt.Sprintf("%s: %s: %.100q", fset.Position(l.Pos()), g.Rule, text))
			}
		}
		return true
	})
	return found, nil
}

func TestTextsOfErrorsAndLogsArePlain(t *testing.T) {
	lengthy(t)
	err := fs.WalkDir(os.DirFS("."), ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (file == "build" || d.Name() == "testdata" || slices.Contains(withoutProse, file)):
			return fs.SkipDir
		case d.IsDir() || path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		found, err := findingsInTexts(file, source)
		assert.Empty(t, found)
		return err
	})
	require.NoError(t, err)
}

func TestFindingsInTexts(t *testing.T) {
	found, err := findingsInTexts("x.go", []byte("package x\n\n// Whoever.\nvar a, b = \"whoever does it\", \"whoever\"\n"))
	require.NoError(t, err)
	require.Equal(t, []string{`x.go:4:12: whoever: "whoever does it"`}, found)
}

func TestFindingsAreThoseOfDocumentsAndComments(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{
		"README.md": "Whoever.\n", "docs/a.md": "Plain.\n\nWhoever.\n", "docs/a.png": "Whoever.\n", "x/README.md": "Whoever.\n",
		"x/x.go": "package x\n\n// Whoever.\n", "build/b.md": "Whoever.\n", ".git/c.md": "Whoever.\n", "x/testdata/d.md": "Whoever.\n",
		"bench/RESULTS.md": "Whoever.\n", ".github/e.md": "Whoever.\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, file), []byte(text), 0o644))
	}
	found, err := findingsOf(root)
	require.NoError(t, err)
	require.Equal(t, []string{
		".github/e.md:1: whoever: Whoever",
		"README.md:1: whoever: Whoever",
		"docs/a.md:3: whoever: Whoever",
		"x/README.md:1: whoever: Whoever",
		"x/x.go:3: whoever: Whoever",
	}, found)
}
