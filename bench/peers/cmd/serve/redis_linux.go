package main

import (
	"net"

	"github.com/panjf2000/gnet/v2"

	"github.com/suiro-go/suiro/examples/redis/kv"
	"github.com/suiro-go/suiro/server"
)

// The servers of Redis' commands differ in their I/O only. Each executes all commands that have
// arrived and sends their replies by one call.

func (s service) gnetRedis(c gnet.Conn) gnet.Action {
	p, err := c.Peek(-1)
	if err != nil {
		return gnet.Close
	}
	w := kv.Borrow()
	defer w.Return()
	done, need := 0, 0
	for need == 0 && err == nil && done < len(p) {
		var n int
		n, need, err = s.keys.Execute(w, p[done:])
		done += n
	}
	if _, werr := c.Write(w.Out); err != nil || werr != nil {
		return gnet.Close
	}
	if done > 0 { // of 0 gnet discards everything
		_, _ = c.Discard(done)
	}
	return gnet.None
}

func (s service) suiroRedis(c *server.Conn) error {
	p, _ := c.Peek(-1)
	w := kv.Borrow()
	defer w.Return()
	done, need := 0, 0
	var err error
	for need == 0 && err == nil && done < len(p) {
		var n int
		n, need, err = s.keys.Execute(w, p[done:])
		done += n
	}
	_, werr := c.Write(w.Out)
	_, _ = c.Discard(done)
	if err == nil {
		err = werr
	}
	return err
}

func (s service) netRedis(c net.Conn) {
	in := make([]byte, 0, 16<<10)
	w := new(kv.Work)
	for {
		if len(in) == cap(in) {
			in = append(in, 0)[:len(in)]
		}
		n, err := c.Read(in[len(in):cap(in)])
		if err != nil {
			return
		}
		in = in[:len(in)+n]
		done, need := 0, 0
		for need == 0 && err == nil && done < len(in) {
			n, need, err = s.keys.Execute(w, in[done:])
			done += n
		}
		if _, werr := c.Write(w.Out); err != nil || werr != nil {
			return
		}
		w.Out = w.Out[:0]
		in = in[:copy(in, in[done:])]
	}
}
