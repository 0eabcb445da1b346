package conntest

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDealtTestsAreAllThereOnce(t *testing.T) {
	tests := []string{"a", "b", "c", "d", "e"}
	require.Equal(t, [][]string{{"a", "d"}, {"b", "e"}, {"c"}}, deal(tests, 3))
	require.Equal(t, [][]string{{"a"}, {"b"}, {"c"}, {"d"}, {"e"}}, deal(tests, 8))
}

// TestOfAPart is run by the others, in a process of its own.
func TestOfAPart(t *testing.T) {
	if os.Getenv(shareEnv) == "part" && os.Getenv("SUIRO_CONNTEST_FAIL") != "" {
		t.Fatal("as planted")
	}
}

func TestAPartTellsWhetherItsTestsPass(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	all, err := listed(exe)
	require.NoError(t, err)
	require.Contains(t, all, "TestOfAPart")

	text, err := runPart(t.Context(), exe, []string{"TestOfAPart"}, time.Now())
	require.NoError(t, err, "%s", text)
	require.NotRegexp(t, `PASS\n$`, string(text), "each part would end the whole")

	t.Setenv("SUIRO_CONNTEST_FAIL", "yes")
	text, err = runPart(t.Context(), exe, []string{"TestOfAPart"}, time.Now())
	require.Error(t, err)
	require.Contains(t, string(text), "as planted")
	require.Contains(t, string(text), "--- FAIL: TestOfAPart")
}
