package conn_test

import (
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// The bytes of a splice, and those that others send on its ends meanwhile, arrive once and in
// order.
func TestTheBytesOfASpliceAndOfOthersArriveOnceAndInOrder(t *testing.T) {
	name := strandFile(t)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		for i, bulk := range []int{100, 400_000} {
			dialedEnds := make(chan conn.Handle, 4)
			origin := conntest.Listen(t)
			f := newFixture(t, backend, workers)
			f.listen("tcp", "127.0.0.1:0", funcs{data: leave, eof: ignore, open: func(a *conn.Conn) error {
				h := a.Handle()
				_, err := a.Dial(origin.Addr(), f.audit.of(funcs{data: leave, eof: ignore, open: func(b *conn.Conn) error {
					return h.Do(func(a *conn.Conn) {
						if _, err := conn.Splice(a, b.Handle(), nil); err != nil {
							panic(err)
						}
						dialedEnds <- b.Handle()
					})
				}}))
				return err
			}})
			for k := range 2 {
				client := f.dial().(*net.TCPConn)
				oc, err := origin.Accept()
				require.NoError(t, err)
				o := oc.(*net.TCPConn)
				defer o.Close()
				_ = o.SetDeadline(time.Now().Add(conntest.Patience))
				b := conntest.Receive(t, dialedEnds)
				if k == 0 {
					_ = o.SetReadBuffer(64 << 10)
				}
				type result struct {
					came [8]int
					err  error
				}
				results, back := make(chan result, 1), make(chan error, 1)
				go func() {
					came, err := unravel(o, rand.New(rand.NewPCG(9, uint64(i))))
					if err != nil {
						t.Error(err)
						reset(o) // the senders need not wait
					}
					results <- result{came, err}
				}()
				go func() {
					came, err := unravel(client, rand.New(rand.NewPCG(8, uint64(i))))
					if came[3] != 256<<10 {
						t.Errorf("%d bytes came back: %v", came[3], err)
					}
					back <- err
				}()
				var wg sync.WaitGroup
				strands := [8]*strand{}
				errs := [8]error{}
				send := func(id int, f func(w *strand, r *rand.Rand) error) {
					w := &strand{id: id}
					strands[id] = w
					wg.Go(func() { errs[id] = f(w, rand.New(rand.NewPCG(uint64(i), uint64(id)))) })
				}
				through := func(c net.Conn, n int) func(w *strand, r *rand.Rand) error {
					return func(w *strand, r *rand.Rand) error {
						for w.at < n {
							m, err := c.Write(w.next(min(1+r.IntN(bulk), n-w.at)))
							if w.at += m; err != nil {
								return err
							}
							if r.IntN(8) == 0 {
								time.Sleep(time.Duration(r.IntN(600)) * time.Microsecond)
							}
						}
						return nil
					}
				}
				send(0, through(client, min(2<<20, 200*bulk)))
				var answer sync.WaitGroup
				answer.Go(func() {
					w := &strand{id: 3}
					if err := through(o, 256<<10)(w, rand.New(rand.NewPCG(1, 1))); err != nil {
						t.Error(err)
					}
				})
				never := make(chan struct{}) // it does not end before its senders
				send(viaSend, func(w *strand, r *rand.Rand) error { return sendStrand(b, w, r, 100_000) })
				send(viaDo, func(w *strand, r *rand.Rand) error {
					return doStrand(b, never, w, r, 256<<10, func(c *conn.Conn) (int, error) { return c.Write(w.next(1 + r.IntN(1+r.IntN(60<<10)))) })
				})
				send(viaFile, func(w *strand, r *rand.Rand) error {
					return doStrand(b, never, w, r, 2*fileBytes, func(c *conn.Conn) (int, error) {
						f, err := os.Open(name)
						if err != nil {
							return 0, err
						}
						defer f.Close()
						if err := c.SendFile(f, 0, -1); err != nil {
							return 0, err
						}
						if r.IntN(4) == 0 {
							c.ReadFiles()
						}
						return fileBytes, nil
					})
				})
				done := make(chan struct{})
				go func() { wg.Wait(); close(done) }()
				conntest.Receive(t, done, "senders")
				require.Equal(t, [8]error{}, errs)
				require.NoError(t, client.CloseWrite())
				r := conntest.Receive(t, results)
				require.NoError(t, r.err)
				for id, w := range strands {
					if w != nil {
						require.Equal(t, w.at, r.came[id], "of %d", id)
					}
				}
				answer.Wait()
				require.NoError(t, o.CloseWrite())
				require.NoError(t, conntest.Receive(t, back))
				conntest.Eventually(t, func() bool { return f.Len() == 0 })
				_ = client.Close()
			}
			require.Zero(t, f.PipesUsed())
		}
	})
}
