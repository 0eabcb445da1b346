package conn_test

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// Bytes that pass without a run of either task are traffic on both ends.
func TestLittleThatPassesASpliceOneWayExtendsTheTimeOfBothEnds(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		for _, back := range []bool{false, true} {
			conntest.Punctual(t, 150*time.Millisecond, func(limit time.Duration, alive func()) error {
				p := newProxy(t, backend, workers, func(cfg *conn.Config) { cfg.IdleTimeout, cfg.WriteTimeout = limit, limit })
				from, to := p.pair()
				if back {
					from, to = to, from
				}
				for began := time.Now(); time.Since(began) < 3*limit; time.Sleep(limit / 15) {
					if _, err := io.WriteString(from, "hello"); err != nil {
						return err
					}
					if _, err := io.ReadFull(to, make([]byte, 5)); err != nil {
						return fmt.Errorf("after %v: %w", time.Since(began), err)
					}
					alive()
				}
				requireResetOnly(t, to)
				require.NoError(t, from.Close())
				require.NoError(t, to.Close())
				for _, err := range p.ended(1) {
					require.ErrorIs(t, err, os.ErrDeadlineExceeded)
				}
				return nil
			})
		}
	})
}

func TestNothingPassesASpliceWhileAnEndIsPaused(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := newProxy(t, backend, workers)
		client, origin := p.pair()
		require.NoError(t, roundTripThrough(client, origin))
		a, _ := p.splices(1)[0].Handles()
		for range 10 {
			done := make(chan struct{})
			require.NoError(t, a.Do(func(c *conn.Conn) { _ = c.PauseRead(); close(done) }))
			conntest.Receive(t, done)
			p.rounds(1)
			for range 5 {
				write(t, client, "hello")
				p.rounds(1)
			}
			require.NoError(t, origin.SetReadDeadline(time.Now().Add(2*time.Millisecond)))
			n, err := origin.Read(make([]byte, 100))
			require.ErrorIs(t, err, os.ErrDeadlineExceeded, "%d bytes came", n)
			require.NoError(t, origin.SetReadDeadline(time.Now().Add(conntest.Patience)))
			require.NoError(t, a.Do(func(c *conn.Conn) { _ = c.ResumeRead() }))
			require.Equal(t, "hellohellohellohellohello", string(read(t, origin, 25)))
		}
	})
}

// Bytes from the other end must not leave after the FIN of the end that closes.
func TestAnEndOfASpliceThatClosesAmidMessagesEndsInOrder(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		const rounds, pairs = 5, 8
		for range rounds {
			p := newProxy(t, backend, workers)
			var all []func() error
			for range pairs {
				client, origin := p.pair()
				all = append(all, func() error {
					for {
						if _, err := io.WriteString(client, "hello"); err != nil {
							return nil // its end is wanted
						}
					}
				}, func() error {
					_, _ = io.Copy(io.Discard, client)
					return client.Close()
				}, func() error {
					_, err := io.Copy(io.Discard, origin)
					_ = origin.Close()
					return err
				})
			}
			spliced := p.splices(pairs)
			all = append(all, func() error {
				p.rounds(3)
				for _, s := range spliced {
					_, b := s.Handles()
					_ = b.Close()
				}
				return nil
			})
			together(t, all...)
			for _, err := range p.ended(pairs) {
				require.NotErrorIs(t, err, syscall.EPIPE)
			}
		}
	})
}
