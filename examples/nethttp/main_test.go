package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

func TestPagesAreServed(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		listening := make(chan net.Addr, 1)
		s := &server.Server{Addr: "127.0.0.1:0", Backend: backend, Handler: server.HTTP(handler()), Listening: func(a net.Addr) { listening <- a }}
		served := make(chan error, 1)
		go func() { served <- s.ListenAndServe() }()
		url := "http://" + conntest.Receive(t, listening).String()
		client := &http.Client{Transport: &http.Transport{}}
		r, err := client.Get(url)
		require.NoError(t, err)
		p, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		require.NoError(t, r.Body.Close())
		require.Equal(t, "Hello, World!\n", string(p))

		r, err = client.Get(url + "/count")
		require.NoError(t, err)
		lines := bufio.NewReader(r.Body)
		for _, want := range []string{"0\n", "1\n"} {
			line, err := lines.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, want, line)
		}
		require.NoError(t, r.Body.Close()) // which ends it
		client.CloseIdleConnections()
		require.NoError(t, s.Shutdown(context.Background()))
		require.ErrorIs(t, conntest.Receive(t, served), server.ErrServerClosed)
	})
}
