package conn_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// declaredFlags are the constants of a type of flags, in the order of their bits.
func declaredFlags(t *testing.T, kind string) (names []string) {
	t.Helper()
	files, err := filepath.Glob("../internal/core/*.go")
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("the test runs without the source")
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			if of, ok := g.Specs[0].(*ast.ValueSpec).Type.(*ast.Ident); !ok || of.Name != kind {
				continue
			}
			for _, s := range g.Specs {
				name := s.(*ast.ValueSpec).Names[0].Name
				names = append(names, strings.ToLower(name[:1])+name[1:])
			}
		}
	}
	return names
}

func TestEachFlagPrintsItsName(t *testing.T) {
	life, reading := conn.FlagStrings()
	for kind, bits := range map[string][]string{"Flags": life, "ReadFlags": reading} {
		declared := declaredFlags(t, kind)
		require.NotEmpty(t, declared)
		require.Equal(t, declared, bits[:len(declared)])
		for _, unused := range bits[len(declared):] {
			require.True(t, strings.HasPrefix(unused, "bit "), unused)
		}
	}
}

func TestTheReportOfAHangNamesFlags(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		printed := make(chan string, 1)
		f.listen("tcp", "127.0.0.1:0", funcs{data: func(c *conn.Conn) error {
			err := c.PauseRead()
			printed <- f.report() // from here it may look at the flags
			return err
		}})
		write(t, f.dial(), "x")
		require.Regexp(t, `flags opened\S* reading \S*userPaused`, conntest.Receive(t, printed))
	})
}
