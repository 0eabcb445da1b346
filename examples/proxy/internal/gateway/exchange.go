package gateway

import (
	"context"
	"errors"
	"net"
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
	head           []byte   // as the upstream is to see it
	names          []string // the fields that concerned the connection alone
	body           bool
	expects        bool // the client waits with its body (100-continue)
	minor          int
	keepAlive      bool
	upgrade        string

	up     *upstream.Upstream
	alone  func() bool // takes back that the client's end resets the upstream's connection
	begun  atomic.Bool // an answer has
	status int
	wrote  int64 // bytes of the answer's body
}

// request takes over what is needed of a head, whose memory goes.
func (x *exchange) request(r *h1.Request, remote net.Addr, covered bool) {
	x.method, x.target = string(r.Method), string(r.Target)
	x.body, x.minor, x.keepAlive = r.HasBody(), r.Minor, r.KeepAlive
	x.expects = x.body && all(r, "expect") != ""
	x.upgrade = upgradeOf(r)
	x.names = listed(r)
	x.head = appendRequest(nil, r, x.names, remote, covered, x.upgrade)
}

var errGone = errors.New("the upstream has ended without an answer")

// run asks upstreams until one answers, and passes the answer on. It reports whether the client's connection
// may have another request. An error is a *h1.Error as long as nothing has been answered.
func (x *exchange) run() (again bool, err error) {
	k := x.client
	if x.method == "CONNECT" {
		return false, &h1.Error{Status: 501, Reason: "CONNECT is not offered here"}
	}
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
		again, retry, err := x.try(u)
		u.End()
		if !retry {
			return again, err
		}
	}
	if k.gone.Err() != nil {
		return false, errClientGone
	}
	k.route.Failed.Add(1)
	return false, &h1.Error{Status: 502, Reason: "no upstream answers"}
}

// try asks one upstream. Another may be tried if it could not be reached: nothing was sent then.
func (x *exchange) try(u *upstream.Upstream) (more, retry bool, err error) {
	for again := false; ; again = true {
		up, err := x.borrow(u)
		if x.client.gone.Err() != nil {
			if err == nil {
				up.giveBack(true)
			}
			return false, false, errClientGone
		}
		if err != nil {
			u.Failed(err)
			return false, true, err
		}
		u.Opened()
		more, err := x.on(up)
		if err != nil && x.client.gone.Err() != nil {
			x.client.route.Broken.Add(1)
			return false, false, errClientGone
		}
		if errors.Is(err, errGone) && !again && x.repeatable() {
			continue // it may have ended while it waited in the pool
		}
		if errors.Is(err, errGone) {
			u.Failed(err)
			x.client.route.Failed.Add(1)
			err = &h1.Error{Status: 502, Reason: "the upstream has ended without an answer"}
		}
		return more, false, err
	}
}

// repeatable reports whether to ask twice is as good as once (RFC 9110, 9.2.2), and possible.
func (x *exchange) repeatable() bool {
	switch x.method {
	case "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE":
		return !x.body
	}
	return false
}

// on has the exchange on one connection.
func (x *exchange) on(up *lent) (again bool, err error) {
	k := x.client
	fine := false
	defer func() { up.giveBack(fine && !k.h.stopping.Load()) }()
	x.alone = k.abortWithClient(up)
	defer x.alone()
	_ = up.conn.SetWriteDeadline(time.Now().Add(k.route.Reply()))
	if !x.body {
		_ = up.conn.SetReadDeadline(time.Now().Add(k.route.Reply()))
	}
	if _, err := up.conn.Write(x.head); err != nil {
		return false, errGone
	}
	var sent chan error // what becomes of the request's body
	if x.body {
		sent = make(chan error, 1)
		go func() { sent <- x.sendBody(up) }()
	}
	whole, again, err := x.answer(up)
	if sent != nil {
		var e error
		select {
		case e = <-sent:
		case <-time.After(50 * time.Millisecond): // the answer came first: what is left of the body nobody wants
			whole, again = false, false
			_ = k.conn.SetReadDeadline(long)
			_ = up.conn.SetWriteDeadline(long)
			e = <-sent
		}
		if e != nil {
			whole, again = false, false
			if x.status == 0 {
				err = e
			}
		}
	}
	fine = whole && err == nil
	return again, err
}

// answer passes the answer on. It reports whether the upstream's connection may be used again, and
// the client's.
func (x *exchange) answer(up *lent) (whole, again bool, err error) {
	k := x.client
	var r h1.Reply
	buf := getBuffer()
	defer func() { putBuffer(buf) }()
	parser := h1.ReplyParser{Limits: limits, KeepTrailer: true}
	var out []byte
	for {
		n, err := parser.ParseHead(buf.bytes(), x.method, &r)
		if err != nil {
			k.route.Broken.Add(1)
			return false, false, &h1.Error{Status: 502, Reason: "the upstream's answer is malformed"}
		}
		if n == 0 {
			if err := buf.fill(up.conn); err != nil {
				if len(buf.bytes()) > 0 {
					k.route.Broken.Add(1)
					return false, false, &h1.Error{Status: 502, Reason: "the upstream's answer is cut short"}
				}
				if timedOut(err) {
					k.route.Broken.Add(1)
					return false, false, &h1.Error{Status: 504, Reason: "the upstream does not answer in time"}
				}
				return false, false, errGone
			}
			continue
		}
		names := listed(&r)
		switch {
		case r.Status == 101:
			if x.upgrade == "" {
				return false, false, &h1.Error{Status: 502, Reason: "the upstream changes to what nobody has asked for"}
			}
			out = appendReply(out, &r, names, plain, "")
			buf.discard(n)
			x.status = 101
			x.alone() // from here on each direction ends alone
			return false, false, x.tunnel(up, out, buf)
		case r.Status < 200:
			if x.minor > 0 {
				if _, err := k.conn.Write(appendReply(nil, &r, names, plain, "")); err != nil {
					return false, false, err
				}
			}
			buf.discard(n)
			continue
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
		case !again || k.h.stopping.Load():
			connection = "close"
		case x.minor == 0: // which has asked for it, and has to be told
			connection = "keep-alive"
		}
		x.status = r.Status
		out = appendReply(out, &r, names, f, connection)
		kept := r.KeepAlive
		until := r.UntilClose
		buf.discard(n)
		err = x.passBody(up.conn, &parser, buf, out, names, f, until)
		return err == nil && kept && len(buf.bytes()) == 0, again, err
	}
}

func timedOut(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// borrow is a connection to the upstream.
func (x *exchange) borrow(u *upstream.Upstream) (*lent, error) {
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
