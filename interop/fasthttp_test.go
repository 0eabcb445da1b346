package interop

import (
	"bufio"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/suiro-go/suiro/internal/conntest"
)

// fasthttp's server serves our listener, for its own client: bodies of all sizes, several
// at a time, chunks, and Shutdown.
func TestFasthttpServesOurListener(t *testing.T) {
	onSides(t, nil, func(t *testing.T, s side) {
		ln := s.listen(t)
		fs := &fasthttp.Server{
			MaxRequestBodySize:    8 << 20,
			CloseOnShutdown:       true,
			NoDefaultDate:         true, // a goroutine for good
			MaxIdleWorkerDuration: time.Millisecond,
			Handler: func(ctx *fasthttp.RequestCtx) {
				if string(ctx.Path()) == "/chunks" {
					ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
						for i := range 100 {
							fmt.Fprintln(w, "chunk", i)
							_ = w.Flush()
						}
					})
					return
				}
				ctx.SetBody(ctx.PostBody())
			},
		}
		served := make(chan error, 1)
		go func() { served <- fs.Serve(ln) }()
		client := &fasthttp.HostClient{Addr: ln.Addr().String(), IsTLS: s.of != nil, TLSConfig: s.client, MaxConns: 100, ReadTimeout: conntest.Patience,
			MaxIdleConnDuration: time.Millisecond, Dial: func(addr string) (net.Conn, error) { return net.Dial("tcp", addr) }}
		scheme := map[bool]string{false: "http://", true: "https://"}[s.of != nil]
		all := messages()
		conntest.Each(t, 20, func(i int) error {
			req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			for k := range all {
				body := all[(i+k)%len(all)]
				req.Reset()
				req.SetRequestURI(scheme + ln.Addr().String() + "/echo")
				req.Header.SetMethod("POST")
				req.SetBody(body)
				if err := client.Do(req, resp); err != nil {
					return err
				}
				if resp.StatusCode() != 200 || string(resp.Body()) != string(body) {
					return fmt.Errorf("%d: %d bytes came back, not %d", resp.StatusCode(), len(resp.Body()), len(body))
				}
			}
			return nil
		})
		status, body, err := client.Get(nil, scheme+ln.Addr().String()+"/chunks")
		require.NoError(t, err)
		require.Equal(t, 200, status)
		require.Contains(t, string(body), "chunk 99\n")
		client.CloseIdleConnections()
		require.NoError(t, fs.Shutdown())
		require.NoError(t, conntest.Receive(t, served))
	})
}
