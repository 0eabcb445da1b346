package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

var program string

func TestMain(m *testing.M) { conntest.Main(m, func(path string) { program = path }) }

func TestCommandLine(t *testing.T) {
	conntest.CommandLine(t, program, func(t *testing.T, c net.Conn) {
		_, err := io.WriteString(c, "GET /plaintext HTTP/1.1\r\nHost: a\r\n\r\n")
		require.NoError(t, err)
		resp, body := readResponse(t, bufio.NewReader(c), "GET")
		require.Equal(t, 200, resp.StatusCode)
		require.Equal(t, plaintext, body)
	})
}

func TestLimitsAndTimeoutsAreFlags(t *testing.T) {
	conntest.Guard(t)
	p := conntest.Start(t, program, "-max-line", "30", "-max-header", "60", "-max-body", "10",
		"-header-timeout", "50ms", "-body-timeout", "50ms", "-idle-timeout", "1h")
	for text, status := range map[string]int{
		"GET /0123456789012345678901234567 HTTP/1.1\r\nHost: a\r\n\r\n":                                                  414,
		"GET / HTTP/1.1\r\nHost: a\r\nX: 0123456789012345678901234567890123456789012345678901234567890123456789\r\n\r\n": 431,
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n":                                                       413,
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n":                                                       408,
		"GET / HTT": 408,
	} {
		c := p.Dial()
		_, err := io.WriteString(c, text)
		require.NoError(t, err)
		resp, _ := readResponse(t, bufio.NewReader(c), "GET")
		require.Equal(t, status, resp.StatusCode, text)
		require.True(t, resp.Close)
		require.NoError(t, c.Close())
	}
}

func TestCurl(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	conntest.Backends(t, func(t *testing.T, backend string) {
		p := conntest.Start(t, program, "-backend", backend, "-workers", "2")
		run := func(args ...string) string {
			t.Helper()
			out, err := exec.Command(curl, append([]string{"-sS", "--max-time", "60"}, args...)...).CombinedOutput()
			require.NoError(t, err, "%s", out)
			return string(out)
		}
		url := "http://" + p.Addr
		require.Equal(t, plaintext, run(url+"/plaintext"))
		require.Equal(t, json+json, run(url+"/json", url+"/json"), "keep-alive")
		require.Equal(t, "a body", run("-d", "a body", url+"/echo"))
		require.Equal(t, "a body", run("-d", "a body", "-H", "Expect: 100-continue", url+"/echo"))
		require.Equal(t, "a body", run("-d", "a body", "-H", "Transfer-Encoding: chunked", url+"/echo"))
		require.Equal(t, plaintext, run("--http1.0", url+"/plaintext"))
		require.Contains(t, run("-I", url+"/plaintext"), "Content-Length: 13\r\n")
		page := run(url + "/")
		for _, part := range []string{"<dd>" + backend + "</dd>", "<dt>Workers</dt><dd>2</dd>", kernel()} {
			require.Contains(t, page, part)
		}
	})
}

// A site is the server inside the test, so that the race detector sees it.
type site struct {
	*server.Server
	t    *testing.T
	addr string
}

func serve(t *testing.T, backend string, workers int, configure ...func(*handler)) *site {
	t.Helper()
	h := newHandler()
	h.limits.Body = 8 << 20
	for _, c := range configure {
		c(h)
	}
	s := &server.Server{Handler: h, Addr: "127.0.0.1:0", Backend: backend, Workers: workers}
	log := &conntest.Log{}
	s.Logger = log.Logger()
	listening, served := make(chan string, 1), make(chan error, 1)
	s.Listening = func(a net.Addr) {
		h.describe(s.Group())
		listening <- a.String()
	}
	go func() { served <- s.ListenAndServe() }()
	site := &site{Server: s, t: t}
	select {
	case site.addr = <-listening:
	case err := <-served:
		t.Fatal(err)
	}
	conntest.Report(t, func() string { return log.String() })
	t.Cleanup(func() {
		_ = s.Close()
		require.Equal(t, server.ErrServerClosed, conntest.Receive(t, served))
		require.Zero(t, s.Group().Len())
		require.Zero(t, log.Count("ERROR"), "%v", log)
	})
	return site
}

func (s *site) dial() net.Conn {
	s.t.Helper()
	c, err := s.connect()
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (s *site) connect() (net.Conn, error) {
	c, err := net.DialTimeout("tcp", s.addr, conntest.Patience)
	if err == nil {
		err = c.SetDeadline(time.Now().Add(conntest.Patience))
	}
	return c, err
}

// readResponse reads a response, whole.
func readResponse(t *testing.T, r *bufio.Reader, method string) (*http.Response, string) {
	t.Helper()
	resp, err := http.ReadResponse(r, &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%v\n%s", err, conntest.Dump())
	}
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(body)
}
