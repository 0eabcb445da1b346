package server_test

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/suiro-go/suiro/internal/conntest"
)

// A Close of net/http's side, on another goroutine, may come while the connection goes back
// to the workers. Each connection ends all the same, and nothing is shared without a lock.
func TestACloseWhileAConnectionIsGivenBack(t *testing.T) {
	const clients, rounds = 8, 30
	type key struct{}
	configure := func() *http.Server {
		return &http.Server{
			ConnContext: func(ctx context.Context, c net.Conn) context.Context {
				return context.WithValue(ctx, key{}, c)
			},
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				c := r.Context().Value(key{}).(net.Conn)
				later := time.Duration(rand.N(httpLinger.Microseconds()*3/2)) * time.Microsecond
				time.AfterFunc(later, func() { _ = c.Close() })
				_, _ = io.WriteString(w, "hello")
			}),
		}
	}
	withAndWithoutTLS(t, configure, func(h *httpSide) {
		if !h.ours {
			return // package net's connections are never given back
		}
		var wg sync.WaitGroup
		for range clients {
			wg.Go(func() {
				for range rounds {
					w, err := h.tryDial()
					if err != nil {
						h.Error(err)
						return
					}
					_, _ = io.WriteString(w, hello)
					_ = w.answer("GET") // or an end, if it was closed before
					w.shut()
					_ = w.end()
					_ = w.Close()
				}
			})
		}
		wg.Wait()
		conntest.Eventually(h.T, func() bool { return h.s.Group().Len() == 0 })
	})
}
