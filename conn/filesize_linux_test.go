package conn_test

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// unsized are files whose size is not what a read of them gives: those of /sys say that they have a
// page, those of /proc that they have nothing.
var unsized = []string{"/proc/version", "/proc/filesystems", "/sys/class/net/lo/mtu", "/sys/devices/system/cpu/online"}

// sendUnsized sends each file in three ways: by sendFile, and by io.Copy with and without a limit.
func sendUnsized(to io.Writer, sendFile func(*os.File) error) error {
	for _, path := range unsized {
		for _, send := range []func(*os.File) error{
			sendFile,
			func(f *os.File) error { _, err := io.Copy(to, f); return err },
			func(f *os.File) error { _, err := io.Copy(to, io.LimitReader(f, 1<<20)); return err },
		} {
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			if err = errors.Join(send(f), f.Close()); err != nil {
				return err
			}
		}
	}
	return nil
}

// requireUnsized reads what sendUnsized sends, and nothing else before the end.
func requireUnsized(t *testing.T, c net.Conn) {
	t.Helper()
	want := ""
	for _, path := range unsized {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		want += strings.Repeat(string(b), 3)
	}
	require.Equal(t, want, string(readEOF(t, c)))
}

func TestFilesOfAnotherSizeThanTheySayAreSentAsTheyAreRead(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := serve(t, backend, workers, funcs{open: func(c *conn.Conn) error {
			return errors.Join(sendUnsized(c, func(f *os.File) error { return c.SendFile(f, 0, -1) }), c.Close())
		}})
		requireUnsized(t, f.dial())
	})
}

func TestStreamsSendFilesOfAnotherSizeThanTheySay(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		eachKindOfStream(t, backend, workers, func(s *conn.Stream) error {
			return sendUnsized(s, func(f *os.File) error { _, err := s.SendFile(f, 0, -1); return err })
		}, func(c *net.TCPConn) {
			requireUnsized(t, c)
			_ = c.Close()
		})
	})
}
