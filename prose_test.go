package suiro_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

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
