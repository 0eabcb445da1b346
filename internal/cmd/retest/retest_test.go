package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// planted is a module whose package has one sound test, and the given code.
func planted(t *testing.T, code string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module planted\n\ngo 1.26\n",
		"planted_test.go": "package planted\n\nimport (\n\t\"os\"\n\t\"testing\"\n\t\"time\"\n)\n\n" +
			"var _, _ = os.Getenv, time.Now\n\nfunc TestSound(t *testing.T) {}\n\n" + code,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	t.Chdir(dir)
	t.Setenv("GOWORK", "off")
}

// verdictOf runs the tests of the planted module. It returns whether they pass, the printed text,
// and the content of build/flakes.
func verdictOf(t *testing.T, flags ...string) (ok bool, printed, flakes string) {
	t.Helper()
	var out strings.Builder
	ok, err := run(&out, "planted", append(flags, "-vet=off", "./..."))
	require.NoError(t, err)
	t.Log(out.String())
	text, err := os.ReadFile("build/flakes")
	if err != nil {
		require.ErrorIs(t, err, os.ErrNotExist)
	}
	return ok, out.String(), string(text)
}

func TestASoundPackagePasses(t *testing.T) {
	planted(t, "")
	ok, printed, flakes := verdictOf(t)
	require.True(t, ok)
	require.Contains(t, printed, "1 tests passed, 0 of them alone, 0 failed, 0 flakes")
	require.Empty(t, flakes)
}

func TestATestThatFailsAlwaysFails(t *testing.T) {
	planted(t, `func TestBroken(t *testing.T) { t.Error("two and two are five") }`)
	ok, printed, flakes := verdictOf(t)
	require.False(t, ok)
	require.Contains(t, printed, "FAILED: planted TestBroken")
	require.Contains(t, printed, "two and two are five")
	require.Empty(t, flakes)
}

// once is a test that fails the first time it runs in its folder.
const once = `func TestOnce(t *testing.T) {
	t.Run("sub", func(t *testing.T) {
		if _, err := os.Stat("ran"); err != nil {
			os.WriteFile("ran", nil, 0o666)
			t.Fatal("the first time")
		}
	})
}`

func TestATestThatFailsOnceIsAFlake(t *testing.T) {
	planted(t, once)
	ok, printed, flakes := verdictOf(t)
	require.True(t, ok)
	require.Contains(t, printed, "2 tests passed, 0 of them alone, 0 failed, 1 flakes")
	require.Regexp(t, `^FLAKE: planted TestOnce failed, and passed 3 times alone: .*the first time`, flakes)
}

func TestATestThatFailsEveryOtherTimeFails(t *testing.T) {
	planted(t, `func TestEveryOther(t *testing.T) {
	if os.Remove("ran") != nil {
		os.WriteFile("ran", nil, 0o666)
		t.Fatal("one time of two")
	}
}`)
	ok, printed, flakes := verdictOf(t)
	require.False(t, ok)
	require.Contains(t, printed, "FAILED: planted TestEveryOther")
	require.Contains(t, printed, "and alone, 3 times")
	require.Empty(t, flakes)
}

func TestMoreFailuresThanMayBeLuckFail(t *testing.T) {
	var all strings.Builder
	for _, n := range []string{"A", "B", "C", "D", "E", "F"} {
		all.WriteString(strings.ReplaceAll(once, "TestOnce", "Test"+n) + "\n")
	}
	planted(t, strings.ReplaceAll(all.String(), `"ran"`, `t.Name()[4:5]`))
	ok, printed, flakes := verdictOf(t)
	require.False(t, ok)
	require.Contains(t, printed, "6 tests failed: too many to run each again")
	require.Empty(t, flakes)
}

func TestAHangFails(t *testing.T) {
	planted(t, `func TestHang(t *testing.T) {
	if _, err := os.Stat("ran"); err != nil {
		os.WriteFile("ran", nil, 0o666)
		time.Sleep(time.Hour)
	}
}`)
	ok, printed, flakes := verdictOf(t, "-timeout", "1s")
	require.False(t, ok)
	require.Contains(t, printed, "panic: test timed out after 1s")
	require.Empty(t, flakes)
}

func TestAPanicFailsThoughItHappensOnce(t *testing.T) {
	for where, code := range map[string]string{
		"in the test":    `panic("planted")`,
		"in a goroutine": `go func() { panic("planted") }(); time.Sleep(time.Hour)`,
	} {
		t.Run(where, func(t *testing.T) {
			planted(t, strings.Replace(once, `t.Fatal("the first time")`, code, 1))
			ok, printed, flakes := verdictOf(t)
			require.False(t, ok)
			require.Contains(t, printed, "panic: planted")
			require.Empty(t, flakes)
		})
	}
}

func TestALeakFailsThoughItHappensOnce(t *testing.T) {
	planted(t, strings.Replace(once, "the first time", "goroutines left: 3, had 2", 1))
	ok, printed, flakes := verdictOf(t)
	require.False(t, ok)
	require.Contains(t, printed, "goroutines left: 3, had 2")
	require.Empty(t, flakes)
}

func TestARaceFailsThoughItHappensOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the standard library for the race detector")
	}
	if os.Getenv("CGO_ENABLED") != "1" {
		t.Skip("the race detector needs a C compiler: set CGO_ENABLED=1")
	}
	planted(t, strings.Replace(once, `t.Fatal("the first time")`, `n, done := 0, make(chan bool)
			go func() { n++; close(done) }()
			n++
			<-done`, 1))
	ok, printed, flakes := verdictOf(t, "-race")
	require.False(t, ok)
	require.Contains(t, printed, "WARNING: DATA RACE")
	require.Empty(t, flakes)
}

// The race detector may report a race while no test runs, in an example for instance. Then the
// package fails although all its tests have passed.
func TestTheReportOfARaceOutsideOfTestsIsShown(t *testing.T) {
	planted(t, `func TestMain(m *testing.M) { m.Run(); os.Exit(1) }

func TestNoisy(t *testing.T) {
	os.Stdout.WriteString("==================\nWARNING: DATA RACE\nWrite by a leftover\n==================\n")
}`)
	ok, printed, _ := verdictOf(t, "-v")
	require.False(t, ok)
	require.Contains(t, printed, "a race during TestNoisy")
	require.Contains(t, printed, "Write by a leftover")
}

func TestAPackageThatDoesNotCompileFails(t *testing.T) {
	planted(t, "var n int = true")
	ok, printed, _ := verdictOf(t)
	require.False(t, ok)
	require.Contains(t, printed, "cannot use true")
}

func TestAPackageThatFailsWithoutATestFails(t *testing.T) {
	planted(t, "func TestMain(m *testing.M) { m.Run(); os.Exit(1) }")
	ok, printed, _ := verdictOf(t)
	require.False(t, ok)
	require.Contains(t, printed, "planted: fails, but no test of it does")
}

func TestNoTestsAtAllFail(t *testing.T) {
	planted(t, "")
	ok, printed, _ := verdictOf(t, "-run", "TestNothing")
	require.False(t, ok)
	require.Contains(t, printed, "no test has passed")
}

func TestTestsThatWantToRunAlone(t *testing.T) {
	const alone = `func TestAlone(t *testing.T) {
	if os.Getenv("SUIRO_ALONE") == "later" {
		t.Skip("it runs alone, later")
	}
	FAIL
}`
	t.Run("run once, afterward", func(t *testing.T) {
		planted(t, strings.Replace(alone, "FAIL", "", 1))
		ok, printed, flakes := verdictOf(t)
		require.True(t, ok)
		require.Contains(t, printed, "2 tests passed, 1 of them alone, 0 failed, 0 flakes")
		require.Empty(t, flakes)
	})
	t.Run("may fail", func(t *testing.T) {
		planted(t, strings.Replace(alone, "FAIL", `t.Fatal("alone, too")`, 1))
		ok, printed, flakes := verdictOf(t)
		require.False(t, ok)
		require.Contains(t, printed, "FAILED: planted TestAlone")
		require.Contains(t, printed, "alone, too")
		require.Empty(t, flakes)
	})
}

func TestLinesThatAreNoEventsAreErrorsOfTheBuild(t *testing.T) {
	r, err := read(io.MultiReader(strings.NewReader("no module\n"), strings.NewReader(`{"Action":"fail","Package":"p"}`)))
	require.NoError(t, err)
	r.failed = true
	v := judge(r, newResults())
	require.False(t, v.ok())
	require.Contains(t, strings.Join(v.grave, "\n"), "no module")
}
