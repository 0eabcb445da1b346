package suiro_test

import (
	"bufio"
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

// ceilings says how many findings each part of the prose may have. A ceiling only falls: a commit
// that mends sentences lowers it.
const ceilings = "internal/prose/ceilings.txt"

// partOf is the part of the prose that a file belongs to; "": it has none of ours.
func partOf(file string) string {
	switch {
	case file == "README.md" || strings.HasPrefix(file, "docs/") && path.Ext(file) == ".md":
		return "documents-for-users"
	case path.Ext(file) == ".md" && file != "bench/RESULTS.md": // the benchmark writes that
		return "other-documents"
	case path.Ext(file) == ".go":
		return "comments"
	}
	return ""
}

// findingsOf finds the breaches of the rules of package prose in all files below root, by parts.
func findingsOf(root string) (map[string][]string, error) {
	found := map[string][]string{}
	err := fs.WalkDir(os.DirFS(root), ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (file == "build" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && file != "." && file != ".github"):
			return fs.SkipDir
		case d.IsDir() || partOf(file) == "":
			return nil
		}
		source, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return err
		}
		findings := prose.Markdown(string(source))
		if path.Ext(file) == ".go" {
			if findings, err = prose.Comments(file, source); err != nil {
				return err
			}
		}
		for _, f := range findings {
			found[partOf(file)] = append(found[partOf(file)], fmt.Sprintf("%s:%d: %s: %.100s", file, f.Line, f.Rule, f.Text))
		}
		return nil
	})
	return found, err
}

// readCeilings reads lines of a part and its ceiling.
func readCeilings(t *testing.T) map[string]int {
	t.Helper()
	f, err := os.Open(ceilings)
	require.NoError(t, err)
	defer f.Close()
	all := map[string]int{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var part string
		var n int
		if _, err := fmt.Sscan(lines.Text(), &part, &n); err == nil && !strings.HasPrefix(part, "#") {
			all[part] = n
		}
	}
	return all
}

// SUIRO_PROSE=1 lists all findings: SUIRO_PROSE=1 go test -run ProseIsPlain .
func TestProseIsPlain(t *testing.T) {
	lengthy(t)
	found, err := findingsOf(".")
	require.NoError(t, err)
	allowed := readCeilings(t)
	require.Len(t, allowed, 3)
	for part, ceiling := range allowed {
		n := len(found[part])
		if os.Getenv("SUIRO_PROSE") != "" || n > ceiling && ceiling == 0 {
			t.Log(part + ":\n" + strings.Join(found[part], "\n"))
		}
		if n > ceiling {
			t.Errorf("%s: %d findings, at most %d are allowed; SUIRO_PROSE=1 go test -v -run ProseIsPlain . lists them", part, n, ceiling)
		}
		if n < ceiling-25 {
			t.Errorf("%s: %d findings: lower its ceiling of %d in %s", part, n, ceiling, ceilings)
		}
	}
}

func TestFindingsAreSortedIntoTheirParts(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{
		"README.md": "Whoever.\n", "docs/a.md": "Plain.\n\nWhoever.\n", "docs/a.png": "Whoever.\n", "x/README.md": "Whoever.\n",
		"x/x.go": "package x\n\n// Whoever.\n", "build/b.md": "Whoever.\n", ".git/c.md": "Whoever.\n", "x/testdata/d.md": "Whoever.\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, file), []byte(text), 0o644))
	}
	found, err := findingsOf(root)
	require.NoError(t, err)
	require.Equal(t, map[string][]string{
		"documents-for-users": {"README.md:1: whoever: Whoever", "docs/a.md:3: whoever: Whoever"},
		"other-documents":     {"x/README.md:1: whoever: Whoever"},
		"comments":            {"x/x.go:3: whoever: Whoever"},
	}, found)
}
