package conntest

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// hasUnix reports whether there are Unix sockets here: Wine 8 has none.
var hasUnix = sync.OnceValue(func() bool {
	dir, err := os.MkdirTemp("", "suiro")
	if err != nil {
		return false
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ln, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		return false
	}
	_ = ln.Close()
	return true
})

// Need skips the test if there is no such network here: "unix" may be missing.
func Need(t testing.TB, network string) {
	t.Helper()
	if network == "unix" && !hasUnix() {
		t.Skip("no Unix sockets here (Wine 8 has none)")
	}
}

// Networks are those that there are here.
func Networks(t testing.TB, networks ...string) []string {
	t.Helper()
	if i := slices.Index(networks, "unix"); i >= 0 && !hasUnix() {
		t.Log("without Unix sockets, which are not there (Wine 8 has none)")
		return slices.Delete(networks, i, i+1)
	}
	return networks
}
