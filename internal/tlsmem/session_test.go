package tlsmem

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBothSidesAndVersionsShakeHandsTalkAndSayGoodbye(t *testing.T) {
	for side, client := range map[string]bool{"client": true, "server": false} {
		t.Run(side, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, version uint16) {
				own, theirs, peer := serverConfig(), clientConfig(version), tls.Client
				if client {
					own, theirs, peer = theirs, own, tls.Server
				}
				o := newOwner(t, own, client)
				require.False(t, o.Begun() || o.Complete())
				require.Nil(t, o.State())
				c := peer(o.peer, theirs)
				ended := make(chan error, 1)
				go func() {
					_, err := io.Copy(c, c)
					ended <- errors.Join(err, c.CloseWrite())
				}()
				o.Begin(address, nil, 0)
				require.NoError(t, o.shake())
				require.True(t, o.Begun() && o.Complete())
				require.Equal(t, version, o.State().Version)
				require.Same(t, o.State(), o.State())

				o.send(t, "hello", false)
				got, _ := o.receive(5)
				require.Equal(t, "hello", got)
				require.False(t, o.Ended() || o.Said())
				o.send(t, "bye", true)
				require.True(t, o.Said())
				got, err := o.receive(1 << 10)
				require.Equal(t, "bye", got)
				require.Equal(t, io.EOF, err)
				require.True(t, o.Ended())
				require.NoError(t, <-ended)
			})
		})
	}
}

// A record that arrives byte by byte is read with its last byte, and the Session goes on.
func TestReadGoesOnWhenTheTransportWasDry(t *testing.T) {
	eachVersion(t, func(t *testing.T, version uint16) {
		o, client := handshaken(t, version)
		for range 2 {
			go func() { _, _ = client.Write([]byte("hello")) }()
			record := <-o.arrived
			p := make([]byte, 10)
			for i := range record {
				_, err := o.Read(p)
				require.Equal(t, ErrDry, err)
				o.Supply(record[i : i+1])
				require.Equal(t, 1, o.Supplied())
			}
			n, err := o.Read(p)
			require.NoError(t, err)
			require.Equal(t, "hello", string(p[:n]))
			require.Zero(t, o.Supplied())
		}
	})
}

func TestDryIsATemporaryError(t *testing.T) {
	var err net.Error
	require.ErrorAs(t, ErrDry, &err)
	require.False(t, err.Timeout())
	require.Equal(t, "conn: nothing to decrypt", err.Error())
}

// A damaged record ends the Session: the peer is sent an alert, and nothing after it.
func TestADamagedRecordEndsTheSession(t *testing.T) {
	eachVersion(t, func(t *testing.T, version uint16) {
		o, client := handshaken(t, version)
		go func() { _, _ = client.Write([]byte("hello")) }()
		record := <-o.arrived
		record[len(record)-1] ^= 1
		o.Supply(record)
		for range 2 {
			_, err := o.Read(make([]byte, 10))
			require.ErrorContains(t, err, "bad record MAC")
		}
		require.NotZero(t, o.Unsent())
		alert, err := o.Encrypt([]byte("too late"), false)
		require.Error(t, err)
		o.leaves <- alert
		_, err = client.Read(make([]byte, 1))
		require.ErrorContains(t, err, "bad record MAC")
	})
}

// Goroutines use the tls.Conn of a lent Session, and the task goes on where they stopped.
func TestASessionIsLentAndTakenBack(t *testing.T) {
	eachVersion(t, func(t *testing.T, version uint16) {
		o, client := handshaken(t, version)
		go func() { _, _ = client.Write([]byte("one")) }()
		o.Supply(<-o.arrived)
		over := &lent{Conn: o.wire}
		c, rest := o.Lend(over)
		require.Same(t, over, o.Lent())
		require.NotEmpty(t, rest)
		require.Zero(t, o.Supplied())
		over.first = append(over.first, rest...)
		p := make([]byte, 10)
		n, err := c.Read(p)
		require.NoError(t, err)
		require.Equal(t, "one", string(p[:n]))

		over.writes = make(chan []byte, 10)
		_, err = c.Write([]byte("two"))
		require.NoError(t, err)
		unsent := <-over.writes
		go func() { _, _ = client.Write([]byte("three")) }()
		since := <-o.arrived
		o.TakeBack(since, unsent)
		require.Nil(t, o.Lent())
		clear(since)
		require.Equal(t, len(unsent), o.Unsent())
		got, _ := o.receive(5)
		require.Equal(t, "three", got)
		o.send(t, "four", false)
		_, err = io.ReadFull(client, p[:7])
		require.NoError(t, err)
		require.Equal(t, "twofour", string(p[:7]))
	})
}

// A lent is a connection with bytes that were received before, and whose writes are taken.
type lent struct {
	net.Conn
	first  []byte
	writes chan []byte
}

func (l *lent) Read(p []byte) (int, error) {
	n := copy(p, l.first)
	l.first = l.first[n:]
	return n, nil
}

func (l *lent) Write(p []byte) (int, error) {
	l.writes <- append([]byte(nil), p...)
	return len(p), nil
}

// The deadlines and the end of a tls.Conn are the owner's unless the Session is lent.
func TestOnlyALentTransportHasDeadlinesAndAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, _ := handshaken(t, tls.VersionTLS13)
		tr := (*transport)(&o.Session)
		over, other := net.Pipe()
		require.NoError(t, other.Close())
		calls := []func() error{
			tr.Close,
			func() error { return tr.SetDeadline(time.Now()) },
			func() error { return tr.SetReadDeadline(time.Now()) },
			func() error { return tr.SetWriteDeadline(time.Now()) },
		}
		for _, call := range calls {
			require.NoError(t, call())
		}
		require.Equal(t, address, tr.LocalAddr())
		require.Equal(t, address, tr.RemoteAddr())
		o.Lend(over)
		for _, call := range calls[1:] {
			require.ErrorIs(t, call(), io.ErrClosedPipe)
		}
		require.NoError(t, tr.Close())
		_, err := over.Read(nil)
		require.ErrorIs(t, err, io.ErrClosedPipe)
	})
}

// Functions of a syscall.RawConn get a descriptor, but may not write.
func TestARawConnRefusesToWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOwner(t, serverConfig(), false)
		raw, err := o.tls.NetConn().(syscall.Conn).SyscallConn()
		require.NoError(t, err)
		require.NoError(t, raw.Control(func(fd uintptr) { require.EqualValues(t, 7, fd) }))
		require.NoError(t, raw.Read(func(fd uintptr) bool { return fd == 7 }))
		require.EqualValues(t, 2, o.lends.Load())
		var op *net.OpError
		err = raw.Read(func(uintptr) bool { return false })
		require.ErrorAs(t, err, &op)
		require.Equal(t, "raw-read", op.Op)
		err = raw.Write(func(uintptr) bool { t.Error("it was called"); return true })
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.ErrorAs(t, err, &op)
		require.Equal(t, "raw-write", op.Op)
		require.Equal(t, address, op.Addr)
	})
}
