package server_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/server"
)

// large answers the first bytes with a megabyte.
type large struct {
	server.Base
	answer []byte
}

func (l large) OnData(c *server.Conn) error {
	_, err := c.Discard(-1)
	if err == nil && c.Value() == nil {
		c.SetValue(true)
		_, err = c.Write(l.answer)
	}
	return err
}

// Under faults. Bytes that were written before the shutdown arrive, whatever errors the
// kernel returns meanwhile, and then the FIN. New connections are refused. No resources are left.
func TestShutdownLosesNothingUnderFaults(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		calls := []faults.Call{faults.Accept, faults.Recv, faults.Send}
		rules := slices.Concat(
			[]faults.Rule{{Call: faults.Send, Every: 3}}, // short
			conntest.Fail(syscall.EINTR, 0.1, append(calls, faults.Wait, faults.WakeRead, faults.WakeWrite)...),
			conntest.Fail(syscall.EAGAIN, 0.1, faults.Recv, faults.Send, faults.WakeRead),
			conntest.Fail(syscall.ENOBUFS, 0.1, faults.Recv, faults.Send),
			conntest.Fail(syscall.ECONNABORTED, 0.2, faults.Accept),
			conntest.Fail(syscall.EINVAL, 0.5, faults.SyncCancel),
			conntest.Fail(syscall.EMFILE, 0.5, faults.Timer),
			conntest.Fail(0, 0.3, faults.Accept, faults.Recv),
		)
		if backend == "io_uring" {
			rules = append(rules, conntest.Fail(syscall.EBUSY, 0.1, faults.Wait)...)
		}
		plan := conntest.Faults(t, rules...)
		h := large{answer: bytes.Repeat([]byte("0123456789abcdef"), 1<<16)}
		srv := &server.Server{Handler: h, Backend: backend, Workers: workers}
		faults.Into(&srv.ConnConfig.Reactor, plan)
		srv.ConnConfig.LingerTimeout = conntest.Patience
		s := run(t, srv)

		const n = 12
		var begun sync.WaitGroup
		begun.Add(n)
		over := make(chan error, n)
		for range n {
			c := s.dial()
			go func() {
				over <- func() error {
					first := make([]byte, 1)
					_, err := io.WriteString(c, "?")
					if err == nil {
						_, err = io.ReadFull(c, first)
					}
					begun.Done()
					if err != nil {
						return err
					}
					rest, err := io.ReadAll(c)
					if err == nil && !bytes.Equal(append(first, rest...), h.answer) {
						err = errors.New("the answer came back changed")
					}
					return errors.Join(err, c.Close())
				}()
			}()
		}
		begun.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), conntest.Patience)
		defer cancel()
		require.NoError(t, s.Shutdown(ctx), "%v", plan)
		for range n {
			require.NoError(t, conntest.Receive(t, over), "%v", plan)
		}
		_, err := net.DialTimeout("tcp", s.addr.String(), time.Second)
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		require.Equal(t, server.ErrServerClosed, conntest.Receive(t, s.served))
		require.Positive(t, plan.Injected(faults.Send, 0), "%v", plan)
	})
}
