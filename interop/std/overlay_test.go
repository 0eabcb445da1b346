package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The edits fit the installed release of Go: make std is not part of the gate, this is.
func TestTheOverlayFits(t *testing.T) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	name, err := writeOverlay(strings.TrimSpace(string(goroot)), t.TempDir(), suites[0])
	require.NoError(t, err)
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	var overlay struct{ Replace map[string]string }
	require.NoError(t, json.Unmarshal(b, &overlay))
	require.Len(t, overlay.Replace, 7+len(asInterface))
	for of, by := range overlay.Replace {
		if by == "" {
			require.FileExists(t, of)
			continue
		}
		text, err := os.ReadFile(by)
		require.NoError(t, err)
		require.Contains(t, strings.ToLower(string(text)), "suiro", of)
	}
}
