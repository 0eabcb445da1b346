package gateway

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/examples/http/h1"
	"github.com/suiro-go/suiro/examples/proxy/internal/route"
	"github.com/suiro-go/suiro/examples/proxy/internal/upstream"
)

// An exchange is a request and its answer.
type exchange struct {
	client *client
	began  time.Time

	method, target string
	head           []byte   // as the upstream is to see it, but for its name: see headFor
	hosted         bool     // the client has named a host
	names          []string // the fields that concerned the connection alone
	body           bool
	expects        bool // the client waits with its body (100-continue)
	wish           wish
	minor          int
	keepAlive      bool
	upgrade        string

	up     *upstream.Upstream
	alone  func() bool // takes back that the client's end resets the upstream's connection
	over   atomic.Bool // the answer has ended, so little of the body still goes on
	enough atomic.Bool // nothing of it does
	begun  atomic.Bool // an answer has
	status int
	wrote  int64 // bytes of the answer's body
}

// request copies the needed parts of a head, whose memory goes.
func (x *exchange) request(r *h1.Request, remote net.Addr, covered bool) {
	x.method, x.target = string(r.Method), string(r.Target)
	x.body, x.minor, x.keepAlive = r.HasBody(), r.Minor, r.KeepAlive
	x.expects = x.body && r.Minor > 0 && all(r, "expect") != "" // HTTP/1.0 knows no 100
	x.upgrade = upgradeOf(r)
	x.names = listed(r)
	x.head = appendRequest(nil, r, x.client.filter(), x.names, remote, covered, x.upgrade)
	x.hosted = len(r.Host) > 0
}

// headFor is the head for an upstream. It has the upstream's name if the client gave none.
func (x *exchange) headFor(u *upstream.Upstream) []byte {
	if x.hosted {
		return x.head
	}
	line, rest, _ := bytes.Cut(x.head, []byte("\r\nHost: "))
	return slices.Concat(line, []byte("\r\nHost: "+u.Host()), rest)
}

// run asks upstreams until one answers, and passes the answer on. It reports whether the client's
// connection may have another request. An error is a *h1.Error as long as nothing has been
// answered.
func (x *exchange) run() (again bool, err error) {
	k := x.client
	if x.method == "CONNECT" {
		return false, &h1.Error{Status: 501, Reason: "CONNECT is not offered here"}
	}
	verdict := &h1.Error{Status: 502, Reason: "no upstream answers"}
	var tried []*upstream.Upstream
	for range k.route.Tries() {
		if k.gone.Err() != nil {
			return false, errClientGone
		}
		u, err := k.route.Set.Pick(route.Source(k.remote), tried)
		if err != nil {
			break
		}
		if len(tried) > 0 {
			k.route.Retried.Add(1)
		}
		tried = append(tried, u)
		x.up = u
		again, err := x.try(u)
		u.End()
		var failed *unanswered
		if !errors.As(err, &failed) {
			return again, err
		}
		u.Failed(err)
		verdict = &h1.Error{Status: failed.status, Reason: failed.reason}
		if failed.asked && !x.repeatable() {
			break
		}
	}
	k.route.Failed.Add(1)
	return false, verdict
}

// try asks one upstream. An *unanswered says why that has come to nothing.
func (x *exchange) try(u *upstream.Upstream) (more bool, err error) {
	k := x.client
	for {
		up, err := x.borrow(u)
		switch {
		case k.gone.Err() != nil:
			if err == nil {
				up.giveBack(true)
			}
			return false, errClientGone
		case err != nil:
			return false, unreachable(err)
		}
		u.OpenedUnheard() // only an answer shows that it is well
		more, err := x.on(up)
		switch {
		case err != nil && k.gone.Err() != nil:
			k.route.Broken.Add(1)
			return false, errClientGone
		case !stale(up, err):
			return more, err
		case err == errGone && !x.repeatable():
			k.route.Broken.Add(1)
			return false, &h1.Error{Status: 502, Reason: "the upstream has closed a kept connection"}
		} // each attempt takes another connection of the pool, and at last a new one
	}
}

// on has the exchange on one connection.
func (x *exchange) on(up *lease) (again bool, err error) {
	k := x.client
	fine := false
	defer func() { up.giveBack(fine && !k.h.ending()) }()
	x.alone = k.abortWithClient(up)
	defer x.alone()
	_ = up.conn.SetWriteDeadline(time.Now().Add(k.route.Reply()))
	if !x.body {
		_ = up.conn.SetReadDeadline(time.Now().Add(k.route.Reply()))
	}
	if x.expects {
		x.expect(up)
	}
	switch n, err := up.conn.Write(x.headFor(x.up)); {
	case timedOut(err):
		return false, errSilent
	case err != nil && n == 0:
		return false, errUnasked
	case err != nil:
		return false, errGone
	}
	if !x.body {
		whole, again, err := x.answer(up)
		fine = whole && err == nil
		return again, err
	}
	sent := make(chan error, 1)
	go func() { sent <- x.sendBody(up) }()
	whole, again, err := x.answer(up)
	if e := x.endBody(up, sent); e != nil {
		whole, again = false, false
		if e != errUnsent && x.status == 0 { // the client, not the upstream, is the cause
			err = e
		}
	}
	fine = whole && err == nil
	return again, err
}

// answer passes the answer on. It reports whether the upstream's connection may be used again, and
// the client's.
func (x *exchange) answer(up *lease) (whole, again bool, err error) {
	k := x.client
	var r h1.Reply
	buf := getBuffer()
	defer func() { putBuffer(buf) }()
	parser := h1.ReplyParser{Limits: limits, KeepTrailer: true}
	pace := k.pace() // of interim answers
	heard := false   // one of them was received
	var out []byte
	for {
		n, err := parser.ParseHead(buf.bytes(), x.method, &r)
		if err != nil {
			return false, false, x.malformed(&h1.Error{Status: 502, Reason: "the upstream's answer is malformed"})
		}
		if n == 0 {
			if err := buf.fill(up.conn); err != nil {
				silent, begun := timedOut(err), heard || len(buf.bytes()) > 0
				switch {
				case silent && begun:
					return false, false, x.malformed(&h1.Error{Status: 504, Reason: "the upstream's answer does not end in time"})
				case begun:
					return false, false, x.malformed(&h1.Error{Status: 502, Reason: "the upstream's answer is cut short"})
				case silent:
					k.route.Broken.Add(1)
					return false, false, errSilent
				}
				return false, false, errGone
			}
			continue
		}
		names := listed(&r)
		switch {
		case r.Status == 101:
			if !switches(&r, x.upgrade) {
				return false, false, &h1.Error{Status: 502, Reason: "the upstream changes to what nobody has asked for"}
			}
			out = appendReply(out, &r, names, plain, "")
			buf.discard(n)
			x.status = 101
			x.up.Succeeded()
			x.alone() // from here on each direction ends alone
			return false, false, x.tunnel(up, out, buf)
		case r.Status < 200:
			if x.minor > 0 {
				if err := k.write(appendReply(nil, &r, names, plain, ""), &pace); err != nil {
					return false, false, err
				}
			}
			if r.Status == 100 && x.expects {
				x.granted(up)
			}
			buf.discard(n)
			heard = true
			continue
		case x.idled(up, &r):
			return false, false, errGone
		}
		f := plain
		again = x.keepAlive
		if r.Chunked || r.UntilClose {
			if f = chunked; x.minor == 0 {
				f, again = plain, false
			}
		}
		connection := ""
		switch {
		case !again || k.h.ending():
			connection = "close"
		case x.minor == 0: // which has asked for it, and has to be told
			connection = "keep-alive"
		}
		x.status = r.Status
		x.up.Succeeded()
		out = appendReply(out, &r, names, f, connection)
		kept := r.KeepAlive
		until := r.UntilClose
		buf.discard(n)
		err = x.passBody(up.conn, &parser, buf, out, names, f, until)
		return err == nil && kept && len(buf.bytes()) == 0, again, err
	}
}

// malformed charges the upstream with an answer that is none.
func (x *exchange) malformed(verdict *h1.Error) error {
	x.client.route.Broken.Add(1)
	x.up.Failed(verdict)
	return verdict
}

func timedOut(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// borrow is a connection to the upstream.
func (x *exchange) borrow(u *upstream.Upstream) (*lease, error) {
	ctx, cancel := context.WithTimeout(x.client.gone, x.client.route.ConnectTimeout.Or(5*time.Second))
	defer cancel()
	return borrow(ctx, x.client.route, u.Address)
}

func (x *exchange) log(err error) {
	k := x.client
	k.route.Out.Add(uint64(x.wrote))
	if k.route.Access == nil {
		return
	}
	to := ""
	if x.up != nil {
		to = x.up.Address.String()
	}
	status := x.status
	if verdict := (*h1.Error)(nil); errors.As(err, &verdict) && status == 0 {
		status = verdict.Status
	}
	k.route.Access.Info("request", "route", k.route.Name, "client", k.remote.String(), "upstream", to,
		"method", x.method, "target", x.target, "status", status, "out", x.wrote, "took", time.Since(x.began), "error", err)
}
