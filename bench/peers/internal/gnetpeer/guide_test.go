package gnetpeer

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// exported are the names that users of a package see: of types, functions, methods, values.
func exported(t *testing.T, dir string) []string {
	t.Helper()
	names := map[string]bool{}
	add := func(id *ast.Ident) {
		if id.IsExported() {
			names[id.Name] = true
		}
	}
	fset := token.NewFileSet()
	files, err := fs.Glob(os.DirFS(dir), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, dir+"/"+name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil || receiverIsExported(d.Recv.List[0].Type) {
					add(d.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.ValueSpec:
						for _, id := range spec.Names {
							add(id)
						}
					case *ast.TypeSpec:
						add(spec.Name)
						if in, ok := spec.Type.(*ast.InterfaceType); ok && spec.Name.IsExported() {
							for _, m := range in.Methods.List {
								for _, id := range m.Names {
									add(id)
								}
							}
						}
					}
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func receiverIsExported(typ ast.Expr) bool {
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && id.IsExported()
}

// notIn are the names that a text does not have.
func notIn(text string, names []string) (missing []string) {
	has := map[string]bool{}
	for _, word := range regexp.MustCompile(`\w+`).FindAllString(text, -1) {
		has[word] = true
	}
	for _, name := range names {
		if !has[name] {
			missing = append(missing, name)
		}
	}
	return missing
}

func TestTheGuideHasEachNameOfGnet(t *testing.T) {
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/panjf2000/gnet/v2").Output()
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile("../../../../docs/from-gnet.md")
	if err != nil {
		t.Fatal(err)
	}
	names := exported(t, strings.TrimSpace(string(dir)))
	if len(names) < 100 {
		t.Errorf("only %d names were found", len(names))
	}
	if missing := notIn(string(guide), names); len(missing) > 0 {
		t.Errorf("docs/from-gnet.md does not have: %v", missing)
	}
}

func TestANameThatIsNotInATextIsFound(t *testing.T) {
	missing := notIn("| `Dial` | `WithTicker(true)` |", []string{"Dial", "DialContext", "WithTicker"})
	if len(missing) != 1 || missing[0] != "DialContext" {
		t.Error(missing)
	}
}
