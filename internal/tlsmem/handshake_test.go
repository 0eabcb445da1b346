package tlsmem

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/semaphore"
	"github.com/suiro-go/suiro/sched"
)

func TestARecordIsWhole(t *testing.T) {
	for p, whole := range map[string]bool{
		"":                         false,
		"G":                        true,
		"\x16":                     false,
		"\x16\x03\x01\x00":         false,
		"\x16\x03\x01\x00\x02a":    false,
		"\x16\x03\x01\x00\x02ab":   true,
		"\x16\x03\x01\x00\x02abc":  true,
		"\x16\x03\x01\x40\x00":     false,
		"\x16\x03\x01\x40\x01":     true,
		"\x15\x03\x01\x00\x02\x01": true,
	} {
		require.Equal(t, whole, Whole([]byte(p)), "%q", p)
	}
}

// Read first decrypts the bytes that arrived behind the handshake, fed or not. Encrypt first
// returns the ciphertext that the owner has not sent.
func TestReadyHandsOverWhatIsLeft(t *testing.T) {
	eachVersion(t, func(t *testing.T, version uint16) {
		o := newOwner(t, serverConfig(), false)
		o.Begin(address, nil, 0)
		client := tls.Client(o.peer, clientConfig(version))
		go func() {
			_, _ = client.Write([]byte("fed"))
			_, _ = client.Write([]byte("left"))
		}()
		for len(o.done) == 0 {
			o.Feed(<-o.arrived)
			synctest.Wait()
		}
		require.NoError(t, <-o.done)
		o.Feed(<-o.arrived)
		last := <-o.arrived
		o.Ready(last, []byte("unsent"))
		clear(last)
		p := make([]byte, 7)
		for i := 0; i < len(p); {
			n, err := o.Read(p[i:])
			require.NoError(t, err)
			i += n
		}
		require.Equal(t, "fedleft", string(p))
		require.Equal(t, 6, o.Unsent())
		sealed, err := o.Encrypt([]byte("x"), false)
		require.NoError(t, err)
		require.Equal(t, "unsent", string(sealed[:6]))
		require.Greater(t, len(sealed), 6)
	})
}

// A silent peer does not hold the semaphore. Its handshake ends when it is given up.
func TestASilentPeerKeepsNobodyWaiting(t *testing.T) {
	eachVersion(t, func(t *testing.T, version uint16) {
		var one semaphore.FIFO
		first := hello(t, version)
		var silent []*owner
		for i := range 3 {
			o := newOwner(t, serverConfig(), false)
			require.Zero(t, o.Holds())
			o.Feed(first[:len(first)-i]) // nothing more arrives
			o.Begin(address, &one, 1)
			require.GreaterOrEqual(t, o.Holds(), cost)
			synctest.Wait()
			silent = append(silent, o)
		}
		served := newOwner(t, serverConfig(), false)
		go func() { _ = tls.Client(served.peer, clientConfig(version)).Handshake() }()
		served.Begin(address, &one, 1)
		require.NoError(t, served.shake())
		require.Zero(t, served.Holds())
		for _, o := range silent {
			require.Empty(t, o.done)
			o.GiveUp(os.ErrDeadlineExceeded)
			require.Error(t, <-o.done)
		}
		served.GiveUp(os.ErrDeadlineExceeded) // it is complete
	})
}

// block is a server's configuration whose handshakes compute until release is closed.
func block(entered chan<- bool, release <-chan bool) *tls.Config {
	cfg := serverConfig()
	cfg.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		entered <- true
		<-release
		return nil, nil
	}
	return cfg
}

// While the semaphore is held, a handshake that has not begun can be given up without a call of
// Done, and a reset ends it. A handshake that waits to go on ends with an error.
func TestHandshakesWaitForTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var one semaphore.FIFO
		entered, release := make(chan bool, 1), make(chan bool)
		first := hello(t, tls.VersionTLS13)
		half := newOwner(t, serverConfig(), false)
		half.Feed(first)
		half.Begin(address, &one, 1)
		synctest.Wait() // it waits for its peer
		computing := newOwner(t, block(entered, release), false)
		computing.Feed(first)
		computing.Begin(address, &one, 1)
		<-entered
		half.Feed([]byte("\x14\x03\x03\x00\x01\x01"))
		synctest.Wait()
		require.Equal(t, 1, one.Waiting())
		waiting := newOwner(t, serverConfig(), false)
		waiting.Begin(address, &one, 1)
		require.Equal(t, 2, one.Waiting())
		require.False(t, waiting.Started())
		require.True(t, half.Started())
		half.End(net.ErrClosed)
		synctest.Wait()
		require.Empty(t, half.done, "it waits for the semaphore")
		waiting.GiveUp(net.ErrClosed)
		require.Equal(t, 1, one.Waiting())
		half.GiveUp(os.ErrDeadlineExceeded)
		require.Error(t, <-half.done)
		require.Zero(t, one.Waiting())
		close(release)
		computing.GiveUp(os.ErrDeadlineExceeded)
		require.Error(t, <-computing.done)
		synctest.Wait()
		require.Empty(t, waiting.done)
		require.Empty(t, waiting.leaves)
	})
}

func TestGarbageIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOwner(t, serverConfig(), false)
		o.Feed([]byte("GET / HTTP/1.1\r\n\r\n"))
		o.Begin(address, nil, 0)
		var no tls.RecordHeaderError
		require.ErrorAs(t, <-o.done, &no)
		require.NotNil(t, no.Conn)
		require.Equal(t, "GET /", string(no.RecordHeader[:]))
	})
}

func TestATruncatedHandshakeEndsUnexpectedly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := hello(t, tls.VersionTLS13)
		for n, want := range map[int]error{
			0:              io.EOF, // crypto/tls says so between two records
			1:              io.ErrUnexpectedEOF,
			len(first) - 1: io.ErrUnexpectedEOF,
			len(first):     io.EOF,
		} {
			o := newOwner(t, serverConfig(), false)
			o.Begin(address, nil, 0)
			o.Feed(first[:n])
			o.End(io.EOF)
			o.End(net.ErrClosed) // the first reason counts
			require.ErrorIs(t, <-o.done, want)
		}
	})
}

// A reset does not hide the alert that was received before it.
func TestAnAlertOutlivesAReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOwner(t, serverConfig(), false)
		require.False(t, o.Started(), "it has not begun")
		o.Begin(address, nil, 0)
		o.Feed(hello(t, tls.VersionTLS12))
		synctest.Wait()
		o.Feed([]byte("\x15\x03\x03\x00\x02\x02\x2a"))
		require.True(t, o.Started())
		o.End(net.ErrClosed)
		require.ErrorContains(t, <-o.done, "remote error: tls: bad certificate")

		o, _ = handshaken(t, tls.VersionTLS13)
		require.False(t, o.Started(), "it is complete")
	})
}

// A handshake that was fed much calls ReadOn once, when it has read all and needs more.
func TestReadingGoesOnWhenAHandshakeHasReadAllItWasFed(t *testing.T) {
	eachVersion(t, func(t *testing.T, version uint16) {
		long := serverConfig()
		chain := certificate().Certificate
		for len(chain)*len(chain[0]) < 2*MaxFed {
			chain = append(chain, chain[0])
		}
		long.Certificates[0].Certificate = chain
		o := newOwner(t, clientConfig(version), true)
		go func() { _ = tls.Server(o.peer, long).Handshake() }()
		o.Begin(address, nil, 0)
		var flight []byte
		for len(flight) < 2*MaxFed {
			flight = append(flight, <-o.arrived...)
		}
		most := len(flight) - 100
		require.True(t, o.Feed(flight[:most]))
		require.False(t, o.Feed(flight[most:most+10]), "it was told")
		synctest.Wait()
		require.EqualValues(t, 1, o.readsOn.Load())
		o.Feed(flight[most+10 : most+20])
		synctest.Wait()
		require.EqualValues(t, 1, o.readsOn.Load())
		o.Feed(flight[most+20:])
		require.NoError(t, o.shake())
	})
}

// A function of the tls.Config can end its own handshake only, and releases the semaphore.
func TestFunctionsThatPanicExitOrWaitEndTheirHandshake(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	synctest.Test(t, func(t *testing.T) {
		var one semaphore.FIFO
		shake := func(f func(h *tls.ClientHelloInfo)) *owner {
			cfg := serverConfig()
			cfg.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
				f(h)
				return nil, h.Context().Err()
			}
			o := newOwner(t, cfg, false)
			o.Feed(hello(t, tls.VersionTLS13))
			o.Begin(address, &one, 1)
			synctest.Wait()
			return o
		}
		o := shake(func(*tls.ClientHelloInfo) { panic("no") })
		err := <-o.done
		var p *sched.PanicError
		require.ErrorAs(t, err, &p)
		require.Equal(t, "no", p.Value)
		require.Same(t, p, o.panicked.Load())

		o = shake(func(*tls.ClientHelloInfo) { panic(nil) })
		require.ErrorAs(t, <-o.done, &p)
		require.Same(t, p, o.panicked.Load())

		o = shake(func(*tls.ClientHelloInfo) { runtime.Goexit() })
		require.Equal(t, sched.ErrGoexit, <-o.done)

		o = shake(func(h *tls.ClientHelloInfo) { <-h.Context().Done() })
		o.GiveUp(errors.New("given up"))
		require.Error(t, <-o.done)
		synctest.Wait()
		require.True(t, one.Acquire(new(semaphore.Waiter), 1), "the semaphore was not released")
	})
}

// A handshake that is given up before its goroutine has begun to compute does not begin.
func TestAHandshakeThatIsGivenUpAtOnceSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOwner(t, clientConfig(tls.VersionTLS13), true)
		o.GiveUp(os.ErrDeadlineExceeded)
		o.Begin(address, nil, 0)
		require.ErrorIs(t, <-o.done, net.ErrClosed)
		require.Empty(t, o.leaves)
	})
}
