package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// A running site, its clients, and its end.
type running struct {
	url     string
	addr    net.Addr
	over3   *http.Client
	overTCP *http.Client
	stop    context.CancelFunc
	ended   chan error
}

func start(t *testing.T, backend string) *running {
	certificate, err := selfSigned()
	require.NoError(t, err)
	listening := make(chan net.Addr, 1)
	s := &site{
		addr: "127.0.0.1:0", backend: backend, maxBody: 1 << 20, patience: conntest.Patience,
		certificate: certificate, listening: func(a net.Addr) { listening <- a },
	}
	ctx, stop := context.WithCancel(t.Context())
	r := &running{stop: stop, ended: make(chan error, 1)}
	go func() { r.ended <- s.run(ctx) }()
	r.addr = conntest.Receive(t, listening)
	r.url = "https://" + r.addr.String()
	pool := x509.NewCertPool()
	pool.AddCert(certificate.Leaf)
	trust := &tls.Config{RootCAs: pool}
	three := &http3.Transport{TLSClientConfig: trust, QUICConfig: &quic.Config{MaxIdleTimeout: conntest.Patience}}
	tcp := &http.Transport{TLSClientConfig: trust.Clone(), ForceAttemptHTTP2: true}
	r.over3, r.overTCP = &http.Client{Transport: three}, &http.Client{Transport: tcp}
	t.Cleanup(func() {
		_ = three.Close()
		tcp.CloseIdleConnections()
		stop()
	})
	return r
}

func (r *running) end(t *testing.T) {
	t.Helper()
	r.overTCP.CloseIdleConnections()
	r.stop()
	require.NoError(t, conntest.Receive(t, r.ended))
}

// get asks for a page, and returns the answer's body and head.
func get(t *testing.T, c *http.Client, url string) (string, *http.Response) {
	t.Helper()
	res, err := c.Get(url)
	require.NoError(t, err)
	defer res.Body.Close()
	p, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, 200, res.StatusCode)
	return string(p), res
}

func TestThePagesAreTheSameOverTCPAndUDP(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		r := start(t, backend)
		for client, proto := range map[*http.Client]string{r.over3: "HTTP/3.0", r.overTCP: "HTTP/2.0"} {
			body, res := get(t, client, r.url+"/plaintext")
			require.Equal(t, "Hello, World!", body)
			require.Equal(t, proto, res.Proto)
			body, res = get(t, client, r.url+"/json")
			require.JSONEq(t, `{"message":"Hello, World!"}`, body)
			require.Equal(t, "application/json", res.Header.Get("Content-Type"))
			body, _ = get(t, client, r.url+"/")
			require.Contains(t, body, proto)
			require.Contains(t, body, backend)

			sent := strings.Repeat("an echo of some length ", 20000)
			res, err := client.Post(r.url+"/elsewhere", "text/plain", strings.NewReader(sent))
			require.NoError(t, err)
			p, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.Equal(t, sent, string(p))
			res, err = client.Post(r.url+"/elsewhere", "text/plain", strings.NewReader(strings.Repeat("x", 1<<20+1)))
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.Equal(t, http.StatusRequestEntityTooLarge, res.StatusCode)

			// A body of unknown length that turns out too large ends the answer by an error.
			res, err = client.Post(r.url+"/elsewhere", "text/plain", io.LimitReader(endless{}, 1<<20+1))
			if err == nil {
				_, err = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
			}
			require.Error(t, err)
		}
		r.end(t)
	})
}

// A client that has asked over TCP finds HTTP/3 by the header.
func TestAnswersOverTCPAnnounceHTTP3(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		r := start(t, backend)
		_, res := get(t, r.overTCP, r.url+"/plaintext")
		var port int
		_, err := fmt.Sscanf(res.Header.Get("Alt-Svc"), `h3=":%d"; ma=`, &port)
		require.NoError(t, err, res.Header)
		require.Equal(t, r.addr.(*net.TCPAddr).Port, port)
		_, res = get(t, r.over3, fmt.Sprintf("https://127.0.0.1:%d/plaintext", port))
		require.Equal(t, 3, res.ProtoMajor)
		r.end(t)
	})
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// A stream is a request whose body goes on, and its answer.
type stream struct {
	body   *io.PipeWriter
	answer io.ReadCloser
}

// open begins an echo.
func (r *running) open() (*stream, error) {
	out, in := io.Pipe()
	req, err := http.NewRequest(http.MethodPost, r.url+"/echo", out)
	if err != nil {
		return nil, err
	}
	go func() { _, _ = io.WriteString(in, "begun ") }()
	res, err := r.over3.Do(req)
	if err != nil {
		return nil, err
	}
	s := &stream{in, res.Body}
	return s, s.expect("begun ")
}

func (s *stream) expect(text string) error {
	p := make([]byte, len(text))
	if _, err := io.ReadFull(s.answer, p); err != nil {
		return err
	}
	if string(p) != text {
		return fmt.Errorf("%q came back as %q", text, p)
	}
	return nil
}

// finish sends the end, and expects the answer's.
func (s *stream) finish() error {
	if _, err := io.WriteString(s.body, "and ended"); err != nil {
		return err
	}
	_ = s.body.Close() // of a pipe: nil
	if err := s.expect("and ended"); err != nil {
		return err
	}
	if n, err := s.answer.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		return fmt.Errorf("%d bytes after the end: %w", n, err)
	}
	return s.answer.Close()
}

// All streams are open at a time, on one connection.
func TestTwoHundredStreamsAtATime(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		r := start(t, backend)
		const streams = 200
		all := make([]*stream, streams)
		conntest.Each(t, streams, func(i int) (err error) {
			all[i], err = r.open()
			return err
		})
		conntest.Each(t, streams, func(i int) error { return all[i].finish() })
		r.end(t)
	})
}

// A request in progress ends before its server does. Then the ports are free.
func TestTheShutdownWaitsForRequests(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		r := start(t, backend)
		s, err := r.open()
		require.NoError(t, err)
		r.stop()
		conntest.Eventually(t, func() bool { // clients are sent away
			_, res := get(t, r.overTCP, r.url+"/plaintext")
			return res.Header.Get("Alt-Svc") == ""
		})
		require.Empty(t, r.ended, "a request is in progress")
		require.NoError(t, s.finish())
		r.overTCP.CloseIdleConnections()
		require.NoError(t, conntest.Receive(t, r.ended))
		ln, err := net.Listen("tcp", r.addr.String())
		require.NoError(t, err)
		require.NoError(t, ln.Close())
		pc, err := net.ListenPacket("udp", r.addr.String())
		require.NoError(t, err)
		require.NoError(t, pc.Close())
	})
}
