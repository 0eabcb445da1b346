// Typecheck finds code that does not compile on other platforms. It type-checks all packages of the
// module in the current directory, and their tests, for each GOOS/GOARCH that it is given:
//
//	go run ./internal/cmd/typecheck linux/386 windows/amd64 linux/amd64,kqueue
//
// A build tag may follow behind a comma. Typecheck works from source: it generates no code and
// needs no C compiler. It parses each file once for all platforms. The exit status is 1 if it has
// found an error.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// listed is a package as go list -json prints it.
type listed struct {
	ImportPath, Dir, ForTest string
	Standard                 bool
	GoFiles                  []string
	ImportMap                map[string]string
	Module                   *struct {
		Main      bool
		GoVersion string
	}
	Error *struct{ Err string }
}

func main() {
	failed := false
	var mu sync.Mutex
	var all sync.WaitGroup
	turns := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, platform := range os.Args[1:] {
		all.Add(1)
		go func() {
			defer all.Done()
			turns <- struct{}{}
			defer func() { <-turns }()
			n, errs := check(platform)
			mu.Lock()
			defer mu.Unlock()
			fmt.Printf("%s: %d packages, %d errors\n", platform, n, len(errs))
			failed = failed || len(errs) > 0
			for _, err := range errs {
				fmt.Fprintf(os.Stderr, "%s: %v\n", platform, err)
			}
		}()
	}
	all.Wait()
	if failed {
		os.Exit(1)
	}
}

// check type-checks everything for a platform. n is the number of the module's own packages there.
func check(platform string) (n int, errs []error) {
	system, tag, _ := strings.Cut(platform, ",")
	goos, goarch, ok := strings.Cut(system, "/")
	if !ok {
		return 0, []error{errors.New("use GOOS/GOARCH")}
	}
	list := exec.Command("go", "list", "-e", "-tags="+tag, "-deps", "-test",
		"-json=ImportPath,Dir,ForTest,Standard,GoFiles,ImportMap,Module,Error", "./...")
	list.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		return 0, []error{fmt.Errorf("go list: %w\n%s", err, &stderr)}
	}
	done := map[string]*types.Package{"unsafe": types.Unsafe}
	for in := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := in.Decode(&p); err == io.EOF {
			return n, errs
		} else if err != nil {
			return n, append(errs, err)
		}
		ours := p.Module != nil && p.Module.Main
		switch {
		case p.Error != nil && ours:
			errs = append(errs, fmt.Errorf("%s: %s", p.ImportPath, p.Error.Err))
			continue
		case p.ImportPath == "unsafe", strings.HasSuffix(p.ImportPath, ".test"): // go test generates the latter
			continue
		case ours:
			n++
		}
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parse(filepath.Join(p.Dir, name))
			if err != nil {
				errs = append(errs, err)
				continue
			}
			files = append(files, f)
		}
		cfg := types.Config{
			IgnoreFuncBodies: !ours,
			Sizes:            types.SizesFor("gc", goarch),
			Importer: importer(func(path string) (*types.Package, error) {
				if to, ok := p.ImportMap[path]; ok {
					path = to
				}
				if pkg := done[path]; pkg != nil {
					return pkg, nil
				}
				return nil, fmt.Errorf("%s is not listed before what imports it", path)
			}),
			Error: func(err error) {
				if ours {
					errs = append(errs, err)
				}
			},
		}
		if p.Module != nil && p.Module.GoVersion != "" {
			cfg.GoVersion = "go" + p.Module.GoVersion
		}
		path, _, _ := strings.Cut(p.ImportPath, " ")
		done[p.ImportPath], _ = cfg.Check(path, fset, files, nil)
	}
}

type importer func(path string) (*types.Package, error)

func (f importer) Import(path string) (*types.Package, error) { return f(path) }

var (
	fset   = token.NewFileSet()
	parsed sync.Map // by path, of *parsing
)

type parsing struct {
	once sync.Once
	file *ast.File
	err  error
}

func parse(path string) (*ast.File, error) {
	got, _ := parsed.LoadOrStore(path, new(parsing))
	p := got.(*parsing)
	p.once.Do(func() { p.file, p.err = parser.ParseFile(fset, path, nil, parser.SkipObjectResolution) })
	return p.file, p.err
}
