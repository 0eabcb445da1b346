package conn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// Whichever worker the accept is on, and the connection.
func TestAListenerAndAConnectionCloseWhileAWorkerIsStuck(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		const workers = 2
		for stuck := range workers {
			closed, tell := ends(1)
			f := newFixture(t, backend, workers)
			l := f.listen("tcp", "127.0.0.1:0", funcs{data: echo, close: tell})
			c := f.dial()
			write(t, c, "x")
			read(t, c, 1)
			release := f.stick(stuck)
			ended := make(chan error, 1)
			go func() { ended <- l.Close() }()
			require.NoError(t, conntest.Receive(t, ended))
			f.Abort()
			require.Error(t, conntest.Receive(t, closed))
			release()
		}
	})
}
