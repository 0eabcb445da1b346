package load

import (
	"bytes"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// A churner is the state of a run of Churn.
type churner struct {
	cfg      Config
	messages payload
	visits   []visit
	poll     *poller
	buf      []byte
	begun    int       // connections
	from     time.Time // start of the measurement
	latency  histogram
	ended    int64
	stopped  bool
	received int64
}

// A visit is one connection at a time, in its turn.
type visit struct {
	fd       int
	number   int
	received int
	began    time.Time
}

// Churn opens Conns connections at a time. Each connects, sends one message, receives its echo and
// closes; then the next begin. The client closes first, in order, when the echo is whole.
func Churn(cfg Config) (Result, error) {
	if err := cfg.only("churn"); err != nil {
		return Result{}, err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := &churner{cfg: cfg, messages: newPayload(cfg.Size), buf: make([]byte, 64<<10), latency: newHistogram()}
	defer c.close()
	var err error
	if c.poll, err = newPoller(); err != nil {
		return Result{}, err
	}
	c.visits = make([]visit, cfg.Conns)
	for i := range c.visits {
		c.visits[i].fd = -1
	}
	for i := range c.visits {
		if err := c.begin(i); err != nil {
			return Result{}, err
		}
	}
	r, err := measure(cfg, c)
	r.Latency = c.latency.latencies()
	return r, err
}

func (c *churner) close() {
	for _, v := range c.visits {
		if v.fd >= 0 {
			closeAndForget(v.fd)
		}
	}
	if c.poll != nil {
		c.poll.close()
	}
}

func (c *churner) stop() { c.stopped = true }

func (c *churner) open() int { return c.begun - int(c.ended) }

func (c *churner) window(time.Duration) { c.from = time.Now() }

func (c *churner) progress() (count, slow, bytes int64) { return c.ended, 0, c.received }

func (c *churner) begin(i int) (err error) {
	v := &c.visits[i]
	*v = visit{fd: -1, number: c.begun, began: time.Now()}
	c.begun++
	if v.fd, err = connect(c.cfg.Addr, v.number); err != nil {
		return fmt.Errorf("load: connection %d: %w", v.number, err)
	}
	message := c.messages.message(v.number)
	n, err := write(v.fd, message)
	if err == nil && n < len(message) {
		err = fmt.Errorf("a new connection took only %d of %d bytes; use smaller messages", n, len(message))
	}
	if err != nil {
		return fmt.Errorf("load: connection %d: %w", v.number, err)
	}
	return c.poll.add(v.fd, i)
}

func (c *churner) turn() error {
	events, err := c.poll.wait(longestWait)
	if err != nil {
		return err
	}
	for i := range events {
		if events[i].Events&inEvents == 0 {
			continue
		}
		at := int(events[i].Fd)
		over, err := c.receive(&c.visits[at], events[i].Events&endEvents != 0)
		if err != nil {
			return fmt.Errorf("load: connection %d: %w", c.visits[at].number, err)
		}
		if over && !c.stopped {
			if err := c.begin(at); err != nil {
				return err
			}
		}
	}
	return nil
}

// receive reports whether the connection is over. ended: the server has ended it, behind the unread
// bytes.
func (c *churner) receive(v *visit, ended bool) (bool, error) {
	for {
		n, err := read(v.fd, c.buf)
		if err != nil {
			return false, err
		}
		c.received += int64(n)
		want := c.messages.message(v.number)[v.received:]
		if n > len(want) || !bytes.Equal(c.buf[:n], want[:n]) {
			return false, fmt.Errorf("wrong bytes came back: %d of them at offset %d", n, v.received)
		}
		v.received += n
		switch {
		case n == len(want):
			c.ended++
			if !c.from.IsZero() && !c.stopped {
				c.latency.record(time.Since(v.began))
			}
			err := unix.Close(v.fd)
			v.fd = -1
			return true, err
		case n < len(c.buf) && !(ended && n > 0):
			return false, nil
		}
	}
}

// closeAndForget resets a connection, so that its port is free at once.
func closeAndForget(fd int) {
	_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	_ = unix.Close(fd)
}
