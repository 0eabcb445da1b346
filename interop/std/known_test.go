package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheListIsWellFormed(t *testing.T) {
	all, err := parseKnown(knownText)
	require.NoError(t, err)
	require.NotEmpty(t, all)
	seen := map[string]bool{}
	for _, k := range all {
		for _, mode := range k.modes {
			var has bool
			for _, s := range suites {
				for _, m := range s.modes {
					has = has || s.pkg == k.pkg && m == mode
				}
			}
			require.True(t, has, "%s %s: no suite has that mode", mode, k.pkg)
			for _, backend := range append(k.backends, "") {
				line := mode + backend + " " + k.pkg + " " + k.test
				require.False(t, seen[line] && (backend != "" || k.backends == nil), "twice: %s", line)
				seen[line] = true
			}
		}
	}
}

func TestALineOfTheList(t *testing.T) {
	all, err := parseKnown("# why\n\nlisten,dial+epoll net TestA/b alone It asserts *net.TCPConn\nhttp net/http TestC - Other words\n")
	require.NoError(t, err)
	require.Equal(t, []known{
		{modes: []string{"listen", "dial"}, backends: []string{"epoll"}, pkg: "net", test: "TestA/b", alone: true, reason: "It asserts *net.TCPConn"},
		{modes: []string{"http"}, pkg: "net/http", test: "TestC", reason: "Other words"},
	}, all)
	a := all[0]
	require.True(t, a.of("net", "dial", "epoll"))
	require.False(t, a.of("net", "dial", "io_uring"))
	require.False(t, a.of("net", "http", "epoll"))
	require.True(t, a.covers("TestA/b/c"))
	require.False(t, a.covers("TestA/bc"))
	require.False(t, a.covers("TestA"))

	for _, bad := range []string{"dial net TestA -", "dial net TestA It asserts *net.TCPConn"} {
		_, err := parseKnown(bad)
		require.Error(t, err, bad)
	}
}
