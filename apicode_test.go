//go:build !race

package suiro_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var renewAPI = flag.Bool("renew-api", false, "write what the code exports into api/")

// One goroutine a system type-checks the module and what it imports. The race detector would make
// that take a minute and find nothing.
func TestTheListingOfTheAPIIsThatOfTheCode(t *testing.T) {
	all, err := apiOf()
	require.NoError(t, err)
	changelog, err := readFile("CHANGELOG.md")
	require.NoError(t, err)
	stability, err := readFile("docs/stability.md")
	require.NoError(t, err)
	var files []string
	for _, pkg := range public {
		file, lines := apiFile(pkg), all[pkg]
		require.NotEmpty(t, lines, pkg)
		assert.Contains(t, columnOf(stability, "Packages", 0), pkg, "docs/stability.md has no row for the package")
		files = append(files, file)
		recorded, err := linesOf(file)
		require.NoError(t, err)
		removed := without(recorded, lines)
		secret := unmentioned(pkg, removed, unreleased(changelog))
		switch {
		case len(secret) > 0:
			assert.Failf(t, "the code no longer has lines of "+file,
				"name these in backquotes in CHANGELOG.md's section \"## [Unreleased]\", then run make api:\n  %s",
				strings.Join(secret, "\n  "))
		case slices.Equal(lines, recorded):
		case *renewAPI:
			require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644))
		default:
			assert.Failf(t, file+" differs from the code: run make api", "removed:\n  %s\nadded:\n  %s",
				strings.Join(removed, "\n  "), strings.Join(without(lines, recorded), "\n  "))
		}
	}
	assert.LessOrEqual(t, names(all["syncx"])+names(all["chanx"]), 140, "names of syncx and chanx")
	present, err := filepath.Glob("api/*.txt")
	require.NoError(t, err)
	for _, file := range present {
		assert.Contains(t, files, filepath.ToSlash(file), "no public package has this listing")
	}
}

// names is the number of exported names in a listing. The fields and methods within a type are part
// of its name.
func names(listing []string) (n int) {
	for _, line := range listing {
		if !strings.HasPrefix(line, "type ") || !strings.Contains(line, ", ") {
			n++
		}
	}
	return n
}
