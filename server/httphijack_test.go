package server_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/websocket"

	"github.com/suiro-go/suiro/internal/conntest"
)

// A WebSocket begins as a request, on a connection that has had others and was idle, and
// lives on as it is.
func TestWebSocketsComeFromHijackedConnections(t *testing.T) {
	withAndWithoutTLS(t, func() *http.Server {
		mux := http.NewServeMux()
		mux.Handle("/", site())
		mux.Handle("/ws", websocket.Handler(func(c *websocket.Conn) {
			for {
				var text string
				if websocket.Message.Receive(c, &text) != nil {
					return
				}
				if websocket.Message.Send(c, strings.ToUpper(text)) != nil {
					return
				}
			}
		}))
		return &http.Server{Handler: mux, ReadTimeout: conntest.Patience, WriteTimeout: conntest.Patience, IdleTimeout: conntest.Patience}
	}, func(h *httpSide) {
		conntest.Each(h.T, 20, func(i int) error {
			w := h.dial()
			w.send(hello)
			if a := w.answer("GET"); !strings.Contains(a, "hello") {
				return fmt.Errorf("%s", a)
			}
			time.Sleep(5 * httpLinger) // it is mostly without its goroutine then
			cfg, err := websocket.NewConfig("ws://"+h.addr+"/ws", "http://"+h.addr)
			if err != nil {
				return err
			}
			c, err := websocket.NewClient(cfg, w.Conn)
			if err != nil {
				return err
			}
			for k := range 50 {
				text := fmt.Sprint(strings.Repeat("a", k*100), i)
				var got string
				if err := websocket.Message.Send(c, text); err != nil {
					return err
				}
				if err := websocket.Message.Receive(c, &got); err != nil {
					return err
				}
				if got != strings.ToUpper(text) {
					return fmt.Errorf("%q is not %q", got, text)
				}
			}
			return c.Close()
		})
	})
}

// A hijacked connection has the methods of a Socket, and no deadline that net/http set.
func TestHijackedConnectionsAreSockets(t *testing.T) {
	type socket interface {
		CloseRead() error
		CloseWrite() error
		SetNoDelay(bool) error
		SetLinger(int) error
	}
	const limit = 50 * time.Millisecond
	var is chan bool
	onHTTP(t, func() *http.Server {
		is = make(chan bool, 1)
		return &http.Server{ReadTimeout: limit, WriteTimeout: limit,
			Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				c, rw, err := w.(http.Hijacker).Hijack()
				if err != nil {
					panic(err)
				}
				_, ok := c.(socket)
				is <- ok
				go func() {
					defer c.Close()
					line, err := rw.ReadString('\n')
					fmt.Fprint(c, line, err)
				}()
			})}
	}, func(h *httpSide) {
		for first := time.Now(); ; {
			require.Less(h.T, time.Since(first), conntest.Patience)
			began, ended := time.Now(), make(chan string, 1)
			w := h.dial()
			go func() { ended <- w.end() }()
			_, _ = io.WriteString(w, hello)
			select {
			case ok := <-is:
				require.True(h.T, ok)
				time.Sleep(2 * limit) // after which the deadlines would have passed
				w.send("line\n")
				require.Equal(h.T, `"line\n<nil>", end: <nil>`, conntest.Receive(h.T, ended))
				return
			case end := <-ended: // before there was a request
				require.GreaterOrEqual(h.T, time.Since(began), limit, end)
			}
		}
	})
}
