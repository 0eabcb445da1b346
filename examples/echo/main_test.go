package main

import (
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

var program string

func TestMain(m *testing.M) { conntest.Main(m, func(path string) { program = path }) }

func TestCommandLine(t *testing.T) {
	conntest.CommandLine(t, program, func(t *testing.T, c net.Conn) {
		_, err := io.WriteString(c, "hello")
		require.NoError(t, err)
		p := make([]byte, 5)
		_, err = io.ReadFull(c, p)
		require.NoError(t, err)
		require.Equal(t, "hello", string(p))
	})
}

func TestEchoReturnsEverythingAndThenTheFIN(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		p := conntest.Start(t, program, "-backend", backend)
		text := strings.Repeat("every byte in order; ", 50_000)
		conntest.Each(t, 20, func(int) error {
			c, err := net.Dial("tcp", p.Addr)
			if err != nil {
				return err
			}
			defer c.Close()
			go func() {
				_, _ = io.WriteString(c, text)
				_ = c.(*net.TCPConn).CloseWrite()
			}()
			back, err := io.ReadAll(c)
			if err == nil && string(back) != text {
				err = io.ErrUnexpectedEOF
			}
			return err
		})
	})
}
