package suiro_test

import (
	"errors"
	"fmt"
	"go/ast"
	goimporter "go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A fragment is Go's declarations, or the statements of a function. A comment above it that begins
// with the word "given" has it compiled, too. The lines of that comment are what the text around
// the fragment says:
//
//	given
//	in func(cx *sched.Context, s *server.Stream) error   the function whose statements it is
//	var dialer server.Dialer                             any other declarations
//
// Imports need not be said: a name before a dot is that of a public package of this module, or one
// of these.
var importable = withPublic(map[string]string{
	"bufio": "bufio", "bytes": "bytes", "context": "context", "errors": "errors", "exec": "os/exec", "fmt": "fmt",
	"http": "net/http", "io": "io", "log": "log", "net": "net", "netip": "net/netip", "os": "os", "slog": "log/slog",
	"sql": "database/sql", "strings": "strings", "sync": "sync", "atomic": "sync/atomic", "syscall": "syscall", "testing": "testing", "time": "time", "tls": "crypto/tls",
	"x509": "crypto/x509", "synctest": "testing/synctest",
})

// withPublic adds the public packages of this module to paths by name.
func withPublic(paths map[string]string) map[string]string {
	for _, pkg := range public {
		paths[path.Base(pkg)] = module + "/" + pkg
	}
	return paths
}

var nameBeforeDot = regexp.MustCompile(`\b([a-z]\w*)\.[A-Z]`)

// checkFragment parses a fragment, and with a given compiles it.
func checkFragment(b block, imports types.Importer) error {
	given, isGiven := strings.CutPrefix(b.note, "given")
	signature := "func()"
	var declared []string
	for line := range strings.Lines(given) {
		if in, ok := strings.CutPrefix(line, "in "); ok {
			signature = strings.TrimSpace(in)
		} else if isGiven {
			declared = append(declared, line)
		}
	}
	used := map[string]bool{}
	for _, name := range nameBeforeDot.FindAllStringSubmatch(given+b.code, -1) {
		used[name[1]] = importable[name[1]] != ""
	}
	head := "package p\n"
	for _, name := range slices.Sorted(maps.Keys(used)) {
		if used[name] {
			head += fmt.Sprintf("import %q\n", importable[name])
		}
	}
	head += strings.Join(declared, "")
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", head+"\n"+b.code, parser.SkipObjectResolution)
	if err != nil {
		text := head + "\nvar _ = " + signature + "{\n" + b.code + "\npanic(0)\n}\n"
		if f, err = parser.ParseFile(fset, "", text, parser.SkipObjectResolution); err != nil {
			return fmt.Errorf("%v: %w", b, err)
		}
	}
	if !isGiven {
		return nil
	}
	var errs []error
	config := types.Config{Importer: imports, Error: func(err error) {
		// a fragment may leave a variable or an import to the rest of its program
		if e := err.(types.Error); !e.Soft {
			errs = append(errs, fmt.Errorf("%v: %s", b, e.Msg))
		}
	}}
	_, _ = config.Check("p", fset, []*ast.File{f}, nil)
	return errors.Join(errs...)
}

// compiled are the packages that fragments import, from the export data of Go's cache.
var compiled = sync.OnceValues(func() (types.Importer, error) {
	args := append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}}={{.Export}}"}, slices.Sorted(maps.Values(importable))...)
	cmd := exec.Command("go", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "=")
		exports[path] = file
	}
	return goimporter.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	}), nil
})

func TestFragmentsInTheGuidesCompile(t *testing.T) {
	lengthy(t)
	imports, err := compiled()
	require.NoError(t, err)
	count := 0
	for file, text := range guides(t) {
		for _, b := range blocksOfGuide(file, text) {
			if b.isFragment() {
				assert.NoError(t, checkFragment(b, imports))
				count++
			}
		}
	}
	assert.Greater(t, count, 5, "fragments were looked at")
}

func TestAFragmentThatDoesNotCompileIsFound(t *testing.T) {
	imports, err := compiled()
	require.NoError(t, err)
	check := func(note, code string) error { return checkFragment(block{"x.md", 1, "go", note, code}, imports) }
	assert.NoError(t, check("", "x := whatever(1)\n"))
	assert.NoError(t, check("", "func f() {}\n"))
	assert.NoError(t, check("given", "s := &server.Server{Workers: 2}\n"))
	assert.NoError(t, check("given\nin func(s *server.Stream) error\nvar n int", "if n > 0 {\n\treturn s.Close()\n}\n"))
	assert.Error(t, check("", "x := whatever(\n"))
	assert.Error(t, check("given", "x := whatever(1)\n"))
	assert.Error(t, check("given", "s := &server.Server{Wrokers: 2}\n"))
	assert.Error(t, check("given\nin func() int", "return \"\"\n"))
}

// A document may use the names of all public packages, and those of these packages also without
// the package's name.
var unqualified = []string{"server", "conn", "packet", "sched", "frame", "syncx", "chanx", "blocking"}

var (
	codeSpan  = regexp.MustCompile("`([^`\n]+)`")
	qualified = regexp.MustCompile(`^(?:([a-z]\w*)\.)?([A-Z]\w*)((?:\.[A-Z]\w*)*)(?:\(.*\)|\[.*\]|\{.*\})?$`)
)

// unknownName returns why a name such as server.Server.ConnConfig.MaxConns or Stream.Read does not
// exist. It returns "" if the name exists, or is not a name of this module.
func unknownName(name string, packages map[string]*types.Package) string {
	parts := qualified.FindStringSubmatch(name)
	if parts == nil || parts[1] == "" && parts[3] == "" {
		return ""
	}
	in := []string{parts[1]}
	if parts[1] == "" {
		in = unqualified
	} else if packages[parts[1]] == nil {
		return "" // http.Server and the like
	}
	found := parts[1] != ""
	for _, pkg := range in {
		obj := packages[pkg].Scope().Lookup(parts[2])
		found = found || obj != nil
		for member := range strings.SplitSeq(strings.TrimPrefix(parts[3], "."), ".") {
			if obj != nil && member != "" {
				obj, _, _ = types.LookupFieldOrMethod(obj.Type(), true, packages[pkg], member)
			}
		}
		if obj != nil {
			return ""
		}
	}
	if !found {
		return "" // Transport.DialContext and the like
	}
	return "there is no " + name
}

func ourPackages(t *testing.T) map[string]*types.Package {
	t.Helper()
	imports, err := compiled()
	require.NoError(t, err)
	all := map[string]*types.Package{}
	for _, pkg := range public {
		all[path.Base(pkg)], err = imports.Import(module + "/" + pkg)
		require.NoError(t, err)
	}
	return all
}

func TestNamesInTheDocumentsExist(t *testing.T) {
	packages := ourPackages(t)
	documents := guides(t)
	for _, pattern := range []string{"SECURITY.md", "bench/*.md", "examples/*/README.md"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			documents[file] = string(text)
		}
	}
	for file, text := range documents {
		for number, line := range proseOf(text) {
			for _, span := range codeSpan.FindAllStringSubmatch(line, -1) {
				assert.Empty(t, unknownName(span[1], packages), "%s:%d", file, number)
			}
		}
	}
}

func TestANameThatDoesNotExistIsFound(t *testing.T) {
	packages := ourPackages(t)
	for _, name := range []string{
		"server.Server", "server.Server.Addr", "Server.Addr", "server.Conn.Peek", "Stream.Read", "server.Run(ctx, s)",
		"http.Server.Addr", "Transport.DialContext", "sched.JoinSet.JoinNext", "Server", "chanx.Sender[int]",
		"Server.ConnConfig.MaxConns", "server.Server.ConnConfig.Reactor.BufferSize", "admin.Handler", "metrics.Handler",
	} {
		assert.Empty(t, unknownName(name, packages), name)
	}
	for _, name := range []string{
		"server.Sever", "server.Server.Adr", "Server.Adr", "Stream.Reed", "server.Runn(ctx, s)", "Server.ConnConfig.MaxCons",
		"server.Server.Con.MaxConns", "Server.ConnConfig.Reactor.BufSize", "admin.Handle", "metrics.Famly",
	} {
		assert.NotEmpty(t, unknownName(name, packages), name)
	}
}
