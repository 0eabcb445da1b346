package suiro_test

import (
	"bytes"
	"cmp"
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
	"slices"
	"strings"
)

// apiSystems are the systems whose listings are compared. The packages of the others have the same
// files as one of these.
var apiSystems = []string{"linux/amd64", "darwin/arm64", "freebsd/amd64", "windows/amd64"}

// sourcesOf lists the packages of the module and their dependencies, dependencies first.
func sourcesOf(system string) (all []goPackage, err error) {
	goos, goarch, _ := strings.Cut(system, "/")
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap")
	for _, pkg := range public {
		cmd.Args = append(cmd.Args, "./"+pkg)
	}
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, problems.Bytes())
	}
	for in := json.NewDecoder(bytes.NewReader(out)); ; {
		var pkg goPackage
		if err := in.Decode(&pkg); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, pkg)
	}
}

// A goPackage is what go list prints of a package.
type goPackage struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string // the standard library's copies of golang.org/x
}

// An importer has the packages that were type-checked so far.
type importer struct {
	done    map[string]*types.Package
	renamed map[string]string
}

func (i importer) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	pkg := i.done[cmp.Or(i.renamed[path], path)]
	if pkg == nil {
		return nil, fmt.Errorf("%s is not among the dependencies", path)
	}
	return pkg, nil
}

// typesOf type-checks the packages' declarations, without the bodies of functions.
func typesOf(sources []goPackage, system string) (map[string]*types.Package, error) {
	_, goarch, _ := strings.Cut(system, "/")
	done := map[string]*types.Package{}
	for _, source := range sources {
		if source.ImportPath == "unsafe" {
			continue
		}
		fset := token.NewFileSet()
		var files []*ast.File
		for _, name := range source.GoFiles {
			file, err := parser.ParseFile(fset, filepath.Join(source.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			files = append(files, file)
		}
		config := types.Config{
			IgnoreFuncBodies: true, FakeImportC: true,
			Importer: importer{done, source.ImportMap}, Sizes: types.SizesFor("gc", goarch),
		}
		pkg, err := config.Check(source.ImportPath, fset, files, nil)
		if err != nil {
			return nil, err
		}
		done[source.ImportPath] = pkg
	}
	return done, nil
}

// listing is a package's exported constants, variables, functions, types, fields and methods, a
// line for each.
func listing(pkg *types.Package) []string {
	l := &lister{pkg: pkg}
	for _, name := range pkg.Scope().Names() {
		if object := pkg.Scope().Lookup(name); object.Exported() {
			l.object(object)
		}
	}
	slices.Sort(l.lines)
	return slices.Compact(l.lines)
}

type lister struct {
	pkg   *types.Package
	lines []string
}

func (l *lister) add(format string, args ...any) {
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *lister) object(object types.Object) {
	name := object.Name()
	switch object := object.(type) {
	case *types.Const:
		l.add("const %s %s = %s", name, l.typ(object.Type()), object.Val().ExactString())
	case *types.Var:
		l.add("var %s %s", name, l.typ(object.Type()))
	case *types.Func:
		signature := object.Signature()
		l.add("func %s%s%s", name, l.params(signature.TypeParams()), l.signature(signature))
	case *types.TypeName:
		l.typeName(object)
	}
}

func (l *lister) typeName(object *types.TypeName) {
	if alias, ok := object.Type().(*types.Alias); ok {
		l.add("type %s%s = %s", object.Name(), l.params(alias.TypeParams()), l.typ(alias.Rhs()))
		if target, ok := types.Unalias(alias).(*types.Named); ok && isInternal(target.Obj().Pkg()) {
			l.named(object.Name(), "", target) // no listing has it under its own name
		}
		return
	}
	named := object.Type().(*types.Named)
	l.named(object.Name(), l.params(named.TypeParams()), named)
}

func isInternal(pkg *types.Package) bool {
	return pkg != nil && strings.Contains("/"+pkg.Path()+"/", "/internal/")
}

func (l *lister) named(name, params string, typ *types.Named) {
	switch under := typ.Underlying().(type) {
	case *types.Struct:
		l.add("type %s%s struct", name, params)
		l.fields(name, under)
	case *types.Interface:
		l.add("type %s%s interface%s", name, params, closed(under))
		for method := range under.Methods() {
			if method.Exported() {
				l.add("type %s interface, %s%s", name, method.Name(), l.signature(method.Signature()))
			}
		}
		return
	default:
		l.add("type %s%s %s", name, params, l.typ(under))
	}
	values := types.NewMethodSet(typ)
	for selection := range types.NewMethodSet(types.NewPointer(typ)).Methods() {
		method := selection.Obj()
		if !method.Exported() {
			continue
		}
		star := "*"
		if values.Lookup(method.Pkg(), method.Name()) != nil {
			star = ""
		}
		l.add("method (%s%s) %s%s", star, name, method.Name(), l.signature(selection.Type().(*types.Signature)))
	}
}

// closed says that other packages cannot implement an interface.
func closed(typ *types.Interface) string {
	for method := range typ.Methods() {
		if !method.Exported() {
			return ", unexported methods"
		}
	}
	return ""
}

// fields adds a struct's exported fields, with those of an embedded struct that is not exported.
func (l *lister) fields(name string, typ *types.Struct) {
	for field := range typ.Fields() {
		switch {
		case field.Exported() && field.Embedded():
			l.add("type %s struct, embedded %s", name, l.typ(field.Type()))
		case field.Exported():
			l.add("type %s struct, %s %s", name, field.Name(), l.typ(field.Type()))
		case field.Embedded():
			under := field.Type().Underlying()
			if pointer, ok := under.(*types.Pointer); ok {
				under = pointer.Elem().Underlying()
			}
			if inner, ok := under.(*types.Struct); ok {
				l.fields(name, inner)
			}
		}
	}
}

// params prints the type parameters of a declaration.
func (l *lister) params(list *types.TypeParamList) string {
	if list.Len() == 0 {
		return ""
	}
	var all []string
	for param := range list.TypeParams() {
		all = append(all, param.Obj().Name()+" "+l.typ(param.Constraint()))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// signature prints parameters and results without their names, which may change.
func (l *lister) signature(typ *types.Signature) string {
	params := l.tuple(typ.Params())
	if last := len(params) - 1; typ.Variadic() {
		params[last] = "..." + strings.TrimPrefix(params[last], "[]")
	}
	text := "(" + strings.Join(params, ", ") + ")"
	switch results := l.tuple(typ.Results()); len(results) {
	case 0:
		return text
	case 1:
		return text + " " + results[0]
	default:
		return text + " (" + strings.Join(results, ", ") + ")"
	}
}

func (l *lister) tuple(list *types.Tuple) (all []string) {
	for v := range list.Variables() {
		all = append(all, l.typ(v.Type()))
	}
	return all
}

// typ prints a type. A name of another package has that package's name before it.
func (l *lister) typ(typ types.Type) string {
	switch typ := typ.(type) {
	case *types.Pointer:
		return "*" + l.typ(typ.Elem())
	case *types.Slice:
		return "[]" + l.typ(typ.Elem())
	case *types.Array:
		return fmt.Sprintf("[%d]%s", typ.Len(), l.typ(typ.Elem()))
	case *types.Map:
		return "map[" + l.typ(typ.Key()) + "]" + l.typ(typ.Elem())
	case *types.Chan:
		return map[types.ChanDir]string{
			types.SendRecv: "chan ", types.SendOnly: "chan<- ", types.RecvOnly: "<-chan ",
		}[typ.Dir()] + l.typ(typ.Elem())
	case *types.Signature:
		return "func" + l.signature(typ)
	}
	return types.TypeString(typ, func(pkg *types.Package) string {
		if pkg == l.pkg {
			return ""
		}
		return pkg.Name()
	})
}

// merge joins the listings of several systems. A line that some systems lack names those that have
// it.
func merge(bySystem map[string][]string) (all []string) {
	having := map[string][]string{}
	for _, system := range apiSystems {
		goos, _, _ := strings.Cut(system, "/")
		for _, line := range bySystem[system] {
			having[line] = append(having[line], goos)
		}
	}
	for line, systems := range having {
		if len(systems) < len(apiSystems) {
			line += " // " + strings.Join(systems, ", ")
		}
		all = append(all, line)
	}
	slices.Sort(all)
	return all
}

// apiOf lists the exported API of each public package.
func apiOf() (map[string][]string, error) {
	type result struct {
		system string
		byPkg  map[string][]string
		err    error
	}
	results := make(chan result)
	for _, system := range apiSystems {
		go func() {
			sources, err := sourcesOf(system)
			if err != nil {
				results <- result{err: err}
				return
			}
			checked, err := typesOf(sources, system)
			byPkg := map[string][]string{}
			for _, pkg := range public {
				if err == nil {
					byPkg[pkg] = listing(checked[module+"/"+pkg])
				}
			}
			results <- result{system, byPkg, err}
		}()
	}
	bySystem := map[string]map[string][]string{} // a package's listings, by system
	var failed error
	for range apiSystems {
		r := <-results
		failed = cmp.Or(failed, r.err)
		for pkg, lines := range r.byPkg {
			if bySystem[pkg] == nil {
				bySystem[pkg] = map[string][]string{}
			}
			bySystem[pkg][r.system] = lines
		}
	}
	all := map[string][]string{}
	for pkg, listings := range bySystem {
		all[pkg] = merge(listings)
	}
	return all, failed
}
