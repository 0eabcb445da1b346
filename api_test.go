package suiro_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// apiFile is the file with a package's listing.
func apiFile(pkg string) string { return "api/" + strings.ReplaceAll(pkg, "/", "-") + ".txt" }

// linesOf reads a listing. A file that does not exist has no lines.
func linesOf(file string) ([]string, error) {
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return strings.FieldsFunc(strings.ReplaceAll(string(text), "\r\n", "\n"), func(r rune) bool { return r == '\n' }), nil
}

// without lists the lines of all that are not among others.
func without(all, others []string) (left []string) {
	for _, line := range all {
		if !slices.Contains(others, line) {
			left = append(left, line)
		}
	}
	return left
}

// unreleased is the changelog's section for the next version: the first one, if it has no date.
func unreleased(changelog string) string {
	_, section, _ := strings.Cut(changelog, "\n## ")
	section, _, _ = strings.Cut(section, "\n## ")
	if heading, _, _ := strings.Cut(section, "\n"); strings.Contains(heading, "] - 2") {
		return ""
	}
	return section
}

var (
	declares = regexp.MustCompile(`^(?:const|var|func|type) (\w+)`)
	hasField = regexp.MustCompile(`^type (\w+)(?:\[.*\])? (?:struct|interface), (?:embedded (?:.*\.)?)?\*?(\w+)`)
	isMethod = regexp.MustCompile(`^method \(\*?(\w+)\) (\w+)`)
)

// namesOf are the names by which the changelog can mention a line: conn.Conn.Close, or conn.Conn
// for the type with all that it has.
func namesOf(pkg, line string) []string {
	prefix := path.Base(pkg) + "."
	for _, member := range []*regexp.Regexp{hasField, isMethod} {
		if m := member.FindStringSubmatch(line); m != nil {
			return []string{prefix + m[1] + "." + m[2], prefix + m[1]}
		}
	}
	if m := declares.FindStringSubmatch(line); m != nil {
		return []string{prefix + m[1]}
	}
	return []string{prefix + line}
}

// unmentioned lists the names of removed lines that the section of the changelog does not have in
// backquotes.
func unmentioned(pkg string, removed []string, section string) (names []string) {
	mentioned := quotedIn(section)
	for _, line := range removed {
		if all := namesOf(pkg, line); !slices.ContainsFunc(all, func(name string) bool { return slices.Contains(mentioned, name) }) {
			names = append(names, all[0])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// apiIn is the listing of one file.
func apiIn(t *testing.T, source string) []string {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", "package p\n"+source, parser.SkipObjectResolution)
	require.NoError(t, err)
	config := types.Config{IgnoreFuncBodies: true}
	pkg, err := config.Check("example.org/p", fset, []*ast.File{file}, nil)
	require.NoError(t, err)
	return listing(pkg)
}

func TestTheListingHasALineForEachExportedName(t *testing.T) {
	require.Equal(t, []string{
		"const Max Size = 3",
		"func New[K comparable, V any](map[K]V, ...func(int) error) (*Tree[K, V], error)",
		"method (*T) Close() error",
		"method (T) Len() int",
		"method (T) Wake()",
		"type Alias = *T",
		"type I interface, A(chan<- int, <-chan int) [2]bool",
		"type I interface, unexported methods",
		"type Size int",
		"type T struct",
		"type T struct, Buf []byte",
		"type T struct, embedded Size",
		"type Tree struct, Left *Tree[K, V]",
		"type Tree[K comparable, V any] struct",
		"var Err error",
	}, apiIn(t, `
		type Size int
		const Max Size = 3
		const low = 2
		var Err, other error
		type base struct { Buf []byte; n int }
		func (base) Wake()
		type T struct { base; Size; open bool }
		func (t T) Len() (n int)
		func (t *T) Close() error
		func (t *T) close()
		type I interface { A(in chan<- int, out <-chan int) [2]bool; b() }
		type Alias = *T
		type Tree[K comparable, V any] struct { Left *Tree[K, V] }
		func New[K comparable, V any](m map[K]V, f ...func(n int) (err error)) (*Tree[K, V], error) { return nil, nil }
	`), "names of parameters and unexported names are not part of it")
}

func TestALineThatSomeSystemsLackNamesThoseThatHaveIt(t *testing.T) {
	both := []string{"func A()", "func B()"}
	require.Equal(t, []string{"func A()", "func B() // linux, darwin, freebsd", "func C() // windows"}, merge(map[string][]string{
		"linux/amd64": both, "darwin/arm64": both, "freebsd/amd64": both, "windows/amd64": {"func A()", "func C()"},
	}))
}

func TestARemovedMethodMustBeInTheChangelog(t *testing.T) {
	const changelog = "# Changelog\n\n## [Unreleased]\n\n- `conn.Conn.Shut` is `Close`; `conn.Old`.\n\n## [0.1.0]\n\n- `conn.Conn.Late`\n"
	before := apiIn(t, "type Inner int\ntype Conn struct{ Fd int; Inner }\nfunc (*Conn) Shut()\nfunc (*Conn) Late()\nfunc (*Conn) Len() int\n"+
		"type Old struct { A int }\nfunc (Old) M()")
	now := apiIn(t, "type Inner int\ntype Conn struct{}\nfunc (*Conn) Len() uint\nfunc (*Conn) Close()")
	require.Equal(t, []string{"conn.Conn.Fd", "conn.Conn.Inner", "conn.Conn.Late", "conn.Conn.Len"},
		unmentioned("conn", without(before, now), unreleased(changelog)),
		"fields that are gone, one of an older version's section, one with another result")
	released := strings.Replace(changelog, "[Unreleased]", "[0.2.0] - 2027-01-01", 1)
	require.Empty(t, unreleased(released), "what is released cannot have the next version's changes")
}
