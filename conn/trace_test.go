package conn_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

func TestATraceNamesConnections(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		cfg := conn.Config{}
		cfg.Reactor.Backend = backend
		g, err := conn.NewGroup(cfg, sched.Config{Workers: 1, Events: 1000})
		require.NoError(t, err)
		f := &fixture{t: t, log: &conntest.Log{}, audit: &audit{}, Group: g}
		t.Cleanup(f.close)
		f.listen("tcp", "127.0.0.1:0", funcs{data: echo})
		c := f.dial()
		write(t, c, "x")
		read(t, c, 1)
		var text bytes.Buffer
		require.NoError(t, g.WriteTrace(&text))
		require.True(t, json.Valid(text.Bytes()))
		require.Contains(t, text.String(), `"name":"*conn_test.audited `+c.LocalAddr().String()+`"`)
		require.Contains(t, text.String(), `"name":"poll"`)
	})
}
