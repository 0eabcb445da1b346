package conn_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/sched"
)

// A chaosStream is one connection of a sequential handler in chaos.
type chaosStream struct {
	h  *chaos
	s  *conn.Stream
	st *chaosState
	r  *rand.Rand // the function's; the state's is for what Handle.Do calls
}

// stream is the function of a sequential handler that does anything.
func (h *chaos) stream(cx *sched.Context, s *conn.Stream) error {
	e := h.world.register(s.RemoteAddr().String(), true)
	st := &chaosState{chaosEnd: e, Rand: rand.New(rand.NewPCG(h.seed, uint64(e.id))), handle: s.Handle()}
	k := &chaosStream{h: h, s: s, st: st, r: rand.New(rand.NewPCG(h.seed, uint64(e.id)<<32))}
	for range 1 + k.r.IntN(20) {
		if err := k.act(cx); err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
	}
	return nil
}

func (k *chaosStream) act(cx *sched.Context) error {
	soon := time.Duration(k.r.IntN(3)) * time.Millisecond
	what := k.r.IntN(32)
	k.st.trace(what)
	switch what {
	case 0, 1, 2, 3, 4, 5, 6:
		return k.read(1 + k.r.IntN(1<<14))
	case 7, 8, 9, 10:
		return k.write(k.r.IntN(1000))
	case 11, 12:
		return k.write(frameMax)
	case 13:
		_ = k.s.SetReadDeadline(time.Now().Add(soon))
	case 14:
		_ = k.s.SetWriteDeadline(time.Now().Add(soon))
	case 15, 16:
		_ = k.s.SetDeadline(time.Time{})
	case 17:
		_ = k.s.Close()
	case 18:
		k.s.Abort()
	case 19:
		_ = k.s.CloseWrite()
	case 20:
		k.st.readClosed = true
		_ = k.s.CloseRead()
	case 21:
		return errChaos
	case 22:
		panic(errChaos)
	case 23:
		runtime.Goexit()
	case 24:
		return sleep(cx, soon)
	case 25:
		return k.branch(cx, soon)
	case 26:
		return k.s.Flush()
	case 27:
		k.h.elsewhere(func() {
			time.Sleep(soon)
			k.s.Abort()
		})
	case 28, 29:
		k.beside(k.r.IntN(5), soon)
	case 30:
		k.s.Draining()
	default:
		time.Sleep(soon)
	}
	return nil
}

func (k *chaosStream) read(n int) error {
	p := make([]byte, n)
	n, err := k.s.Read(p)
	k.st.feed(p[:n])
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	case err == io.EOF && !k.h.world.draining.Load():
		k.st.ended()
	}
	return err
}

func (k *chaosStream) write(n int) error {
	return k.st.send(byTask, n, func(p []byte) error {
		_, err := k.s.Write(p)
		if err != nil {
			k.st.torn.Store(true)
		}
		return err
	})
}

// branch starts a function that ends somehow, and perhaps waits for it.
func (k *chaosStream) branch(cx *sched.Context, soon time.Duration) error {
	how := k.r.IntN(6)
	b := k.s.Go(func(cx *sched.Context) error {
		switch how {
		case 0:
			panic(errChaos)
		case 1:
			runtime.Goexit()
		case 2:
			return errChaos
		case 3:
			return sleep(cx, time.Hour) // until the function has returned
		}
		return sleep(cx, soon)
	})
	if how != 3 && k.r.IntN(2) == 0 {
		return b.Join(cx)
	}
	return nil
}

// beside makes another goroutine do something with the connection's handle. The connection is a
// stream's, so it neither writes nor reads.
func (k *chaosStream) beside(how int, soon time.Duration) {
	handle := k.st.handle
	k.h.elsewhere(func() {
		time.Sleep(soon)
		switch how {
		case 0:
			_ = handle.Close()
		case 1:
			_ = handle.Abort()
		case 2:
			_ = k.s.Close()
		case 3:
			_ = handle.Do(func(c *conn.Conn) {
				_ = c.SetIdleTimeout(soon + time.Millisecond)
				_ = c.PauseRead()
				if c.Lend() != nil {
					k.h.world.audit.violation("a Stream was lent")
				}
			})
		default:
			_ = handle.Do(func(*conn.Conn) { panic(errChaos) })
		}
	})
}
