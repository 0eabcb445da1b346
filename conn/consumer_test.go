package conn_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// A user's handler may embed the Socket or Stream of another connection, which may be nil. It has
// the methods of the package's own then, unexported ones included, and is a plain handler still.
func TestAHandlerThatEmbedsASocketOrAStreamIsAPlainHandler(t *testing.T) {
	handlers := map[string]conn.Handler{
		"a Socket": struct {
			funcs
			*conn.Socket
		}{funcs: funcs{data: echo}},
		"a Stream": struct {
			funcs
			*conn.Stream
		}{funcs: funcs{data: echo}},
	}
	conntest.Backends(t, func(t *testing.T, backend string) {
		for name, h := range handlers {
			t.Run(name, func(t *testing.T) {
				f := newFixture(t, backend, 1)
				f.listenTo(h)
				c := f.dial()
				write(t, c, "x")
				require.Equal(t, "x", string(read(t, c, 1)))
				require.NoError(t, c.(*net.TCPConn).CloseWrite())
				conntest.Eventually(t, func() bool { return f.Len() == 0 })
			})
		}
	})
}
