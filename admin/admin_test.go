package admin_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/admin"
	"github.com/suiro-go/suiro/server"
)

// patient echoes, and keeps its connection when the server drains.
type patient struct{ server.Base }

func (patient) OnData(c *server.Conn) error {
	_, err := c.WriteTo(c)
	return err
}

func (patient) OnDrain(*server.Conn) {}

func get(t *testing.T, url string) (status int, text string) {
	t.Helper()
	res, err := http.Get(url)
	require.NoError(t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(b)
}

func TestAServerIsReadyBetweenItsStartAndItsShutdown(t *testing.T) {
	listening := make(chan net.Addr, 1)
	s := &server.Server{Addr: "127.0.0.1:0", Handler: patient{}, Listening: func(a net.Addr) { listening <- a }}
	web := httptest.NewServer(admin.Handler(s))
	defer web.Close()
	status, text := get(t, web.URL+"/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, server.ErrNotServing.Error()+"\n", text)
	status, text = get(t, web.URL+"/healthz")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "ok\n", text)

	served := make(chan error, 1)
	go func() { served <- s.ListenAndServe() }()
	c, err := net.Dial("tcp", (<-listening).String())
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "hello\n")
	require.NoError(t, err)
	line, err := bufio.NewReader(c).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "hello\n", line)
	status, text = get(t, web.URL+"/readyz")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "ready\n", text)
	status, text = get(t, web.URL+"/metrics")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, text, "\nsuiro_accepted_connections_total{server_address=\"127.0.0.1\",")

	ended := make(chan error, 1)
	go func() { ended <- s.Shutdown(context.Background()) }()
	require.ErrorIs(t, <-served, server.ErrServerClosed) // it drains from now on
	status, text = get(t, web.URL+"/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, server.ErrDraining.Error()+"\n", text)
	status, _ = get(t, web.URL+"/healthz")
	require.Equal(t, http.StatusOK, status)
	require.NoError(t, c.Close())
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		t.Fatal("the server does not end")
	}
}
