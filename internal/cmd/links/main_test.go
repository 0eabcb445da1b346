package main

import (
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func siteOf(index string) fstest.MapFS {
	return fstest.MapFS{
		"index.html":      {Data: []byte(index)},
		"page/index.html": {Data: []byte(`<h2 id="part">x</h2><a href="../">up</a><img src="../a.png">`)},
		"a.png":           {},
		"empty/b.png":     {},
	}
}

func TestLinksThatLeadSomewherePass(t *testing.T) {
	n, broken, err := check(siteOf(`<p id="here"></p><a href="page/"></a><a href="page/#part"></a><a href="/page"></a>
		<a href="#here"></a><a href="/"></a><a href="https://example.com/none#x"></a><a href="mailto:a@example.com"></a>`))
	require.NoError(t, err)
	require.Empty(t, broken)
	require.Equal(t, 2, n)
}

func TestBrokenLinksAreFound(t *testing.T) {
	_, broken, err := check(siteOf(`<a href="none/"></a><a href="page/#none"></a><a href="#none"></a><img src="page/a.png">
		<a href="empty/"></a><a href="a.png#none"></a><a href="::"></a>`))
	require.NoError(t, err)
	slices.Sort(broken)
	require.Equal(t, []string{
		"index.html: #none: no such element",
		"index.html: ::: parse \"::\": missing protocol scheme",
		"index.html: a.png#none: no such element",
		"index.html: empty/: no such page",
		"index.html: none/: no such file",
		"index.html: page/#none: no such element",
		"index.html: page/a.png: no such file",
	}, broken)
}

func TestASiteWithoutPagesIsAnError(t *testing.T) {
	_, _, err := check(fstest.MapFS{"a.png": {}})
	require.ErrorIs(t, err, fs.ErrNotExist)
}
