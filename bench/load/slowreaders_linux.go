package load

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	sip        = 50 * time.Millisecond // between two reads of a slow reader
	slowBuffer = 16 << 10              // of its socket, in bytes
	slowMSS    = 1400                  // bytes: as of an Ethernet
)

// narrow keeps the kernel, on both sides, from taking all there is, which would hide what the
// server does: the other side's buffer grows with its segments.
func narrow(fd int) error {
	return errors.Join(
		os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, slowBuffer)),
		os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_MAXSEG, slowMSS)))
}

// A reader is one connection of SlowReaders.
type reader struct {
	fd     int
	number int
	answer answer
	over   bool
}

// SlowReaders opens Conns connections. Each requests one chunk from a server of chunks, and reads
// ReadRate bytes of it per second. After For, hold is called. Then all connections read the rest as
// fast as it arrives, and compare that as well. It uses Addr, Conns, ReadRate, For and PID of the
// configuration.
func SlowReaders(cfg Config, hold func()) (Result, error) {
	if err := cfg.only("slow readers"); err != nil {
		return Result{}, err
	}
	if cfg.ReadRate < int(time.Second/sip) {
		return Result{}, fmt.Errorf("load: slow readers take %d bytes per second at least", int(time.Second/sip))
	}
	d := chunks()
	readers := make([]reader, 0, cfg.Conns)
	defer func() {
		for _, r := range readers {
			closeAndForget(r.fd)
		}
	}()
	for i := range cfg.Conns {
		fd, err := connect(cfg.Addr, i, narrow)
		if err != nil {
			return Result{}, fmt.Errorf("load: connection %d: %w", i, err)
		}
		readers = append(readers, reader{fd: fd, number: i})
		if n, err := write(fd, d.request(i)); err != nil || n != 1 {
			return Result{}, fmt.Errorf("load: connection %d took %d bytes of a request: %w", i, n, err)
		}
	}
	before, err := use(cfg.PID)
	if err != nil {
		return Result{}, err
	}
	var r Result
	began := time.Now()
	for time.Since(began) < cfg.For {
		if err := r.take(d, readers, cfg.ReadRate/int(time.Second/sip)); err != nil {
			return r, err
		}
		time.Sleep(sip)
	}
	after, err := use(cfg.PID)
	if err != nil {
		return r, err
	}
	r.Elapsed, r.CPU, r.User, r.System = time.Since(began), after.cpu-before.cpu, after.user-before.user, after.system-before.system
	r.Resident = after.resident
	hold()
	return r, r.takeRest(d, readers)
}

// take makes each reader read at most this many bytes.
func (r *Result) take(d dialect, readers []reader, most int) error {
	p := make([]byte, most)
	for i := range readers {
		if err := r.sip(d, &readers[i], p); err != nil {
			return fmt.Errorf("load: connection %d: %w", i, err)
		}
	}
	return nil
}

func (r *Result) sip(d dialect, c *reader, p []byte) error {
	n, err := read(c.fd, p)
	if err != nil {
		return err
	}
	r.Bytes += int64(n)
	if n > 0 && c.over {
		return fmt.Errorf("%d bytes more came than were asked for", n)
	}
	used, whole, err := d.accept(&c.answer, c.number, p[:n])
	if err != nil {
		return err
	}
	if whole {
		c.over = true
		r.Count++
	}
	if used < n {
		return fmt.Errorf("%d bytes more came than were asked for", n-used)
	}
	return nil
}

func (r *Result) takeRest(d dialect, readers []reader) error {
	for alive, before := time.Now(), r.Bytes; r.Count < int64(len(readers)); {
		if err := r.take(d, readers, 64<<10); err != nil {
			return err
		}
		switch {
		case r.Bytes != before:
			before, alive = r.Bytes, time.Now()
		case time.Since(alive) > stall:
			return fmt.Errorf("load: %d chunks never came: %w", int64(len(readers))-r.Count, io.ErrNoProgress)
		default:
			time.Sleep(time.Millisecond)
		}
	}
	return nil
}
