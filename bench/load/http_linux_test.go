package load

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

const request = "GET /plaintext HTTP/1.1\r\nHost: localhost\r\n\r\n"

func httpConfig(addr netip.AddrPort) Config {
	cfg := config(addr, 0)
	cfg.Request, cfg.Reply = request, "Hello, World!"
	return cfg
}

// web serves a handler to the returned address until the test ends.
func httpServer(t *testing.T, start func(*httptest.Server), h http.HandlerFunc) netip.AddrPort {
	s := httptest.NewUnstartedServer(h)
	start(s)
	t.Cleanup(s.Close)
	return netip.MustParseAddrPort(s.Listener.Addr().String())
}

func hello(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "Hello, World!") }

func TestHTTPCountsAnswersWithTheRightBody(t *testing.T) {
	addr := httpServer(t, (*httptest.Server).Start, hello)
	for _, depth := range []int{1, 16} {
		for _, rate := range []float64{0, 1000} {
			cfg := httpConfig(addr)
			cfg.Depth, cfg.Rate = depth, rate
			r, err := patiently(HTTP, cfg)
			require.NoError(t, err)
			require.Positive(t, r.Count)
			require.Positive(t, r.Latency.P50)
		}
	}
}

func TestPipelinesLeaveTogetherAndTheNextWhenAllAreBack(t *testing.T) {
	var most atomic.Int64 // one connection writes it
	cfg := httpConfig(serve(t, func(c net.Conn) {
		p := make([]byte, 1<<20)
		for {
			n, err := c.Read(p)
			if err != nil {
				return
			}
			requests := strings.Count(string(p[:n]), request)
			most.Store(max(most.Load(), int64(requests)))
			for range requests {
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nHello, World!")
			}
		}
	}))
	cfg.Conns, cfg.Depth = 1, 16
	r, err := patiently(HTTP, cfg)
	require.NoError(t, err)
	require.Positive(t, r.Count)
	require.EqualValues(t, 16, most.Load())
}

func TestAnswersMayComeInAnyPieces(t *testing.T) {
	answer := "HTTP/1.1 200 OK\r\ncontent-length:  13\r\nDate: now\r\n\r\nHello, World!"
	for cut := range len(answer) {
		d := &web{body: []byte("Hello, World!")}
		var a answer2
		two := answer + answer
		require.Equal(t, 2, a.feed(t, d, two[:cut], two[cut:]), "cut at %d", cut)
		require.Equal(t, 2, a.feed(t, d, two[:cut+1], two[cut+1:]), "cut at %d, with the last answer known", cut+1)
	}
}

type answer2 struct{ answer }

// feed counts the whole answers in those pieces.
func (a *answer2) feed(t *testing.T, d *web, pieces ...string) (n int) {
	for _, p := range pieces {
		for got := []byte(p); len(got) > 0; {
			used, whole, err := d.accept(&a.answer, 0, got)
			require.NoError(t, err)
			got = got[used:]
			if whole {
				n++
			}
		}
	}
	return n
}

func TestAWrongAnswerOfHTTPFailsTheRun(t *testing.T) {
	right := "HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nHello, World!"
	for what, answer := range map[string]string{
		"a wrong byte":    strings.Replace(right, "World", "Vorld", 1),
		"another status":  strings.Replace(right, "200 OK", "404 Not Found", 1),
		"another length":  strings.Replace(right, "13", "12", 1),
		"no length":       strings.Replace(right, "Content-Length: 13\r\n", "", 1),
		"no number":       strings.Replace(right, "13", "xiii", 1),
		"an endless head": strings.Repeat("x", maxHead+1),
		"one too many":    right + right,
	} {
		t.Run(what, func(t *testing.T) {
			_, err := patiently(HTTP, httpConfig(serve(t, change(func([]byte) []byte { return []byte(answer) }))))
			require.Error(t, err)
		})
	}
	served := 0
	corrupts := change(func([]byte) []byte {
		if served++; served%10 == 0 {
			return []byte(strings.Replace(right, "!", "?", 1))
		}
		return []byte(right)
	})
	cfg := httpConfig(serve(t, corrupts))
	cfg.Conns = 1
	_, err := patiently(HTTP, cfg)
	require.ErrorContains(t, err, "wrong bytes", "which comes after answers that were right")
}

func TestTLSIsMeasuredInBothLoops(t *testing.T) {
	addr := httpServer(t, (*httptest.Server).StartTLS, hello)
	for _, rate := range []float64{0, 500} {
		cfg := httpConfig(addr)
		cfg.TLS, cfg.Rate, cfg.Depth = true, rate, 4
		r, err := patiently(HTTP, cfg)
		require.NoError(t, err)
		require.Positive(t, r.Count)
	}
	cfg := httpConfig(addr)
	cfg.TLS, cfg.Reply = true, "Hello, Worlds"
	_, err := patiently(HTTP, cfg)
	require.ErrorContains(t, err, "wrong bytes")
	cfg.Addr = serve(t, echo)
	_, err = patiently(HTTP, cfg)
	require.Error(t, err, "no TLS is spoken there")
}
