package suiro_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Exit(m.Run()) }

// unchecked are the folders whose tests start goroutines and do not look for leaks.
var unchecked = map[string]string{
	"bench":          "its programs are no part of the library",
	"contrib":        "its modules import nothing internal, and look by themselves",
	"cmd/suiro":      "its module does not require the library",
	"internal/cmd":   "its tools are no part of the library",
	"internal/leaks": "its test leaves a goroutine behind",
}

// A suite that starts a goroutine itself, or imports a package with workers, ends with a look for
// leaked goroutines.
func TestSuitesThatStartGoroutinesLookForLeaks(t *testing.T) {
	starts, looks := map[string]string{}, map[string]bool{}
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				starts[dir] = path
			case *ast.FuncDecl:
				if n.Name.Name == "TestMain" {
					looks[dir] = looks[dir] || calls(n, "leaks.Exit", "schedtest.Main", "schedtest.EndlessMain", "conntest.Main", "conntest.Share")
				}
			case *ast.ImportSpec:
				if name := strings.TrimPrefix(n.Path.Value, `"github.com/suiro-go/suiro/`); slices.Contains(withWorkers, strings.TrimSuffix(name, `"`)) {
					starts[dir] = path
				}
			}
			return true
		})
		return nil
	}))
	require.Greater(t, len(starts), 40)
	var missing []string
	for _, dir := range slices.Sorted(maps.Keys(starts)) {
		if !looks[dir] && !isUnchecked(dir) {
			missing = append(missing, starts[dir])
		}
	}
	require.Empty(t, missing, "these start goroutines, and no TestMain beside them calls leaks.Exit")
}

func isUnchecked(dir string) bool {
	for of := range unchecked {
		if strings.HasPrefix(dir+"/", of+"/") {
			return true
		}
	}
	return false
}

// withWorkers are packages whose functions start workers or goroutines.
var withWorkers = []string{"blocking", "conn", "packet", "process", "sched", "server", "internal/conntest", "internal/schedtest"}

// calls reports whether a function uses one of these functions of packages.
func calls(f *ast.FuncDecl, names ...string) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			of, _ := s.X.(*ast.Ident)
			found = found || of != nil && slices.Contains(names, of.Name+"."+s.Sel.Name)
		}
		return true
	})
	return found
}
