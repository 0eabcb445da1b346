//go:build unix

package upstream

import (
	"context"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/examples/proxy/internal/config"
)

// A name server that cannot be asked for want of a descriptor says nothing of the upstream either.
func TestANameThatIsNotResolvedForWantOfDescriptorsDoesNotCount(t *testing.T) {
	u := set(t, new(Registry), &config.Route{}, 1).All()[0]
	resolver := net.Resolver{PreferGo: true}
	resolve := func() error {
		_, err := resolver.LookupHost(context.Background(), "upstream.invalid")
		return err
	}
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	few := limit
	few.Cur = 64
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few))
	var all []*os.File
	f, err := os.Open(os.DevNull)
	for ; err == nil; f, err = os.Open(os.DevNull) {
		all = append(all, f)
	}
	failure := resolve()
	u.Failed(failure)
	charged := u.State().Failures
	for _, f := range all {
		_ = f.Close()
	}
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
	require.Error(t, failure)
	require.Zero(t, charged, failure)
	u.Failed(failure)
	require.EqualValues(t, 1, u.State().Failures, "now there are descriptors")
}
