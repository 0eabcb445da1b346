package suiro_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func architecture(t *testing.T) string {
	t.Helper()
	doc, err := os.ReadFile("ARCHITECTURE.md")
	require.NoError(t, err)
	return string(doc)
}

// rowsOf lists the cells of the rows of a section's tables, without the rows of dashes, and of its
// lists. In a list the first cell ends at the first ": ", and each nested item is a cell.
func rowsOf(doc, heading string) (rows [][]string) {
	_, section, _ := strings.Cut("\n"+doc, "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, line := range unwrapped(section) {
		switch text := strings.TrimLeft(line, " -"); {
		case strings.HasPrefix(line, "|--"):
		case strings.HasPrefix(line, "|"):
			rows = append(rows, trimmed(strings.Split(strings.Trim(line, "|"), "|")))
		case strings.HasPrefix(line, "- "):
			rows = append(rows, trimmed(strings.SplitN(text, ": ", 2)))
		case strings.HasPrefix(line, "  - ") && len(rows) > 0:
			_, cell, _ := strings.Cut(text, ": ")
			last := &rows[len(rows)-1]
			*last = append(*last, cell)
		}
	}
	return rows
}

// unwrapped lists the lines of a text. Those that go on with an item of a list are joined to it.
func unwrapped(text string) (lines []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		more := strings.TrimLeft(line, " ")
		if more != "" && more != line && !strings.HasPrefix(more, "- ") && len(lines) > 0 {
			lines[len(lines)-1] += " " + more
		} else {
			lines = append(lines, line)
		}
	}
	return lines
}

func trimmed(cells []string) []string {
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

func TestRowsAreThoseOfTablesAndLists(t *testing.T) {
	doc := "## A\n\n| `x` | y |\n|---|---|\n| `z` | |\n\nText.\n\n- `a`, `b`: first\n  line: `c`\n  - Imports: `d`,\n    `e`\n- `f`\n  - Guards: g\n\n## B\n\n- h\n"
	require.Equal(t, [][]string{{"`x`", "y"}, {"`z`", ""}, {"`a`, `b`", "first line: `c`", "`d`, `e`"}, {"`f`", "g"}}, rowsOf(doc, "A"))
}

// columnOf lists the names in one column of a section's tables, those in backquotes alone.
func columnOf(doc, heading string, column int) (names []string) {
	for _, row := range rowsOf(doc, heading) {
		if column < len(row) {
			names = append(names, quotedIn(row[column])...)
		}
	}
	return names
}

var quoted = regexp.MustCompile("`([^`]+)`")

// quotedIn lists the words in backquotes.
func quotedIn(text string) (words []string) {
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		words = append(words, strings.Join(strings.Fields(m[1]), " "))
	}
	return words
}

// differences lists the names that are only needed or only present, and those that are present
// more than once.
func differences(needed, present []string) (all []string) {
	for _, name := range needed {
		if !slices.Contains(present, name) {
			all = append(all, name+" is missing")
		}
	}
	count := map[string]int{}
	for _, name := range present {
		if count[name]++; count[name] == 2 {
			all = append(all, name+" appears twice")
		}
		if count[name] == 1 && !slices.Contains(needed, name) {
			all = append(all, name+" does not exist")
		}
	}
	return all
}

func TestTheMapNamesEachFileOfConnOnce(t *testing.T) {
	var needed []string
	for _, dir := range []string{"conn", "internal/core"} {
		files, err := filepath.Glob(dir + "/*.go")
		require.NoError(t, err)
		for _, name := range files {
			if !strings.HasSuffix(name, "_test.go") {
				needed = append(needed, filepath.ToSlash(name))
			}
		}
		require.Contains(t, needed, dir+"/conn.go", "the walk has missed files")
	}
	require.Empty(t, differences(needed, columnOf(architecture(t), "The files of conn and its core", 1)))
}

func TestTheMapTellsMissingAndStaleAndRepeatedFiles(t *testing.T) {
	doc := "## Other\n\n| `conn/c.go` |\n\n## Map\n\n| Room | File |\n|---|---|\n" +
		"| life | `conn/a.go` |\n| life | `conn/a.go` |\n| input | `conn/gone.go` |\n\n## Next\n\n| `x` | `conn/b.go` |\n"
	require.Equal(t, []string{"conn/b.go is missing", "conn/a.go appears twice", "conn/gone.go does not exist"},
		differences([]string{"conn/a.go", "conn/b.go"}, columnOf(doc, "Map", 1)))
}

// withLocks are the packages whose locks the table names, with the internal packages that these
// import, one through the other.
var withLocks = []string{"conn", "packet", "server"}

// lockingPackages lists the packages of the table of locks. The explorer is for tests alone.
func lockingPackages(imports []goImport) []string {
	found := slices.Clone(withLocks)
	for i := 0; i < len(found); i++ {
		for _, im := range imports {
			target, ours := strings.CutPrefix(im.path, module+"/")
			if ours && im.pkg == found[i] && strings.HasPrefix(target, "internal/") &&
				target != "internal/explore" && !slices.Contains(found, target) {
				found = append(found, target)
			}
		}
	}
	return found
}

// mutexesIn lists the mutexes that a package declares, as package.Type.field or package.variable,
// whatever the build constraints of its files.
func mutexesIn(fsys fs.FS, pkg string) (all []string, err error) {
	files, err := fs.Glob(fsys, pkg+"/*.go")
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, 0)
		if err != nil {
			return nil, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				if s, ok := n.Type.(*ast.StructType); ok {
					all = append(all, mutexesOf(s, path.Base(pkg)+"."+n.Name.Name)...)
				}
			case *ast.ValueSpec:
				if s, ok := n.Type.(*ast.StructType); ok {
					all = append(all, mutexesOf(s, path.Base(pkg)+"."+n.Names[0].Name)...)
				} else if mutex(n.Type) != "" {
					for _, v := range n.Names {
						all = append(all, path.Base(pkg)+"."+v.Name)
					}
				}
			}
			return true
		})
	}
	slices.Sort(all)
	return slices.Compact(all), err // a type may be declared for each system
}

func mutexesOf(s *ast.StructType, owner string) (all []string) {
	for _, f := range s.Fields.List {
		kind := mutex(f.Type)
		if kind == "" {
			continue
		}
		if len(f.Names) == 0 { // it is embedded
			all = append(all, owner+"."+kind)
		}
		for _, field := range f.Names {
			all = append(all, owner+"."+field.Name)
		}
	}
	return all
}

// mutex is the name of the type if that is a mutex, or "".
func mutex(typ ast.Expr) string {
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	sel, ok := typ.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if from, ok := sel.X.(*ast.Ident); !ok || from.Name != "sync" && from.Name != "atomics" {
		return ""
	}
	if sel.Sel.Name != "Mutex" && sel.Sel.Name != "RWMutex" {
		return ""
	}
	return sel.Sel.Name
}

func TestTheTableOfLocksNamesEachMutex(t *testing.T) {
	imports, err := importsOf(os.DirFS("."))
	require.NoError(t, err)
	var needed []string
	for _, pkg := range lockingPackages(imports) {
		found, err := mutexesIn(os.DirFS("."), pkg)
		require.NoError(t, err)
		needed = append(needed, found...)
	}
	require.Subset(t, needed, []string{"core.Conn.Mu", "semaphore.FIFO.mu", "sock.Inert.mu"}, "the walk has missed files")
	doc := architecture(t)
	require.Empty(t, differences(needed, columnOf(doc, "The order of locks", 0)))
	for _, name := range columnOf(doc, "The order of locks", 2) {
		if strings.Count(name, ".") == 2 { // else it is a function
			require.Contains(t, needed, name, "a lock that may be taken")
		}
	}
}

// All code that runs under a connection's lock lies in six files.
func TestSixFilesLockAConnection(t *testing.T) {
	var lock []string
	for _, pattern := range []string{"conn/*.go", "internal/*/*.go", "server/*.go", "packet/*.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, name := range files {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			if strings.Contains(string(text), ".Mu.Lock()") && !strings.HasSuffix(name, "_test.go") {
				lock = append(lock, strings.TrimPrefix(filepath.ToSlash(name), "internal/core/"))
			}
		}
	}
	require.ElementsMatch(t, []string{"shared.go", "inbox.go", "writesend.go", "writesocket.go", "writeoutlet.go", "memory.go"}, lock)
}

// circleOf is a circle of names, where each allows the next, or nil.
func circleOf(allowed map[string][]string) []string {
	done := map[string]bool{}
	var way []string
	var follow func(name string) []string
	follow = func(name string) []string {
		if i := slices.Index(way, name); i >= 0 {
			return append(slices.Clone(way[i:]), name)
		}
		if done[name] {
			return nil
		}
		way = append(way, name)
		for _, next := range allowed[name] {
			if circle := follow(next); circle != nil {
				return circle
			}
		}
		way = way[:len(way)-1]
		done[name] = true
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(allowed)) {
		if circle := follow(name); circle != nil {
			return circle
		}
	}
	return nil
}

func TestTheOrderOfLocksHasNoCircle(t *testing.T) {
	allowed := map[string][]string{}
	for _, row := range rowsOf(architecture(t), "The order of locks") {
		for _, name := range quotedIn(row[0]) {
			allowed[name] = quotedIn(row[2])
		}
	}
	require.Contains(t, allowed["packet.Socket.mu"], "ready.Socket.mu", "the rows were not read")
	require.Nil(t, circleOf(allowed))
}

func TestCirclesAreFound(t *testing.T) {
	require.Nil(t, circleOf(map[string][]string{"a": {"b", "c"}, "b": {"c"}, "c": nil}))
	require.Equal(t, []string{"b", "c", "b"}, circleOf(map[string][]string{"a": {"b"}, "b": {"d", "c"}, "c": {"b"}}))
}

func TestMutexesAreFoundWhateverTheBuildTags(t *testing.T) {
	file := func(src string) *fstest.MapFile { return &fstest.MapFile{Data: []byte("package p\n" + src)} }
	found, err := mutexesIn(fstest.MapFS{
		"internal/p/a.go":         file("type A struct { x int; mu, other sync.Mutex; w sync.WaitGroup }\nvar one sync.RWMutex"),
		"internal/p/b_windows.go": file("type B[T any] struct { atomics.Mutex }\nvar all struct { mu *sync.Mutex }"),
		"internal/p/a_test.go":    file("type C struct { mu sync.Mutex }"),
		"internal/p/deep/d.go":    file("type D struct { mu sync.Mutex }"),
	}, "internal/p")
	require.NoError(t, err)
	require.Equal(t, []string{"p.A.mu", "p.A.other", "p.B.Mutex", "p.all.mu", "p.one"}, found)
}

func TestInternalPackagesHaveTheirLocksInTheTable(t *testing.T) {
	require.Equal(t, []string{"conn", "packet", "server", "internal/a", "internal/b"}, lockingPackages([]goImport{
		{pkg: "conn", path: module + "/internal/a"},
		{pkg: "conn", path: module + "/sched"},
		{pkg: "sched", path: module + "/internal/of-sched"},
		{pkg: "internal/a", path: module + "/internal/b"},
		{pkg: "internal/b", path: module + "/internal/explore"},
		{pkg: "packet", path: "sync"},
	}))
}

// deadPaths lists the paths in backquotes that name no file or directory. A path has a slash, or
// ends as the name of a file does.
func deadPaths(fsys fs.FS, doc string) (dead []string) {
	looks := regexp.MustCompile(`^[\w.*/-]*(/[\w.*-]+|\.(go|md|txt|json|c))$`)
	standard := []string{"net/http", "crypto/tls"}
	for _, word := range quotedIn(doc) {
		if !looks.MatchString(word) || slices.Contains(standard, word) {
			continue
		}
		if found, err := fs.Glob(fsys, word); err != nil || len(found) == 0 {
			dead = append(dead, word)
		}
	}
	return dead
}

// deadNames lists the names said to be in a file that does not contain them.
func deadNames(fsys fs.FS, doc string) (dead []string) {
	doc = strings.Join(strings.Fields(doc), " ")
	for _, m := range regexp.MustCompile("`(\\w+)` in `([\\w/]+\\.go)`").FindAllStringSubmatch(doc, -1) {
		src, err := fs.ReadFile(fsys, m[2])
		if err != nil || !regexp.MustCompile(`\b`+m[1]+`\b`).Match(src) {
			dead = append(dead, fmt.Sprintf("%s in %s", m[1], m[2]))
		}
	}
	return dead
}

func TestTheArchitectureNamesExistingFilesAndNames(t *testing.T) {
	doc := architecture(t)
	require.Empty(t, deadPaths(os.DirFS("."), doc), "paths that do not exist")
	require.Empty(t, deadNames(os.DirFS("."), doc), "names that the file does not have")
}

func TestDeadPathsAndNamesAreFound(t *testing.T) {
	fsys := fstest.MapFS{"conn/run.go": &fstest.MapFile{Data: []byte("package conn\n\nfunc work() {}\n")}}
	doc := "`conn` and `conn/run.go`, `conn/r*.go`, `net/http`, `make std`, `gone.go`, `conn/gone/x`,\n" +
		"`work` in\n`conn/run.go`, `wor` in `conn/run.go`"
	require.Equal(t, []string{"gone.go", "conn/gone/x"}, deadPaths(fsys, doc))
	require.Equal(t, []string{"wor in conn/run.go"}, deadNames(fsys, doc))
}

func TestTheTableOfFoldersHasTheArrows(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range rowsOf(architecture(t), "Folders and their imports") {
		for _, dir := range quotedIn(row[0]) {
			l, ok := layers[dir]
			if !ok || strings.Contains(row[2], "anything public") {
				continue
			}
			seen[dir] = true
			require.ElementsMatch(t, l.ours, quotedIn(row[2]), dir)
		}
	}
	for dir := range layers {
		require.True(t, seen[dir] || strings.HasPrefix(dir, "examples"), "%s has no row", dir)
	}
}
