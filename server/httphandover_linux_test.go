package server_test

import (
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// twice is a listening socket, and another descriptor of it.
func twice(t *testing.T) (ln, again net.Listener) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f, err := ln.(*net.TCPListener).File()
	require.NoError(t, err)
	defer f.Close()
	again, err = net.FileListener(f)
	require.NoError(t, err)
	return ln, again
}

// Clients that ask once each notice nothing of a server that takes the place of another.
func TestAHandOverLosesNoRequest(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		serveOn := func() *server.Server {
			return &server.Server{Handler: server.WithGrace(server.HTTP(site()), conntest.Patience/4), Backend: backend, Workers: 2}
		}
		ln, again := twice(t)
		older, newer := serveOn(), serveOn()
		go func() { _ = older.Serve(ln) }()
		conntest.Eventually(t, func() bool { return older.Group() != nil })
		t.Cleanup(func() { _ = newer.Close(); _ = older.Close() })
		served := make(chan bool, 1000)
		over := make(chan struct{})
		failed := make(chan error, 8)
		for range 8 {
			go func() {
				tr := &http.Transport{DisableKeepAlives: true}
				client := &http.Client{Transport: tr, Timeout: conntest.Patience}
				for {
					select {
					case <-over:
						failed <- nil
						return
					default:
					}
					r, err := client.Get("http://" + ln.Addr().String() + "/hello")
					if err == nil {
						_, err = io.Copy(io.Discard, r.Body)
						_ = r.Body.Close()
					}
					if err != nil {
						failed <- err
						return
					}
					select {
					case served <- true:
					default:
					}
				}
			}()
		}
		for range 200 {
			conntest.Receive(t, served)
		}
		go func() { _ = newer.Serve(again) }()
		conntest.Eventually(t, func() bool { return newer.Group() != nil })
		require.NoError(t, older.Shutdown(t.Context()))
		for len(served) > 0 {
			<-served
		}
		for range 200 {
			conntest.Receive(t, served)
		}
		close(over)
		for range 8 {
			require.NoError(t, conntest.Receive(t, failed))
		}
	})
}
