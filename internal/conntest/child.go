package conntest

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// childEnv names the test that a child is for.
const childEnv = "SUIRO_CONNTEST_CHILD"

// InChild runs f in a process of its own, which may give up rights and resources. The child is the
// test binary with this test alone, so the parent does not call f. A skip in the child is one of
// the test. prepare, if not nil, changes the command.
func InChild(t *testing.T, prepare func(*exec.Cmd), f func(t *testing.T)) {
	t.Helper()
	const ended = "the child has run its test"
	if os.Getenv(childEnv) == t.Name() {
		f(t)
		t.Log(ended)
		return
	}
	parts := strings.Split(t.Name(), "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), exe, "-test.v", "-test.count=1", "-test.run="+strings.Join(parts, "/"))
	if testing.Short() {
		cmd.Args = append(cmd.Args, "-test.short")
	}
	cmd.Env = append(os.Environ(), childEnv+"="+t.Name())
	if prepare != nil {
		prepare(cmd)
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	if !strings.Contains(string(out), ended) {
		require.Contains(t, string(out), "--- SKIP", "the child ran no test")
		t.Skipf("in the child: %s", out)
	}
}
