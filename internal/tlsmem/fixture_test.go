package tlsmem

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

var versions = map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}

// certificate makes one that clients accept, since clientConfig does not verify it.
var certificate = sync.OnceValue(func() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "tlsmem"}, NotAfter: time.Now().AddDate(100, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
})

func serverConfig() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{certificate()}}
}

func clientConfig(version uint16) *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, MinVersion: version, MaxVersion: version}
}

// An owner is a connection whose peer is at the other end of a pipe. The test is its task.
// Each method takes the Session's lock, so that a call under that lock is a deadlock.
type owner struct {
	Session
	peer     net.Conn
	wire     net.Conn
	arrived  chan []byte // from peer; closed by its end
	leaves   chan []byte
	done     chan error
	readsOn  atomic.Int32
	panicked atomic.Pointer[sched.PanicError]
	lends    atomic.Int32
}

var address = &net.UnixAddr{Name: "peer", Net: "unix"}

func (o *owner) Send(p []byte) error {
	o.Holds()
	o.leaves <- p
	return nil
}

func (o *owner) ReadOn() {
	o.Holds()
	o.readsOn.Add(1)
}

func (o *owner) Panicked(p *sched.PanicError) {
	o.Holds()
	o.panicked.Store(p)
}

func (o *owner) Done(err error) {
	o.Holds()
	o.done <- err
}

func (o *owner) Grow(p []byte, n int) []byte { return slices.Grow(p, n) }

func (o *owner) RemoteAddr() net.Addr { return address }

func (o *owner) WithFD(f func(fd uintptr) bool) error {
	if o.lends.Add(1); !f(7) {
		return errors.ErrUnsupported
	}
	return nil
}

// newOwner is for a bubble: it ends with the test's.
func newOwner(t *testing.T, cfg *tls.Config, client bool) *owner {
	o := &owner{arrived: make(chan []byte), leaves: make(chan []byte, 100), done: make(chan error, 1)}
	o.peer, o.wire = net.Pipe()
	o.Init(o, cfg, client)
	over := make(chan struct{})
	go func() {
		defer close(o.arrived)
		for {
			p := make([]byte, 1<<20)
			n, err := o.wire.Read(p)
			if n > 0 {
				select {
				case o.arrived <- p[:n]:
				case <-over:
				}
			}
			if err != nil {
				return
			}
		}
	}()
	go func() {
		for p := range o.leaves {
			_, _ = o.wire.Write(p)
		}
	}()
	t.Cleanup(func() {
		o.GiveUp(net.ErrClosed)
		close(over)
		_ = o.wire.Close()
		_ = o.peer.Close()
		close(o.leaves)
	})
	return o
}

// shake feeds the handshake all that arrives until it is done.
func (o *owner) shake() error {
	arrived := o.arrived
	for {
		select {
		case p, ok := <-arrived:
			if !ok {
				arrived = nil
				o.End(io.EOF)
				continue
			}
			o.Feed(p)
		case err := <-o.done:
			if err == nil {
				o.Ready(nil, nil)
			}
			return err
		}
	}
}

// send encrypts and sends to the peer.
func (o *owner) send(t *testing.T, plain string, bye bool) {
	t.Helper()
	p, err := o.Encrypt([]byte(plain), bye)
	require.NoError(t, err)
	require.Zero(t, o.Unsent())
	o.leaves <- p
}

// receive decrypts until there are n bytes, or an error.
func (o *owner) receive(n int) (string, error) {
	var got []byte
	for {
		p := make([]byte, 1<<10)
		m, err := o.Read(p)
		got = append(got, p[:m]...)
		if len(got) >= n || err != nil && err != ErrDry {
			return string(got), err
		}
		if err == ErrDry {
			o.Supply(<-o.arrived)
		}
	}
}

// handshaken is a server's Session and its client, which have shaken hands.
func handshaken(t *testing.T, version uint16) (*owner, *tls.Conn) {
	t.Helper()
	o := newOwner(t, serverConfig(), false)
	o.Begin(address, nil, 0)
	client := tls.Client(o.peer, clientConfig(version))
	shaken := make(chan error, 1)
	go func() { shaken <- client.Handshake() }()
	require.NoError(t, o.shake())
	require.NoError(t, <-shaken)
	return o, client
}

// hello is a ClientHello.
func hello(t *testing.T, version uint16) []byte {
	t.Helper()
	a, b := net.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- tls.Client(a, clientConfig(version)).Handshake() }()
	p := make([]byte, 16<<10)
	n, err := b.Read(p)
	require.NoError(t, err)
	require.NoError(t, b.Close())
	require.Error(t, <-ended)
	return p[:n]
}

// eachVersion runs f in a bubble for each version of TLS.
func eachVersion(t *testing.T, f func(t *testing.T, version uint16)) {
	for name, version := range versions {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, version) })
		})
	}
}
