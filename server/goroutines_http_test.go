package server_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// body is 20 MB of noise, and its sum.
var body, bodySum = func() ([]byte, string) {
	p := make([]byte, 20<<20)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(p)
	return p, fmt.Sprintf("%x", sha256.Sum256(p))
}()

// web is a handler of what net/http offers.
func web(canceled chan<- struct{}) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/hello", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello ", r.RemoteAddr) })
	mux.HandleFunc("/sum", func(w http.ResponseWriter, r *http.Request) {
		h := sha256.New()
		n, err := io.Copy(h, r.Body)
		fmt.Fprintf(w, "%x %d %v", h.Sum(nil), n, err)
	})
	mux.HandleFunc("/body", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) })
	mux.HandleFunc("/wait", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		canceled <- struct{}{}
	})
	mux.HandleFunc("/hijack", func(w http.ResponseWriter, _ *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Time{})
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = rw.Flush()
		_, _ = io.Copy(c, rw)
	})
	return mux
}

func TestNetHTTPServesAndAsksOverSockets(t *testing.T) {
	onListeners(t, func(t *testing.T, s *server.Server) {
		ln := listen(t, s)
		canceled := make(chan struct{}, 1)
		hs := &http.Server{Handler: web(canceled), ReadTimeout: conntest.Patience, IdleTimeout: conntest.Patience}
		served := make(chan error, 1)
		go func() { served <- hs.Serve(ln) }()
		dial := dialVia(s)
		url := "http://" + ln.Addr().String()

		// A connection carries one request after the other.
		c, err := dial(t.Context(), "tcp", ln.Addr().String())
		require.NoError(t, err)
		br, first := bufio.NewReader(c), ""
		for i := range 100 {
			_, err = io.WriteString(c, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
			require.NoError(t, err)
			r, err := http.ReadResponse(br, nil)
			require.NoError(t, err)
			p, err := io.ReadAll(r.Body)
			require.NoError(t, err)
			if i == 0 {
				first = string(p)
			}
			require.Equal(t, first, string(p))
		}
		require.NoError(t, c.Close())

		// A Transport asks again on a connection that it has kept. It keeps none whose writing
		// goroutine takes 50 ms longer than the answer, as on a busy machine.
		tr := &http.Transport{DialContext: dial}
		client := &http.Client{Transport: tr}
		put := make(chan error, 1)
		var by httptrace.GotConnInfo
		trace := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
			PutIdleConn: func(err error) { put <- err },
			GotConn:     func(info httptrace.GotConnInfo) { by = info },
		})
		get := func(path string) (p []byte, kept bool) {
			t.Helper()
			req, err := http.NewRequestWithContext(trace, http.MethodGet, url+path, nil)
			require.NoError(t, err)
			r, err := client.Do(req)
			require.NoError(t, err)
			defer r.Body.Close()
			p, err = io.ReadAll(r.Body)
			require.NoError(t, err)
			conntest.Eventually(t, func() bool {
				select {
				case err := <-put:
					require.NoError(t, err)
					kept = true
				default:
				}
				return kept || errors.Is(by.Conn.SetWriteDeadline(time.Time{}), net.ErrClosed)
			}, "the Transport neither keeps nor closes a connection")
			return p, kept
		}
		for reused, last, kept := 0, "", false; reused < 100; {
			p, keeps := get("/hello")
			require.Equal(t, kept, by.Reused, "a connection that was kept, and no other, is used again")
			if kept {
				require.Equal(t, last, string(p))
				reused++
			}
			last, kept = string(p), keeps
		}

		p, _ := get("/body")
		require.True(t, bytes.Equal(body, p))
		r, err := client.Post(url+"/sum", "", bytes.NewReader(body))
		require.NoError(t, err)
		p, err = io.ReadAll(r.Body)
		require.NoError(t, err)
		require.NoError(t, r.Body.Close())
		require.Equal(t, fmt.Sprint(bodySum, " ", len(body), " <nil>"), string(p))

		// A client that goes away ends the request's context.
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/wait", nil)
		require.NoError(t, err)
		r, err = client.Do(req)
		require.NoError(t, err)
		cancel()
		conntest.Receive(t, canceled)
		_, err = io.ReadAll(r.Body)
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, r.Body.Close())

		// Hijacked, it is a connection as any other.
		c, err = dial(t.Context(), "tcp", ln.Addr().String())
		require.NoError(t, err)
		_, err = io.WriteString(c, "GET /hijack HTTP/1.1\r\nHost: x\r\n\r\nahead")
		require.NoError(t, err)
		br = bufio.NewReader(c)
		r, err = http.ReadResponse(br, nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusSwitchingProtocols, r.StatusCode)
		_, err = io.WriteString(c, " and more")
		require.NoError(t, err)
		require.NoError(t, c.(*server.Socket).CloseWrite())
		p, err = io.ReadAll(br)
		require.NoError(t, err)
		require.Equal(t, "ahead and more", string(p))
		require.NoError(t, c.Close())

		// Many at once, by both kinds of client.
		conntest.Crowd(t, 200, 20, func(i int) error {
			client := client
			if i%2 == 0 {
				client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			}
			r, err := client.Get(url + "/hello")
			if err != nil {
				return err
			}
			defer r.Body.Close()
			_, err = io.Copy(io.Discard, r.Body)
			return err
		})

		tr.CloseIdleConnections() // for one on which nothing was asked Shutdown waits 5 s
		require.NoError(t, hs.Shutdown(t.Context()))
		require.ErrorIs(t, conntest.Receive(t, served), http.ErrServerClosed)
	})
}
