package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/examples/proxy/internal/status"
	"github.com/suiro-go/suiro/internal/conntest"
)

// That the proxy has no descriptor left says nothing of its upstream.
func TestALocalFailureDoesNotCountAgainstAnUpstream(t *testing.T) {
	for _, backend := range []string{"epoll", "io_uring"} {
		p := conntest.Run(t, program, "-listen", "tcp://127.0.0.1:0", "-upstream", "tcp://"+conntest.Serve(t, conntest.Echo).String(), "-admin", "127.0.0.1:0", "-backend", backend)
		addr := p.Line("listening on tcp://")
		url := p.Line("admin on ")
		snapshot := func() (s status.Snapshot) {
			res, err := http.Get(url + "status.json")
			require.NoError(t, err)
			defer res.Body.Close()
			require.NoError(t, json.NewDecoder(res.Body).Decode(&s))
			return s
		}
		try := func() error {
			c, err := net.DialTimeout("tcp", addr, conntest.Patience)
			if err != nil {
				return err
			}
			t.Cleanup(func() { _ = c.Close() })
			_ = c.SetDeadline(time.Now().Add(time.Second))
			return exchange(c, "?")
		}
		require.NoError(t, try())
		http.DefaultClient.CloseIdleConnections()
		var limit unix.Rlimit
		require.NoError(t, unix.Prlimit(p.Cmd.Process.Pid, unix.RLIMIT_NOFILE, nil, &limit))
		for resets := 0; resets < 4; {
			full := limit
			full.Cur = next(p) + 1 // one is left, for the client's side
			require.NoError(t, unix.Prlimit(p.Cmd.Process.Pid, unix.RLIMIT_NOFILE, &full, nil))
			if err := try(); errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF) {
				resets++
			} // else something else has changed the number, and the connection was not accepted, or got through
		}
		require.NoError(t, unix.Prlimit(p.Cmd.Process.Pid, unix.RLIMIT_NOFILE, &limit, nil))
		s := snapshot()
		require.GreaterOrEqual(t, s.Routes[0].Failed, uint64(1), "the test has made dials fail")
		require.Zero(t, s.Routes[0].Upstreams[0].Failures, fmt.Sprint(s.Routes[0].Upstreams[0]))
		require.True(t, s.Routes[0].Upstreams[0].Healthy)
		http.DefaultClient.CloseIdleConnections()
		require.NoError(t, p.Cmd.Process.Signal(syscall.SIGTERM))
	}
}
