package gateway

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/examples/http/h1"
	"github.com/suiro-go/suiro/examples/proxy/internal/route"
)

// linger is how long a goroutine waits for a connection's next request before it gives the
// connection back: to come back costs about half of a small request.
const linger = 100 * time.Millisecond

// A client is a connection with requests on it, and its goroutine's, but where it says otherwise.
type client struct {
	h       *idle // by which the connection has come
	now     *idle // of the request's configuration; nil: h
	handle  conn.Handle
	route   *route.Route
	socket  *conn.Socket
	conn    net.Conn // over TLS, perhaps
	covered bool
	remote  net.Addr
	place   *place

	gone  context.Context // ends when the client does
	leave context.CancelFunc

	buf    *buffer // received bytes that are not consumed
	parser h1.Parser
	req    h1.Request
}

// limits are those of a proxy: bodies are passed on, not kept.
var limits = &h1.Limits{Body: -1}

// A buffer has received bytes. Those from at on are not consumed.
type buffer struct {
	room []byte
	at   int
	end  int
}

const bufferSize = 32 << 10

var buffers = sync.Pool{New: func() any { return &buffer{room: make([]byte, bufferSize)} }}

func getBuffer() *buffer { return buffers.Get().(*buffer) }

func putBuffer(b *buffer) {
	if len(b.room) == bufferSize {
		b.at, b.end = 0, 0
		buffers.Put(b)
	}
}

func (b *buffer) bytes() []byte { return b.room[b.at:b.end] }

func (b *buffer) discard(n int) {
	if b.at += n; b.at == b.end {
		b.at, b.end = 0, 0
	}
}

// keep makes p the received bytes.
func (b *buffer) keep(p []byte) {
	if len(p) > len(b.room) {
		b.room = make([]byte, len(p))
	}
	b.at, b.end = 0, copy(b.room, p)
}

// fill reads some more. There is room for what h1 may want of a head.
func (b *buffer) fill(r io.Reader) error {
	if b.end == len(b.room) {
		if b.at == 0 {
			b.room = append(b.room, make([]byte, len(b.room))...)
		} else {
			b.end = copy(b.room, b.bytes())
			b.at = 0
		}
	}
	n, err := r.Read(b.room[b.end:])
	b.end += n
	if n > 0 {
		return nil
	}
	return err
}

// serve is the goroutine: request after request, until the connection ends or is idle.
func (k *client) serve() {
	k.parser.Limits, k.parser.KeepTrailer = limits, true
	defer k.place.leave()
	defer func() { putBuffer(k.buf) }()
	defer k.watch()()
	for first := true; ; first = false {
		if !first && k.rest() {
			return
		}
		again, err := k.request()
		var verdict *h1.Error
		switch {
		case errors.As(err, &verdict):
			k.refuse(verdict)
			return
		case err != nil:
			end{k.conn, k.handle}.closeByReset(err)
			return
		case !again:
			k.end()
			return
		}
	}
}

// rest waits a little for the next request. It reports whether the connection is
// somebody else's now.
func (k *client) rest() bool {
	if len(k.buf.bytes()) > 0 {
		return false
	}
	_ = k.conn.SetReadDeadline(time.Now().Add(linger))
	err := k.buf.fill(k.conn)
	switch {
	case err == nil && k.h.newest() != nil:
		return false
	case !errors.Is(err, os.ErrDeadlineExceeded):
		k.end()
		return true
	}
	_ = k.conn.SetDeadline(time.Time{})
	return k.socket.Return(k.h.back)
}

// request is one request, and its answer. It reports whether another may follow.
func (k *client) request() (again bool, err error) {
	_ = k.conn.SetReadDeadline(time.Now().Add(k.route.Header()))
	for {
		n, err := k.parser.ParseHead(k.buf.bytes(), &k.req)
		if err != nil {
			return false, err
		}
		if n > 0 {
			k.renew()
			k.place.requests++
			x := exchange{client: k, began: time.Now()}
			x.request(&k.req, k.remote, k.covered)
			if most := k.route.MostRequests(); most > 0 && k.place.requests >= most || k.h.ending() {
				x.keepAlive = false
			}
			k.buf.discard(n)
			k.route.Requests.Add(1)
			again, err := x.run()
			x.log(err)
			return again && !k.h.ending(), err
		}
		if err := k.buf.fill(k.conn); err != nil {
			if len(k.buf.bytes()) == 0 {
				return false, nil // it went, or came back, without a word
			}
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return false, &h1.Error{Status: 408, Reason: "the head has not come in time"}
			}
			return false, err
		}
	}
}

// refuse answers a request that must not be passed on. Further bytes of the client are read for a
// while, since a reset could overtake the answer.
func (k *client) refuse(verdict *h1.Error) {
	_ = k.conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := k.conn.Write(h1.AppendError(nil, verdict, date())); err == nil {
		k.end()
		return
	}
	k.abort()
}

// end closes in order. Further bytes of the client are read for a while, since a reset could
// overtake the answer. From a client that never stops little is read; then the end only waits.
func (k *client) end() {
	until := time.Now().Add(time.Second)
	_ = k.conn.SetDeadline(until)
	if c, ok := k.conn.(interface{ CloseWrite() error }); ok && c.CloseWrite() == nil {
		var err error
		for left := unwanted; err == nil && left > 0; left -= k.buf.end {
			k.buf.at, k.buf.end = 0, 0
			err = k.buf.fill(k.conn)
		}
		if err == nil {
			wait := time.NewTimer(time.Until(until))
			defer wait.Stop()
			select {
			case <-wait.C:
			case <-k.gone.Done():
			}
		}
	}
	_ = k.conn.Close()
}

func (k *client) abort() {
	_ = k.socket.SetLinger(0)
	_ = k.socket.Close()
}
