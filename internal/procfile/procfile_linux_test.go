package procfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/procfile"
)

func TestReadIsTheFilesContents(t *testing.T) {
	long := filepath.Join(t.TempDir(), "long")
	require.NoError(t, os.WriteFile(long, []byte(strings.Repeat("0123456789", 5000)), 0o600))
	for _, name := range []string{"/proc/self/cmdline", long} {
		want, err := os.ReadFile(name)
		require.NoError(t, err)
		got, err := procfile.Read(name)
		require.NoError(t, err)
		require.True(t, string(want) == got, name)
	}
}

func TestReadIsBounded(t *testing.T) {
	name := filepath.Join(t.TempDir(), "long")
	require.NoError(t, os.WriteFile(name, []byte(strings.Repeat("x", 2<<20)), 0o600))
	got, err := procfile.Read(name)
	require.NoError(t, err)
	require.True(t, got == strings.Repeat("x", 1<<20), len(got))
}

func TestAFileThatIsMissingIsAnError(t *testing.T) {
	_, err := procfile.Read(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = procfile.Read(t.TempDir())
	require.Error(t, err, "a folder")
}
