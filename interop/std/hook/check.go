package hook

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// Check reports whether Suiro serves the part that a mode replaces: with an overlay that does
// nothing all tests would pass. net/http's server accepts, on a connection from net.Dial.
func Check(mode string) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	types := map[string]string{"listen": fmt.Sprintf("%T", ln)}
	srv := &http.Server{ConnContext: func(ctx context.Context, c net.Conn) context.Context {
		types["http"] = fmt.Sprintf("%T", c)
		return ctx
	}}
	go func() { _ = srv.Serve(ln) }()
	defer func() { _ = srv.Close() }()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		return err
	}
	defer c.Close()
	types["dial"] = fmt.Sprintf("%T", c)
	if _, err := io.WriteString(c, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		return err
	}
	if _, err := io.ReadAll(c); err != nil { // it has been served
		return err
	}
	of := map[string]string{"listen": "*server.socketListener", "dial": "*conn.Socket", "http": "*server.httpConn"}
	for name, want := range of {
		if got := types[name]; (got == want) != (name == mode) {
			return fmt.Errorf("mode %q: %s has a %s", mode, name, strings.TrimPrefix(got, "*"))
		}
	}
	return nil
}
