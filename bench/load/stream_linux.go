package load

import (
	"bytes"
	"fmt"
	"runtime"
)

// A client is one connection that sends messages and checks what comes back.
type client struct {
	fd       int
	tls      *secure // over fd; nil: it is without
	first    int     // number of its first message, so that connections differ
	sent     int     // messages sent whole
	offset   int     // bytes sent of the next one
	answered int     // answers received whole
	received int     // bytes of the next one
	writable bool
	readable bool
	ended    bool // it has: behind what is still to be read there is an end or an error
}

// A stream is the state of a run of Echo or Chunks.
type stream struct {
	request, answer messages
	depth           int // 0: stopped
	clients         []client
	poll            *poller
	buf             []byte
	messages, bytes int64
}

// Echo has an echo server send messages back.
func Echo(cfg Config) (Result, error) {
	if cfg.Request != "" {
		return run(cfg, fixed(cfg.Request), fixed(cfg.Reply))
	}
	p := newPayload(cfg.Size)
	return run(cfg, p, p)
}

// Chunks has a server send mebibytes: for each byte it receives, Chunker.Chunk of that. Config.Size is ignored.
func Chunks(cfg Config) (Result, error) {
	requests := make(payload, 1+variants)
	for i := range requests {
		requests[i] = byte(i)
	}
	return run(cfg, requests, newPayload(ChunkSize))
}

func run(cfg Config, request, answer messages) (Result, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := &stream{request: request, answer: answer, depth: max(1, cfg.Depth), buf: make([]byte, 256<<10)}
	defer s.close()
	var err error
	if s.poll, err = newPoller(); err != nil {
		return Result{}, err
	}
	for i := range cfg.Conns {
		fd, err := connect(cfg.Addr, i)
		if err != nil {
			return Result{}, fmt.Errorf("load: connection %d: %w", i, err)
		}
		s.clients = append(s.clients, client{fd: fd, first: i})
		if cfg.TLS {
			if s.clients[i].tls, err = shake(fd); err != nil {
				return Result{}, fmt.Errorf("load: connection %d: %w", i, err)
			}
		}
		if err := s.poll.add(fd, i); err != nil {
			return Result{}, err
		}
	}
	return measure(cfg, s)
}

func (s *stream) close() {
	for i := range s.clients {
		closeAndForget(s.clients[i].fd)
	}
	if s.poll != nil {
		s.poll.close()
	}
}

func (s *stream) stop() { s.depth = 0 }

func (s *stream) open() (n int) {
	for i := range s.clients {
		c := &s.clients[i]
		if n += c.sent - c.answered; c.offset > 0 {
			n++
		}
	}
	return n
}

func (s *stream) progress() (count, bytes int64) { return s.messages, s.bytes }

func (s *stream) turn() error {
	events, err := s.poll.wait()
	if err != nil {
		return err
	}
	for i := range events {
		c := &s.clients[events[i].Fd]
		c.readable = c.readable || events[i].Events&^outEvents != 0
		c.ended = c.ended || events[i].Events&endEvents != 0
		c.writable = c.writable || events[i].Events&outEvents != 0
		if err := s.serve(c); err != nil {
			return fmt.Errorf("load: connection %d, message %d: %w", events[i].Fd, c.answered, err)
		}
	}
	return nil
}

// serve sends and receives until neither can go on. Reading first lets an answer make room for the next message.
func (s *stream) serve(c *client) error {
	for {
		if c.readable {
			n, more, err := c.read(s.buf)
			if err != nil {
				return err
			}
			c.readable = more || c.ended && n > 0
			if err := s.check(c, s.buf[:n]); err != nil {
				return err
			}
		}
		if err := s.send(c); err != nil {
			return err
		}
		if !c.readable {
			return nil
		}
	}
}

func (s *stream) send(c *client) error {
	for c.writable && (c.sent < c.answered+s.depth || c.offset > 0) {
		rest := s.request.message(c.first + c.sent)[c.offset:]
		n, err := c.write(rest)
		if err != nil {
			return err
		}
		c.writable = n == len(rest)
		if c.offset += n; c.writable {
			c.sent, c.offset = c.sent+1, 0
		}
	}
	return nil
}

// read reports whether there may be more to read: a short read has emptied the socket, and what comes later makes an edge.
func (c *client) read(p []byte) (n int, more bool, err error) {
	if c.tls != nil {
		n, err = c.tls.read(p)
		return n, n > 0, err
	}
	n, err = read(c.fd, p)
	return n, n == len(p), err
}

func (c *client) write(p []byte) (int, error) {
	if c.tls != nil {
		return c.tls.Write(p)
	}
	return write(c.fd, p)
}

// check compares what has come with what must.
func (s *stream) check(c *client, got []byte) error {
	s.bytes += int64(len(got))
	for len(got) > 0 {
		if c.answered > c.sent || c.answered == c.sent && c.offset == 0 {
			return fmt.Errorf("%d bytes more came back than were asked for", len(got))
		}
		want := s.answer.message(c.first + c.answered)[c.received:]
		n := min(len(got), len(want))
		if !bytes.Equal(got[:n], want[:n]) {
			return fmt.Errorf("wrong bytes came back: within %d of them at offset %d", n, c.received)
		}
		got = got[n:]
		if c.received += n; n == len(want) {
			c.answered, c.received = c.answered+1, 0
			s.messages++
		}
	}
	return nil
}
