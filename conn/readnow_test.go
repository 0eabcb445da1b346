package conn_test

import (
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// The receiver changes with the amount of data, and the handler does different things meanwhile.
// Every byte comes once and in order, and so does the end.
func TestNothingIsLostWhenMuchAndLittleComeByTurns(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		for name, data := range map[string]func(*conn.Conn) error{
			"all":   echo,
			"some":  func(c *conn.Conn) error { return echoSome(c, c.Buffered()/2+1) },
			"pause": pausingEcho,
		} {
			t.Run(name, func(t *testing.T) {
				f := serve(t, backend, workers, funcs{data: data, eof: func(c *conn.Conn) error {
					for c.Buffered() > 0 {
						if err := echoSome(c, c.Buffered()); err != nil {
							return err
						}
					}
					return c.Close()
				}})
				f.each(8, func(_ int, c net.Conn) error {
					sent := 0
					go func() {
						for round := range 6 {
							for range 12 {
								n := 100
								if round%2 == 0 {
									n = 60 << 10
								}
								if _, err := c.Write(noise[sent%1000:][:n]); err != nil {
									return
								}
								sent += n
							}
						}
						_ = c.(*net.TCPConn).CloseWrite()
					}()
					want := 0
					for round := range 6 {
						for range 12 {
							n := 100
							if round%2 == 0 {
								n = 60 << 10
							}
							got := make([]byte, n)
							if _, err := io.ReadFull(c, got); err != nil {
								return err
							}
							if string(got) != string(noise[want%1000:][:n]) {
								return errTest
							}
							want += n
						}
					}
					_, err := io.ReadFull(c, make([]byte, 1))
					if err == io.EOF {
						err = nil
					}
					return err
				})
			})
		}
	})
}

func echoSome(c *conn.Conn, n int) error {
	p, err := c.Next(min(n, c.Buffered()))
	if err != nil {
		return err
	}
	_, err = c.Write(p)
	return err
}

func pausingEcho(c *conn.Conn) error {
	if err := echo(c); err != nil {
		return err
	}
	h := c.Handle()
	go func() { _ = h.Do(func(c *conn.Conn) { _ = c.ResumeRead() }) }()
	return c.PauseRead()
}

// A reset is reported as one, whether the reactor or the task receives.
func TestAResetAmongLargeMessagesIsTold(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		closed, tell := ends(1)
		f := serve(t, backend, workers, funcs{data: echo, close: tell})
		c := f.dial()
		for range 20 {
			write(t, c, noise[:60<<10])
			read(t, c, 60<<10)
		}
		reset(c)
		require.ErrorIs(t, conntest.Receive(t, closed), syscall.ECONNRESET)
	})
}

// The handler closes while large messages come: the peer's end is waited for, what it still
// says is dropped, and that costs nothing while it says nothing.
func TestACloseAmongLargeMessagesWaitsForThePeersEnd(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		for name, end := range map[string]func(*conn.Conn) error{
			"close":     (*conn.Conn).Close,
			"closeRead": (*conn.Conn).CloseRead,
		} {
			t.Run(name, func(t *testing.T) {
				closed, tell := ends(1)
				left := 20 * 10 << 10
				f := serve(t, backend, workers, funcs{close: tell, data: func(c *conn.Conn) error {
					if left -= c.Buffered(); left > 0 {
						return echo(c)
					}
					_, _ = c.Discard(c.Buffered())
					return end(c)
				}}, func(cfg *conn.Config) { cfg.LingerTimeout = time.Hour })
				c := f.dial()
				for range 19 {
					write(t, c, noise[:10<<10])
					read(t, c, 10<<10)
				}
				for range 3 {
					write(t, c, noise[:10<<10])
				}
				if name == "close" {
					_, err := io.Copy(io.Discard, c) // a part of the last one may have come alone
					require.NoError(t, err)
				}
				runs := f.Runtime().Stats().Total.Polled
				time.Sleep(20 * time.Millisecond) // the time for some thousand runs, if they went on
				require.Less(t, f.Runtime().Stats().Total.Polled-runs, uint64(50))
				require.NoError(t, c.Close())
				if name == "close" {
					require.NoError(t, conntest.Receive(t, closed))
				}
			})
		}
	})
}
