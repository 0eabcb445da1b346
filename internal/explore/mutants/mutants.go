// Package mutants checks that a test finds the mistakes that it is meant to find. It makes a
// mistake in a copy of a source file and expects the test to fail.
package mutants

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/suiro-go/suiro/internal/explore"
)

// A Mutant is a mistake made in a source file of the package under test, or of a package that it
// imports.
type Mutant struct {
	file, tests string
	edits       []string // in pairs: the old text, the new text
}

// In makes a mutant of a file, whose path is relative to the current directory. edits are pairs: a
// text that occurs exactly once in the file, and its replacement. tests is a regular expression for
// -run of the tests that must find the mistake.
func In(file, tests string, edits ...string) Mutant {
	if len(edits) == 0 || len(edits)%2 != 0 {
		panic("mutants: edits come in pairs")
	}
	return Mutant{file, tests, edits}
}

// File is the file's name.
func (m Mutant) File() string { return m.file }

// MustAllBeCaught runs MustBeCaught for each mutant, in parallel and under its name. A short run
// skips it, since each mutant compiles the package.
func MustAllBeCaught(t *testing.T, all map[string]Mutant) {
	if testing.Short() {
		t.Skip("compiles the package for each mutant")
	}
	for name, m := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // no mutant here uses a shim
			m.MustBeCaught(t)
		})
	}
}

// MustBeCaught fails the test unless the explorer, in one of the mutant's tests, finds a schedule
// that fails. It compiles the package's tests once more.
func (m Mutant) MustBeCaught(t *testing.T) {
	t.Helper()
	child := exec.CommandContext(t.Context(), "go", "test", "-tags", "explore", "-vet=off", "-count=1", "-failfast",
		"-ldflags=-s -w", "-overlay", m.write(t), "-timeout", "60s", "-run", m.tests, ".")
	out, err := child.CombinedOutput()
	if err == nil || !strings.Contains(string(out), explore.Failed) {
		t.Fatalf("not caught: %v\n%s", err, out)
	}
	t.Log(firstFailure(string(out)))
}

// write makes the mistake in a copy, and returns the overlay file for go test. The overlay also
// removes the files of the external test package, which need most of the compiler's time.
func (m Mutant) write(t *testing.T) (overlay string) {
	t.Helper()
	source, err := os.ReadFile(m.file)
	must(t, err)
	text := string(source)
	for e := range slices.Chunk(m.edits, 2) {
		if n := strings.Count(text, e[0]); n != 1 {
			t.Fatalf("%s has %d times, not once: %s", m.file, n, e[0])
		}
		text = strings.Replace(text, e[0], e[1], 1)
	}
	dir := t.TempDir()
	mutated, overlay := filepath.Join(dir, filepath.Base(m.file)), filepath.Join(dir, "overlay.json")
	must(t, os.WriteFile(mutated, []byte(text), 0o600))
	here, err := os.Getwd()
	must(t, err)
	replace := map[string]string{filepath.Join(here, m.file): mutated}
	tests, err := filepath.Glob("*_test.go")
	must(t, err)
	for _, name := range tests {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly)
		must(t, err)
		if strings.HasSuffix(file.Name.Name, "_test") {
			replace[filepath.Join(here, name)] = ""
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	must(t, err)
	must(t, os.WriteFile(overlay, list, 0o600))
	return overlay
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func firstFailure(out string) string {
	test, after, _ := strings.Cut(out, explore.Failed)
	test, _, _ = strings.Cut(test[max(0, strings.LastIndex(test, "Test")):], " ")
	line, _, _ := strings.Cut(after, "\n")
	return test + ": " + line
}
