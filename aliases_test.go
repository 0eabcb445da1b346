package suiro_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A surface is what one package exports.
type surface struct {
	types   map[string]*ast.TypeSpec
	docs    map[string]string          // of types, by name
	methods map[string][]*ast.FuncType // exported ones, by the receiver's type
	funcs   []*ast.FuncType
	errs    []string // the exported errors
}

func surfaceOf(t *testing.T, dir string) surface {
	t.Helper()
	s := surface{types: map[string]*ast.TypeSpec{}, docs: map[string]string{}, methods: map[string][]*ast.FuncType{}}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, d := range f.Decls {
			s.add(d)
		}
	}
	return s
}

func (s *surface) add(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		switch {
		case !d.Name.IsExported():
		case d.Recv == nil:
			s.funcs = append(s.funcs, d.Type)
		default:
			typ := d.Recv.List[0].Type
			if star, ok := typ.(*ast.StarExpr); ok {
				typ = star.X
			}
			if id, ok := typ.(*ast.Ident); ok && id.IsExported() {
				s.methods[id.Name] = append(s.methods[id.Name], d.Type)
			}
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.VAR {
				for _, name := range v.Names {
					if strings.HasPrefix(name.Name, "Err") {
						s.errs = append(s.errs, name.Name)
					}
				}
			}
			if typ, ok := spec.(*ast.TypeSpec); ok && typ.Name.IsExported() {
				s.types[typ.Name.Name] = typ
				s.docs[typ.Name.Name] = typ.Doc.Text()
				if typ.Doc == nil && len(d.Specs) == 1 {
					s.docs[typ.Name.Name] = d.Doc.Text()
				}
			}
		}
	}
}

// uses are the exported types that a type names: "conn.Handler", or "Handler" for one of its
// own package. Fields and methods that are not exported do not count.
func uses(e ast.Expr) (names []string) {
	fields := func(all *ast.FieldList, some bool) {
		if all == nil {
			return
		}
		for _, f := range all.List {
			if !some || len(f.Names) == 0 || slices.ContainsFunc(f.Names, (*ast.Ident).IsExported) {
				names = append(names, uses(f.Type)...)
			}
		}
	}
	switch e := e.(type) {
	case *ast.Ident:
		if e.IsExported() {
			names = append(names, e.Name)
		}
	case *ast.SelectorExpr:
		names = append(names, e.X.(*ast.Ident).Name+"."+e.Sel.Name)
	case *ast.StarExpr:
		return uses(e.X)
	case *ast.ArrayType:
		return uses(e.Elt)
	case *ast.Ellipsis:
		return uses(e.Elt)
	case *ast.ChanType:
		return uses(e.Value)
	case *ast.MapType:
		return append(uses(e.Key), uses(e.Value)...)
	case *ast.IndexExpr:
		return append(uses(e.X), uses(e.Index)...)
	case *ast.FuncType:
		fields(e.Params, false)
		fields(e.Results, false)
	case *ast.StructType:
		fields(e.Fields, true)
	case *ast.InterfaceType:
		fields(e.Methods, true)
	}
	return names
}

// reach adds the types of a package that a type leads to, by its fields and methods.
func (s *surface) reach(name string, to map[string]bool) {
	typ := s.types[name]
	if typ == nil || to[name] {
		return
	}
	to[name] = true
	if name == "Group" {
		return // who calls its methods imports its package
	}
	for _, next := range uses(typ.Type) {
		s.reach(next, to)
	}
	for _, m := range s.methods[name] {
		for _, next := range uses(m) {
			s.reach(next, to)
		}
	}
}

// A user of package server need not import conn or packet for the types that server's own
// functions, methods and fields lead to, and each alias says itself what it is.
func TestServerHasANameForEveryTypeThatItsSignaturesLeadTo(t *testing.T) {
	server := surfaceOf(t, "server")
	below := map[string]surface{"conn": surfaceOf(t, "conn"), "packet": surfaceOf(t, "packet")}

	aliases := map[string]string{} // what for, by what name
	var named []string
	for name, typ := range server.types {
		if typ.Assign.IsValid() {
			of := uses(typ.Type)[0]
			aliases[of] = name
			doc := server.docs[name]
			assert.True(t, strings.HasPrefix(doc, name+" "), "the doc of %s begins %.30q", name, doc)
		}
		named = append(named, uses(typ.Type)...)
		for _, m := range server.methods[name] {
			named = append(named, uses(m)...)
		}
	}
	for _, f := range server.funcs {
		named = append(named, uses(f)...)
	}

	count := 0
	for pkg, s := range below {
		reached := map[string]bool{}
		for _, name := range named {
			if p, typ, ok := strings.Cut(name, "."); ok && p == pkg {
				s.reach(typ, reached)
			}
		}
		for name := range reached {
			if pkg == "packet" && (name == "Group" || name == "Cred") {
				continue // a *conn.Group is one, and conn.Cred is the same type
			}
			assert.Contains(t, aliases, pkg+"."+name, "server has no name for it")
			count++
		}
	}
	assert.Greater(t, count, 20, "types were looked at")

	for name := range below["packet"].types {
		switch name {
		case "Group", "PanicError", "Cred": // server's own names for these are those of package conn
		default:
			assert.Contains(t, aliases, "packet."+name, "server has no name for it")
		}
	}
	for pkg, s := range below {
		for _, name := range s.errs {
			assert.Contains(t, server.errs, name, "server has no name for it, of package %s", pkg)
		}
	}
	assert.Greater(t, len(server.errs), 8, "errors were looked at")
}
