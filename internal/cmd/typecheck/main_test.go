package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestErrorsOfOtherPlatformsAreFound(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":         "module planted\n\ngo 1.26\n",
		"a.go":           "package planted\n",
		"b_windows.go":   "package planted\n\nvar n int = true\n",
		"c_darwin.go":    "package planted\n\nvar n int = size\n",
		"d_amd64.go":     "package planted\n\nconst size = 1\n",
		"e_test.go":      "package planted\n\nvar lost = gone\n",
		"f.go":           "//go:build tagged\n\npackage planted\n\nvar m = missing\n",
		"g_openbsd.go":   "package planted\n\nimport \"planted/nowhere\"\n\nvar _ = nowhere.X\n",
		"sub/sub.go":     "package sub\n\nimport _ \"planted\"\n",
		"sub/external.s": "",
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	}
	t.Chdir(dir)
	test := "gone"
	for platform, says := range map[string][]string{
		"linux/amd64":        {test},
		"windows/amd64":      {test, "cannot use true"},
		"darwin/amd64":       {test},
		"darwin/arm64":       {test, "undefined: size"},
		"linux/amd64,tagged": {test, "undefined: missing"},
		"openbsd/amd64":      {"nowhere"},
		"linux":              {"use GOOS/GOARCH"},
	} {
		_, errs := check(platform)
		for _, want := range says {
			require.ErrorContains(t, errors.Join(errs...), want, platform)
		}
		if platform == "linux/amd64" {
			require.Len(t, errs, 1)
		}
	}
}
