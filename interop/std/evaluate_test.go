package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// sample has a test that ends a test binary, and tests after and beside it.
const sample = `package sample

import (
	"os"
	"testing"
)

func TestA(t *testing.T) {}

func TestBranches(t *testing.T) {
	t.Run("good", func(t *testing.T) {})
	t.Run("bad", func(t *testing.T) { t.Error("no") })
}

func TestPanics(t *testing.T) { panic("at once") }

func TestPanicsElsewhere(t *testing.T) {
	go panic("on a goroutine")
	select {}
}

func TestExits(t *testing.T) { os.Exit(3) }

func TestParallel(t *testing.T) { t.Parallel() }

func TestSkips(t *testing.T) { t.Skip() }

func TestZ(t *testing.T) {
	if os.Getenv("SUIRO_STD") != "listen" || os.Getenv("SUIRO_BACKEND") != "epoll" {
		t.Error("the environment says otherwise")
	}
}
`

func buildSample(t *testing.T) *binary {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module sample\n", "sample_test.go": sample} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	b := &binary{suite: suite{pkg: "sample"}, dir: dir, file: filepath.Join(dir, "test"),
		all: []string{"TestA", "TestBranches", "TestPanics", "TestPanicsElsewhere", "TestExits", "TestParallel", "TestSkips", "TestZ"}}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", b.file, ".")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return b
}

func TestWhatEndsTheProcessFailsAlone(t *testing.T) {
	b := buildSample(t)
	r, err := b.runAll(t.Context(), "listen", "epoll", nil, io.Discard)
	require.NoError(t, err)
	require.Equal(t, map[string]string{
		"TestA": "pass", "TestBranches": "fail", "TestBranches/good": "pass", "TestBranches/bad": "fail", "TestPanics": "fail",
		"TestPanicsElsewhere": "fail", "TestExits": "fail", "TestParallel": "pass", "TestSkips": "skip", "TestZ": "pass",
	}, r.last)
	require.Contains(t, r.output["TestPanicsElsewhere"], "on a goroutine")

	list, err := parseKnown("listen sample TestBranches - all of it\nlisten sample TestPanics alone yes\nlisten sample TestA - never\n")
	require.NoError(t, err)
	v := evaluate(r, list)
	require.Equal(t, []string{"TestExits", "TestPanicsElsewhere"}, v.unknown)
	require.Equal(t, []known{list[2]}, v.passed)

	r, err = b.runAll(t.Context(), "listen", "epoll", list, io.Discard) // TestPanics is alone from the beginning
	require.NoError(t, err)
	require.Equal(t, v, evaluate(r, list))
}
