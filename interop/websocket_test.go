package interop

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	coder "github.com/coder/websocket"
	gorilla "github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// onWays serves a handler in each way, on each backend, without TLS and with it.
func onWays(t *testing.T, h http.Handler, test func(t *testing.T, s side, addr string)) {
	for name, serve := range ways {
		t.Run(name, func(t *testing.T) {
			onSides(t, nil, func(t *testing.T, s side) { test(t, s, serve(s, t, h)) })
		})
	}
}

// url is that of a WebSocket.
func (s side) url(addr, path string) string {
	if s.of != nil {
		return "wss://" + addr + path
	}
	return "ws://" + addr + path
}

// gorillaEcho echoes messages in fragments of 10,000 bytes, until "close", which it answers by
// closing with 4000.
func gorillaEcho(w http.ResponseWriter, r *http.Request) {
	const fragment = 10_000
	up := gorilla.Upgrader{WriteBufferSize: fragment, EnableCompression: r.URL.Query().Has("compress")}
	c, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer c.Close()
	for {
		kind, p, err := c.ReadMessage()
		if err != nil {
			return
		}
		if string(p) == "close" {
			_ = c.WriteControl(gorilla.CloseMessage, gorilla.FormatCloseMessage(4000, "as you wish"), time.Now().Add(conntest.Patience))
			_, _, _ = c.ReadMessage() // until the client has closed
			return
		}
		m, err := c.NextWriter(kind)
		for piece := range slices.Chunk(p, fragment) { // more at a time would not be cut
			if err == nil {
				_, err = m.Write(piece)
			}
		}
		if err != nil || m.Close() != nil {
			return
		}
	}
}

// coderEcho is the same by the other library.
func coderEcho(w http.ResponseWriter, r *http.Request) {
	c, err := coder.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = c.CloseNow() }()
	c.SetReadLimit(8 << 20)
	for {
		kind, p, err := c.Read(r.Context())
		if err != nil {
			return
		}
		if string(p) == "close" {
			_ = c.Close(4000, "as you wish")
			return
		}
		if c.Write(r.Context(), kind, p) != nil {
			return
		}
	}
}

func sockets() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/gorilla", gorillaEcho)
	mux.HandleFunc("/coder", coderEcho)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "no socket") })
	return mux
}

var paths = []string{"/gorilla", "/coder"}

// messages are of all the sizes that a length is written in.
func messages() [][]byte {
	var all [][]byte
	for i, n := range []int{0, 1, 125, 126, 4096, 65535, 65536, 1 << 20} {
		p := make([]byte, n)
		r := rand.NewChaCha8([32]byte{byte(i)})
		_, _ = r.Read(p)
		for k := range p {
			p[k] = 'a' + p[k]%26 // text, too
		}
		all = append(all, p)
	}
	return all
}

func dialGorilla(s side, url string) (*gorilla.Conn, error) {
	d := gorilla.Dialer{TLSClientConfig: s.client, HandshakeTimeout: conntest.Patience, WriteBufferSize: 1000}
	c, _, err := d.Dial(url, nil)
	if err == nil {
		err = errors.Join(c.SetReadDeadline(time.Now().Add(conntest.Patience)), c.SetWriteDeadline(time.Now().Add(conntest.Patience)))
	}
	return c, err
}

func TestGorillasWebSocketsAreServed(t *testing.T) {
	all := messages()
	onWays(t, sockets(), func(t *testing.T, s side, addr string) {
		for _, path := range paths {
			conntest.Each(t, 3, func(int) error {
				c, err := dialGorilla(s, s.url(addr, path))
				if err != nil {
					return err
				}
				defer c.Close()
				pong := ""
				c.SetPongHandler(func(p string) error { pong = p; return nil })
				for k, p := range all {
					for _, kind := range []int{gorilla.TextMessage, gorilla.BinaryMessage} {
						if err := c.WriteControl(gorilla.PingMessage, []byte{byte(k)}, time.Now().Add(conntest.Patience)); err != nil {
							return err
						}
						w, err := c.NextWriter(kind)
						if err != nil {
							return err
						}
						sent := make(chan error, 1)
						go func() { // in fragments, while the first come back
							_, err := w.Write(p)
							sent <- errors.Join(err, w.Close())
						}()
						got, back, err := c.ReadMessage()
						if err != nil || got != kind || !bytes.Equal(back, p) {
							return fmt.Errorf("%s: %d bytes of kind %d came back, not %d of %d: %v", path, len(back), got, len(p), kind, err)
						}
						if err := <-sent; err != nil {
							return err
						}
						if pong != string([]byte{byte(k)}) {
							return fmt.Errorf("%s: pong %q to %d", path, pong, k)
						}
					}
				}
				if err := c.WriteMessage(gorilla.TextMessage, []byte("close")); err != nil {
					return err
				}
				_, _, err = c.ReadMessage()
				var ended *gorilla.CloseError
				if !errors.As(err, &ended) || ended.Code != 4000 || ended.Text != "as you wish" {
					return fmt.Errorf("%s ended with %v", path, err)
				}
				return nil
			})
		}
	})
}

func TestCodersWebSocketsAreServed(t *testing.T) {
	all := messages()
	onWays(t, sockets(), func(t *testing.T, s side, addr string) {
		tr := &http.Transport{TLSClientConfig: s.client}
		defer tr.CloseIdleConnections()
		for _, path := range paths {
			conntest.Each(t, 3, func(int) error {
				ctx, cancel := context.WithTimeout(t.Context(), conntest.Patience)
				defer cancel()
				c, _, err := coder.Dial(ctx, s.url(addr, path), &coder.DialOptions{HTTPClient: &http.Client{Transport: tr}, CompressionMode: coder.CompressionDisabled})
				if err != nil {
					return err
				}
				defer func() { _ = c.CloseNow() }()
				c.SetReadLimit(8 << 20)
				for _, p := range all {
					if err := c.Write(ctx, coder.MessageBinary, p); err != nil {
						return err
					}
					kind, got, err := c.Read(ctx)
					if err != nil || kind != coder.MessageBinary || !bytes.Equal(got, p) {
						return fmt.Errorf("%s: %d bytes of kind %v came back: %v", path, len(got), kind, err)
					}
				}
				if err := c.Write(ctx, coder.MessageText, []byte("close")); err != nil {
					return err
				}
				_, _, err = c.Read(ctx)
				if code := coder.CloseStatus(err); code != 4000 {
					return fmt.Errorf("%s ended with %d: %v", path, code, err)
				}
				return nil
			})
		}
	})
}

// A client that closes is answered in kind, and leaves nothing behind (conntest.Guard).
func TestWebSocketsThatTheClientEndsAreOver(t *testing.T) {
	onWays(t, sockets(), func(t *testing.T, s side, addr string) {
		for _, path := range paths {
			c, err := dialGorilla(s, s.url(addr, path))
			require.NoError(t, err)
			bye := gorilla.FormatCloseMessage(gorilla.CloseGoingAway, "enough")
			require.NoError(t, c.WriteControl(gorilla.CloseMessage, bye, time.Now().Add(conntest.Patience)))
			_, _, err = c.ReadMessage()
			require.True(t, gorilla.IsCloseError(err, gorilla.CloseGoingAway), err)
			require.NoError(t, c.Close())

			c, err = dialGorilla(s, s.url(addr, path)) // one that does not say so
			require.NoError(t, err)
			require.NoError(t, c.NetConn().Close())
		}
	})
}

// With permessage-deflate only the library compresses the bytes on the wire.
func TestCompressedWebSocketsAreServed(t *testing.T) {
	text := bytes.Repeat([]byte("compress me, "), 20_000)
	onWays(t, sockets(), func(t *testing.T, s side, addr string) {
		d := gorilla.Dialer{TLSClientConfig: s.client, EnableCompression: true}
		c, r, err := d.Dial(s.url(addr, "/gorilla?compress"), nil)
		require.NoError(t, err)
		require.Contains(t, r.Header.Get("Sec-WebSocket-Extensions"), "permessage-deflate")
		require.NoError(t, c.SetCompressionLevel(flate.BestCompression))
		require.NoError(t, c.WriteMessage(gorilla.TextMessage, text))
		_, got, err := c.ReadMessage()
		require.NoError(t, err)
		require.True(t, bytes.Equal(text, got))
		require.NoError(t, c.Close())
	})
}

// A request that is none for a WebSocket is answered as any other.
func TestRequestsThatAskForNoSocketAreRefused(t *testing.T) {
	onWays(t, sockets(), func(t *testing.T, s side, addr string) {
		tr := &http.Transport{TLSClientConfig: s.client}
		defer tr.CloseIdleConnections()
		scheme := map[bool]string{false: "http://", true: "https://"}[s.of != nil]
		for path, status := range map[string]int{"/gorilla": http.StatusBadRequest, "/coder": http.StatusUpgradeRequired, "/": http.StatusOK} {
			r, err := (&http.Client{Transport: tr, Timeout: conntest.Patience}).Get(scheme + addr + path)
			require.NoError(t, err)
			_, err = io.Copy(io.Discard, r.Body)
			require.NoError(t, err)
			require.NoError(t, r.Body.Close())
			require.Equal(t, status, r.StatusCode, path)
		}
	})
}
