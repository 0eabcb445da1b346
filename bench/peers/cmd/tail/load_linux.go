package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"syscall"
	"time"
)

// drainFor is how long the client waits for the last echoes.
const drainFor = 3 * time.Second

// quantiles sum up times, in microseconds.
type quantiles struct {
	P50 float64 `json:"p50_micros"`
	P90 float64 `json:"p90_micros"`
	P99 float64 `json:"p99_micros"`
	Max float64 `json:"max_micros"`
}

func quantilesOf(times []time.Duration) quantiles {
	if len(times) == 0 {
		return quantiles{}
	}
	slices.Sort(times)
	at := func(share float64) float64 {
		return float64(times[int(share*float64(len(times)-1))]) / float64(time.Microsecond)
	}
	return quantiles{at(0.50), at(0.90), at(0.99), at(1)}
}

// result is what the client reports about one run.
type result struct {
	Latency  quantiles `json:"latency"`  // of the others' messages, from when they were to be sent
	Late     quantiles `json:"lateness"` // of their sending: the client's own delay, part of the above
	Messages int       `json:"messages"`
	SlowRate float64   `json:"slow_per_second"` // echoes of all slow connections
	Priority string    `json:"priority"`
}

// A load is the client: one goroutine that sends when it is time to and reads what has come. It keeps its
// processor throughout, and allocates nothing.
type load struct {
	addr     string
	slow     int // the first connections; they send the next message when the last one is back
	others   int // the rest; they send at fixed times
	rate     int
	warm     time.Duration
	end      time.Duration // from start: of the measurement
	priority string

	epoll    int
	sockets  []socket
	start    time.Time
	gap      time.Duration // between two messages of the others, which take turns
	total    int           // messages of the others
	sent     int
	answered int
	burns    int // slow echoes within the measurement
	buf      [64 << 10]byte
	late     []time.Duration
	latency  []time.Duration
}

// A socket is a connection.
type socket struct {
	fd       int
	message  []byte // one byte throughout, by which its echo is known
	received int    // bytes, of the run
}

// loadMain is the child process "tail load".
func loadMain(args []string) error {
	var l load
	var connections int
	var seconds, warm float64
	f := flag.NewFlagSet("tail load", flag.ExitOnError)
	f.StringVar(&l.addr, "addr", "", "")
	f.IntVar(&connections, "c", 100, "")
	f.IntVar(&l.slow, "slow", 1, "")
	f.IntVar(&l.rate, "rate", 100, "")
	f.Float64Var(&seconds, "d", 1, "")
	f.Float64Var(&warm, "w", 0, "")
	f.StringVar(&l.priority, "priority", "auto", "")
	f.Parse(args)
	l.others = connections - l.slow
	l.warm = time.Duration(warm * float64(time.Second))
	l.end = l.warm + time.Duration(seconds*float64(time.Second))
	if err := l.run(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(l.result())
}

func (l *load) result() result {
	return result{
		Latency:  quantilesOf(l.latency),
		Late:     quantilesOf(l.late),
		Messages: len(l.latency),
		SlowRate: float64(l.burns) / (l.end - l.warm).Seconds(),
		Priority: l.priority,
	}
}

func (l *load) run() error {
	if err := l.connect(); err != nil {
		return err
	}
	l.gap = time.Second / time.Duration(l.rate*l.others)
	l.total = int(l.end / l.gap)
	l.late = make([]time.Duration, 0, l.total)
	l.latency = make([]time.Duration, 0, l.total)
	debug.SetGCPercent(-1)
	var err error
	if l.priority, err = raisePriority(l.priority); err != nil {
		return err
	}
	l.start = time.Now()
	for i := range l.slow {
		if err := l.sockets[i].send(); err != nil {
			return err
		}
	}
	events := make([]syscall.EpollEvent, 256)
	for l.answered < l.total {
		wait, err := l.sendDue()
		if err != nil {
			return err
		}
		if wait <= 0 {
			return fmt.Errorf("%d of %d echoes did not come", l.total-l.answered, l.total)
		}
		n, err := epollWait(l.epoll, events, wait)
		if err != nil {
			return err
		}
		for _, ev := range events[:n] {
			if err := l.receive(int(ev.Fd)); err != nil { // Fd is what connect put there: an index
				return err
			}
			if _, err := l.sendDue(); err != nil {
				return err
			}
		}
	}
	return nil
}

// due is when the others' nth message is to be sent.
func (l *load) due(n int) time.Duration { return time.Duration(n) * l.gap }

// sendDue sends what is due, and returns how long the next thing is away: 0 or less after the drain.
func (l *load) sendDue() (time.Duration, error) {
	for {
		now := time.Since(l.start)
		if l.sent == l.total {
			return l.end + drainFor - now, nil
		}
		due := l.due(l.sent)
		if wait := due - now; wait > 0 {
			return wait, nil
		}
		if err := l.sockets[l.slow+l.sent%l.others].send(); err != nil {
			return 0, err
		}
		if due >= l.warm {
			l.late = append(l.late, now-due)
		}
		l.sent++
	}
}

var errClosed = errors.New("the server closed a connection")

func (l *load) receive(i int) error {
	s := &l.sockets[i]
	n, err := read(s.fd, l.buf[:])
	switch {
	case err == syscall.EAGAIN:
		return nil
	case err != nil:
		return os.NewSyscallError("read", err)
	case n == 0:
		return errClosed
	}
	now := time.Since(l.start)
	for _, c := range l.buf[:n] {
		if c != s.message[0] {
			return fmt.Errorf("connection %d: %q came back for %q", i, c, s.message[0])
		}
	}
	first := s.received / messageSize
	s.received += n
	last := s.received / messageSize
	if i < l.slow {
		return l.receiveSlow(s, last-first, now)
	}
	for k := first; k < last; k++ {
		due := l.due(k*l.others + i - l.slow)
		if due >= l.warm {
			l.latency = append(l.latency, now-due)
		}
		l.answered++
	}
	return nil
}

// receiveSlow takes in a slow connection's echoes, of which there is one at most at a time.
func (l *load) receiveSlow(s *socket, n int, now time.Duration) error {
	if n == 0 || now >= l.end {
		return nil
	}
	if now >= l.warm {
		l.burns++
	}
	return s.send()
}
