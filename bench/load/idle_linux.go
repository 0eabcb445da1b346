package load

import (
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"
)

// greetings is how many connections wait for their echo at a time: fewer than any backlog.
const greetings = 64

// patience bounds the wait for one echo.
const patience = 10 * time.Second

// Idle opens Conns connections, has each exchange one message, and holds them until hold returns.
// Of the configuration it needs Addr, Conns and Size.
func Idle(cfg Config, hold func()) error {
	tls := cfg.TLS
	cfg.TLS = false
	if err := cfg.only("idle"); err != nil {
		return err
	}
	messages := newPayload(cfg.Size)
	exchange := func(i int) (request, reply []byte) {
		if cfg.Request != "" {
			return []byte(cfg.Request), []byte(cfg.Reply)
		}
		return messages.message(i), messages.message(i)
	}
	var clients []client
	defer func() {
		for i := range clients {
			closeAndForget(clients[i].fd)
		}
	}()
	buf := make([]byte, max(cfg.Size, len(cfg.Reply)))
	for len(clients) < cfg.Conns {
		from := len(clients)
		for i := from; i < min(cfg.Conns, from+greetings); i++ {
			fd, err := connect(cfg.Addr, i)
			if err != nil {
				return fmt.Errorf("load: connection %d: %w", i, err)
			}
			clients = append(clients, client{fd: fd, wire: tcpWire(fd)})
			c := &clients[i]
			if tls {
				if c.wire, err = handshake(fd); err != nil {
					return fmt.Errorf("load: connection %d: %w", i, err)
				}
			}
			request, _ := exchange(i)
			n, err := c.wire.write(request)
			if err == nil && n < len(request) {
				err = fmt.Errorf("a new connection took only %d of %d bytes; use smaller messages", n, len(request))
			}
			if err != nil {
				return fmt.Errorf("load: connection %d: %w", i, err)
			}
		}
		for i := from; i < len(clients); i++ {
			_, reply := exchange(i)
			got := buf[:len(reply)]
			if err := clients[i].readAll(got); err != nil {
				return fmt.Errorf("load: connection %d: %w", i, err)
			}
			if string(got) != string(reply) {
				return fmt.Errorf("load: connection %d: wrong bytes came back", i)
			}
		}
	}
	hold()
	for i := range clients {
		n, _, err := clients[i].wire.read(buf, false)
		if err == nil && n > 0 {
			err = fmt.Errorf("%d bytes came that nobody asked for", n)
		}
		if err != nil {
			return fmt.Errorf("load: connection %d, which was idle: %w", i, err)
		}
	}
	return nil
}

// readAll waits for as many bytes as p has.
func (c *client) readAll(p []byte) error {
	for end := time.Now().Add(patience); len(p) > 0; {
		n, _, err := c.wire.read(p, false)
		if err != nil {
			return err
		}
		if p = p[n:]; len(p) == 0 {
			break
		}
		left := time.Until(end)
		if left <= 0 {
			return fmt.Errorf("no echo in %v: %w", patience, io.ErrNoProgress)
		}
		if n == 0 { // else there may be more that poll does not see
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN}}, int(left.Milliseconds())+1)
		}
	}
	return nil
}
