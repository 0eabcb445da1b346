package frame_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/conn/frame"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// A framed answers each frame with a frame, which says "did " before it.
type framed struct{ conn.Base }

func (framed) OnOpen(c *conn.Conn) error {
	c.SetValue(&frame.Delimiter{Delim: []byte("\r\n.\r\n"), Unterminated: true})
	return nil
}

func (framed) OnData(c *conn.Conn) error {
	d := c.Value().(*frame.Delimiter)
	for f, err := range frame.All(c, d) {
		if err != nil {
			return err
		}
		if err := answer(c, d, f); err != nil {
			return err
		}
	}
	return nil
}

func (framed) OnEOF(c *conn.Conn) error {
	rest, err := c.Peek(-1)
	if err != nil {
		return err
	}
	d := c.Value().(*frame.Delimiter)
	f, _, err := frame.AtEOF(d, rest)
	if err == nil {
		err = answer(c, d, f)
	}
	if err != nil && err != io.EOF {
		return err
	}
	return c.Close()
}

// framedStream is framed as sequential code.
func framedStream(s *conn.Stream) error {
	d := &frame.Delimiter{Delim: []byte("\r\n.\r\n"), Unterminated: true}
	for {
		for f, err := range frame.Each(s, d) {
			if err != nil {
				return err
			}
			if err := answer(s, d, f); err != nil {
				return err
			}
			if len(f) == 0 {
				break // the next loop goes on behind the frame
			}
		}
		if _, err := s.Peek(1); err == io.EOF {
			return nil
		}
	}
}

var framers = map[string]conn.Handler{
	"callbacks":  framed{},
	"sequential": conn.Sequential(func(_ *sched.Context, s *conn.Stream) error { return framedStream(s) }),
	"a task": conn.Sequential(func(cx *sched.Context, s *conn.Stream) error {
		_, err := sched.Await(cx, sched.Go(cx, func(cx *sched.Context) (struct{}, error) {
			return struct{}{}, framedStream(s.Bind(cx))
		}))
		return err
	}),
}

func answer(c io.Writer, d *frame.Delimiter, f []byte) error {
	out, err := d.Append(nil, append([]byte("did "), f...))
	if err == nil {
		_, err = c.Write(out)
	}
	return err
}

func TestFramesOverAConnectionHoweverTheyArrive(t *testing.T) {
	for name, h := range framers {
		t.Run(name, func(t *testing.T) { testFrames(t, h) })
	}
}

func testFrames(t *testing.T, h conn.Handler) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		cfg := conn.Config{}
		cfg.Reactor.Backend = backend
		g, err := conn.NewGroup(cfg, sched.Config{Workers: workers})
		require.NoError(t, err)
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		l, err := g.Listen(ln, h)
		require.NoError(t, err)
		defer func() {
			require.NoError(t, l.Close())
			require.NoError(t, ln.Close())
			ctx, cancel := context.WithTimeout(context.Background(), conntest.Patience)
			defer cancel()
			require.NoError(t, g.Wait(ctx))
			require.NoError(t, g.Close())
		}()
		in := []byte("one\r\n.\r\ntwo\r\n\r\n.\r\n\r\n.\r\nthe last")
		for _, size := range []int{1, 2, 3, 5, 7, len(in)} {
			c, err := net.Dial("tcp", ln.Addr().String())
			require.NoError(t, err)
			require.NoError(t, c.SetDeadline(time.Now().Add(conntest.Patience)))
			for _, p := range cutAt(in, func(i int) bool { return i%size == 0 }) {
				_, err = c.Write(p)
				require.NoError(t, err)
			}
			require.NoError(t, c.(*net.TCPConn).CloseWrite())
			r, d := bufio.NewReader(c), &frame.Delimiter{Delim: []byte("\r\n.\r\n")}
			for _, want := range []string{"did one", "did two\r\n", "did ", "did the last"} {
				f, err := frame.Read(r, d)
				require.NoError(t, err)
				require.Equal(t, want, string(f))
			}
			_, err = frame.Read(r, d)
			require.Equal(t, io.EOF, err)
			require.NoError(t, c.Close())
		}
	})
}
