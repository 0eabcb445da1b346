package conn_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// A splitter sends bytes in pieces of a size that its user sets.
type splitter struct {
	net.Conn
	size int
}

func (s *splitter) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = s.Conn.Write(p[n : n+min(s.size, len(p)-n)])
		n += m
	}
	return n, err
}

// readInPlace reads n bytes by all methods that return them in place, and compares them with p.
func readInPlace(s *conn.Stream, p []byte, r *rand.Rand) error {
	for len(p) > 0 {
		n := 1 + r.IntN(min(100, len(p)))
		var got []byte
		var err error
		switch r.IntN(4) {
		case 0:
			got, err = s.Next(n)
		case 1:
			if got, err = s.Peek(n); err == nil && bytes.Equal(got, p[:n]) {
				_, err = s.Discard(n)
			}
		case 2:
			if got, err = s.Peek(-1); err == nil {
				n = min(n, len(got))
				got, err = s.Next(n)
			}
		default:
			got = make([]byte, n)
			_, err = s.ReadFull(got)
		}
		if err != nil || !bytes.Equal(got, p[:len(got)]) || len(got) != n {
			return fmt.Errorf("%q instead of %q: %w", got, p[:n], err)
		}
		p = p[n:]
	}
	return nil
}

// Records of TLS are split at each place, also within their headers.
func TestBytesInPlaceAreRightOverTLSHoweverRecordsAreSplit(t *testing.T) {
	const sizes, each, rest = 60, 200, 50_000
	cert, pool := conntest.Certificate(t)
	use := func(s *conn.Stream) error {
		r := rand.New(rand.NewPCG(1, 2))
		for i := range sizes {
			if err := readInPlace(s, noise[i*each:(i+1)*each], r); err != nil {
				return fmt.Errorf("pieces of %d bytes: %w", 1+i, err)
			}
			if _, err := s.Write([]byte("x")); err != nil {
				return err
			}
		}
		var all bytes.Buffer
		n, err := s.WriteTo(&all)
		if err == nil && (n != rest || !bytes.Equal(all.Bytes(), noise[sizes*each:sizes*each+rest])) {
			err = fmt.Errorf("WriteTo wrote %d bytes, or others", n)
		}
		return err
	}
	conntest.Backends(t, func(t *testing.T, backend string) {
		for _, bound := range []bool{false, true} {
			t.Run(fmt.Sprintf("bound %v", bound), func(t *testing.T) {
				done := make(chan error, 1)
				f := newFixture(t, backend, 2)
				ln := conntest.Listen(t)
				cfg := conn.TLSConfig{Config: &tls.Config{Certificates: []tls.Certificate{cert}}}
				l, err := f.Listen(ln, conn.ServeTLS(cfg, conn.Sequential(func(cx *sched.Context, s *conn.Stream) error {
					var err error
					if bound {
						h := sched.Go(cx, func(cx *sched.Context) (struct{}, error) { return struct{}{}, use(s.Bind(cx)) })
						_, err = sched.Await(cx, h)
					} else {
						err = use(s)
					}
					done <- err
					return err
				})))
				require.NoError(t, err)
				defer l.Close()
				f.addr = l.Addr()
				pieces := &splitter{f.dial(), 1 << 20}
				c := tls.Client(pieces, &tls.Config{RootCAs: pool, ServerName: "localhost"})
				require.NoError(t, c.Handshake())
				for i := range sizes {
					pieces.size = 1 + i
					for p := noise[i*each : (i+1)*each]; len(p) > 0; { // some records
						n := min(len(p), 1+7*(i%11))
						_, err := c.Write(p[:n])
						require.NoError(t, err)
						p = p[n:]
					}
					_, err := io.ReadFull(c, make([]byte, 1))
					require.NoError(t, err)
				}
				pieces.size = 1000
				_, err = c.Write(noise[sizes*each : sizes*each+rest])
				require.NoError(t, err)
				require.NoError(t, c.CloseWrite())
				require.NoError(t, conntest.Receive(t, done))
			})
		}
	})
}
