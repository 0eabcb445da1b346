package server

import (
	"net"
	"sync"
)

// An httpFed is a connection on its way to net/http.
type httpFed struct {
	net.Conn
	stay *httpStay // nil: the connection is an httpSentry
}

// An httpFeed is the net.Listener from which net/http accepts connections on which a request has
// begun. Its queue holds at most one entry for each connection.
type httpFeed struct {
	addr net.Addr
	over <-chan struct{} // the workers have stopped

	mu     sync.Mutex
	queue  []httpFed
	head   int
	ended  bool
	ready  chan struct{} // has an entry when the queue has one that Accept may not have seen
	closed chan struct{}
}

// put is called by workers. It returns false if the feed is closed.
func (f *httpFeed) put(c httpFed) bool {
	f.mu.Lock()
	if f.ended {
		f.mu.Unlock()
		return false
	}
	f.queue = append(f.queue, c)
	f.mu.Unlock()
	select {
	case f.ready <- struct{}{}:
	default: // Accept is going to look at the queue after this
	}
	return true
}

// Accept implements net.Listener. One goroutine calls it.
func (f *httpFeed) Accept() (net.Conn, error) {
	for {
		if c := f.take(); c.Conn != nil {
			return c.Conn, nil
		}
		select {
		case <-f.ready:
		case <-f.closed:
			return nil, net.ErrClosed
		case <-f.over:
			return nil, net.ErrClosed
		}
	}
}

func (f *httpFeed) take() (c httpFed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended || f.head == len(f.queue) {
		return c
	}
	c, f.queue[f.head] = f.queue[f.head], c
	if f.head++; f.head == len(f.queue) {
		f.queue, f.head = f.queue[:0], 0
	}
	return c
}

// Close implements net.Listener. It closes connections that were not accepted.
func (f *httpFeed) Close() error {
	f.mu.Lock()
	if f.ended {
		f.mu.Unlock()
		return net.ErrClosed
	}
	f.ended = true
	left := f.queue[f.head:]
	f.queue, f.head = nil, 0
	f.mu.Unlock()
	close(f.closed)
	for _, c := range left {
		if c.stay == nil {
			_ = c.Close()
			continue
		}
		c.stay.refuse()
	}
	return nil
}

// Addr implements net.Listener: the address of the first connection.
func (f *httpFeed) Addr() net.Addr { return f.addr }
