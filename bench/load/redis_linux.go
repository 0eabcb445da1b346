package load

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"time"
)

// A keyspace alternates SET and GET. A key always has the same value.
type keyspace struct{ requests, replies [][]byte }

// newKeyspace makes one whose values have size bytes.
func newKeyspace(size int) *keyspace {
	values := newPayload(size)
	d := new(keyspace)
	for i := range variants {
		key, value := fmt.Sprintf("key:%012d", i), values.message(i)
		d.requests = append(d.requests,
			fmt.Appendf(nil, "*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(key), key, size, value),
			fmt.Appendf(nil, "*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n", len(key), key))
		d.replies = append(d.replies, []byte("+OK\r\n"), fmt.Appendf(nil, "$%d\r\n%s\r\n", size, value))
	}
	return d
}

func (d *keyspace) request(number int) []byte { return d.requests[number%len(d.requests)] }

func (d *keyspace) accept(a *answer, number int, got []byte) (int, bool, error) {
	return a.match(d.replies[number%len(d.replies)], got)
}

// fill sets all keys. So each GET has a value, whichever connection is first.
func (d *keyspace) fill(addr string) error {
	c, err := net.DialTimeout("tcp", addr, stall)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(stall)); err != nil {
		return err
	}
	for i := 0; i < len(d.requests); i += 2 {
		got := make([]byte, len(d.replies[i]))
		if _, err = c.Write(d.requests[i]); err == nil {
			_, err = io.ReadFull(c, got)
		}
		if err != nil {
			return fmt.Errorf("load: SET answers %q: %w", got, err)
		}
		if !bytes.Equal(got, d.replies[i]) {
			return fmt.Errorf("load: SET answers %q", got)
		}
	}
	return nil
}

// Redis sends SET and GET by turns to a server of Redis' protocol. Values have Config.Size bytes.
func Redis(cfg Config) (Result, error) {
	if err := cfg.only("Redis"); err != nil {
		return Result{}, err
	}
	d := newKeyspace(cfg.Size)
	if err := d.fill(cfg.Addr.String()); err != nil {
		return Result{}, err
	}
	return run(cfg, d, nil)
}
