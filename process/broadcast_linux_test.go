//go:build !race

package process_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/process"
)

// broadcastFrom is the environment variable with the server's address, in the process that has the
// clients.
const broadcastFrom = "SUIRO_TEST_BROADCAST_FROM"

const listeners, broadcasts = 10_000, 5

// published is one message of a broadcast.
func published(i int) []byte { return bytes.Repeat([]byte{byte('a' + i)}, 4<<10) }

// All connections get each message as the bytes that were published: none has a copy.
func TestABroadcastToTenThousandConnectionsCopiesNothing(t *testing.T) {
	if from := os.Getenv(broadcastFrom); from != "" {
		require.NoError(t, listen(from))
		return
	}
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	if testing.Short() || limit.Cur < listeners+1000 {
		t.Skipf("it opens %d sockets in each of two processes; the limit is %d", listeners, limit.Cur)
	}
	s := newSystem(t, 2, process.Config{})
	h := &session{}
	addr := serveSessions(t, s, h, 2)
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience.Limit)
	defer cancel()
	clients := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+t.Name()+"$")
	clients.Env = append(os.Environ(), broadcastFrom+"="+addr)
	var said bytes.Buffer
	clients.Stdout, clients.Stderr = &said, &said
	require.NoError(t, clients.Start())
	for range listeners {
		select {
		case <-h.started:
		case <-ctx.Done():
			_ = clients.Wait()
			t.Fatalf("%d connections have begun: %s", s.Len(), &said)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range broadcasts {
		require.Equal(t, listeners, s.Publish(t.Context(), "all", published(i)))
	}
	require.NoError(t, clients.Wait(), "%s", &said)
	runtime.ReadMemStats(&after)
	const all = listeners * broadcasts * 4 << 10
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(all/4))
	eventually(t, "all processes have ended", func() bool { return s.Len() == 0 && len(s.Members("all")) == 0 })
}

// listen is the clients: each receives all messages.
func listen(from string) error {
	var all []net.Conn
	for range listeners {
		c, err := net.Dial("tcp", from)
		if err != nil {
			return err
		}
		defer c.Close()
		all = append(all, c)
	}
	var want []byte
	for i := range broadcasts {
		want = append(want, published(i)...)
	}
	got := make([]byte, len(want))
	for _, c := range all {
		if _, err := io.ReadFull(c, got); err != nil {
			return err
		}
		if !bytes.Equal(got, want) {
			return errors.New("a connection got other bytes")
		}
	}
	return nil
}
