//go:build unix

package server_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

func patience(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), conntest.Patience)
	t.Cleanup(cancel)
	return ctx
}

// textFile is an open file with a text.
func textFile(t *testing.T, text string) *os.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	f, err := os.Open(name)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// returnFiles reads each file that it receives and sends it back with its contents.
func returnFiles(cx *sched.Context, s *server.UnixStream) error {
	defer s.Close()
	for p := make([]byte, 1); ; {
		n, files, err := s.RecvFiles(cx, p)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for _, f := range files {
			defer f.Close()
			contents := make([]byte, 100)
			m, _ := f.ReadAt(contents, 0)
			if _, err := s.SendFiles(cx, contents[:m], []*os.File{f}); err != nil {
				return err
			}
		}
		if len(files) != n {
			return fmt.Errorf("%d files with %d bytes", len(files), n)
		}
	}
}

// serveFiles accepts on a path and returns the error of Accept at its end.
func serveFiles(t *testing.T, s *server.Server, path string) (*server.UnixListener, <-chan error) {
	t.Helper()
	l, err := s.ListenUnix(path)
	require.NoError(t, err)
	ended, rt := make(chan error, 1), s.Group().Runtime()
	sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
		for {
			u, err := l.Accept(cx)
			if err != nil {
				ended <- err
				return struct{}{}, nil
			}
			sched.Go(cx, func(cx *sched.Context) (struct{}, error) { return struct{}{}, returnFiles(cx, u) }).Detach()
		}
	}).Detach()
	return l, ended
}

// sendAndReceive passes a file to the server and gets it back.
func sendAndReceive(ctx context.Context, c *server.UnixStream, f *os.File, text string) error {
	for range 3 {
		if _, err := c.SendFiles(ctx, []byte("x"), []*os.File{f}); err != nil {
			return err
		}
		p := make([]byte, 100)
		n, files, err := c.RecvFiles(ctx, p)
		if err != nil || len(files) != 1 || string(p[:n]) != text {
			return fmt.Errorf("%q with %d files: %w", p[:n], len(files), err)
		}
		contents := make([]byte, 100)
		n, _ = files[0].ReadAt(contents, 0)
		if string(contents[:n]) != text {
			return fmt.Errorf("the file has %q", contents[:n])
		}
		if err := files[0].Close(); err != nil {
			return err
		}
	}
	return nil
}

// The fixture of the package counts descriptors: a file that nobody closes fails the test.
func TestFilesPassBetweenAServerAndADialer(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		conntest.Guard(t)
		s, path := &server.Server{Backend: backend, Workers: workers}, filepath.Join(t.TempDir(), "s")
		_, ended := serveFiles(t, s, path)
		rt := s.Group().Runtime()
		d := server.Dialer{Group: s.Group}
		f := textFile(t, "contents")
		conntest.Each(t, 8, func(int) error {
			c, err := d.DialUnix(patience(t), path)
			if err != nil {
				return err
			}
			defer c.Close()
			if cred, err := c.PeerCred(); err != nil || cred.UID != uint32(os.Getuid()) {
				return fmt.Errorf("the peer is %v: %w", cred, err)
			}
			return sendAndReceive(patience(t), c, f, "contents")
		})
		task := sched.Go(rt, func(cx *sched.Context) (int, error) {
			c, err := d.DialUnix(cx, path)
			if err != nil {
				return 0, err
			}
			defer c.Close()
			if _, err := c.SendFiles(cx, []byte("x"), []*os.File{f}); err != nil {
				return 0, err
			}
			_, files, err := c.RecvFiles(cx, make([]byte, 100))
			for _, f := range files {
				_ = f.Close()
			}
			return len(files), err
		})
		n, err := task.Wait(patience(t))
		require.NoError(t, err)
		require.Equal(t, 1, n)
		lasts, err := d.DialUnix(patience(t), path)
		require.NoError(t, err)
		require.NoError(t, s.Shutdown(patience(t)))
		require.ErrorIs(t, conntest.Receive(t, ended), net.ErrClosed)
		require.ErrorIs(t, lasts.Close(), net.ErrClosed)
		_, err = os.Lstat(path)
		require.ErrorIs(t, err, os.ErrNotExist)
		conntest.Receive(t, rt.Done())
	})
}

// The workers stop when the listener is closed and the last connection has ended.
func TestAUnixListenerThatIsClosedLeavesItsConnections(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		conntest.Guard(t)
		s, path := &server.Server{Backend: backend, Workers: 2}, filepath.Join(t.TempDir(), "s")
		l, ended := serveFiles(t, s, path)
		rt := s.Group().Runtime()
		d := server.Dialer{Group: s.Group}
		c, err := d.DialUnix(patience(t), path)
		require.NoError(t, err)
		f := textFile(t, "x")
		require.NoError(t, sendAndReceive(patience(t), c, f, "x"))
		require.NoError(t, l.Close())
		require.ErrorIs(t, l.Close(), net.ErrClosed)
		require.ErrorIs(t, conntest.Receive(t, ended), net.ErrClosed)
		_, err = l.TryAccept()
		require.ErrorIs(t, err, net.ErrClosed)
		require.NoError(t, sendAndReceive(patience(t), c, f, "x"))
		require.NoError(t, c.Close())
		conntest.Receive(t, rt.Done())
	})
}

// Connections and their files that nobody takes are closed with the listener, and Accept can be
// dropped.
func TestUnixConnectionsThatNobodyTakesAreClosed(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		conntest.Guard(t)
		s, path := &server.Server{Backend: backend, Workers: workers}, filepath.Join(t.TempDir(), "s")
		l, err := s.ListenUnix(path)
		require.NoError(t, err)
		dropped := sched.Spawn(s.Group().Runtime(), l.AcceptFuture())
		dropped.Abort()
		_, err = dropped.Wait(patience(t))
		require.ErrorIs(t, err, sched.ErrCanceled)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = l.Accept(ctx)
		require.ErrorIs(t, err, context.Canceled)
		_, err = l.TryAccept()
		require.Equal(t, server.ErrNoneArrived, err)
		var all []net.Conn
		for range 3 {
			c, err := net.Dial("unix", path)
			require.NoError(t, err)
			defer c.Close()
			_, _, err = c.(*net.UnixConn).WriteMsgUnix([]byte("x"), unix.UnixRights(int(textFile(t, "x").Fd())), nil)
			require.NoError(t, err)
			all = append(all, c)
		}
		u, err := l.Accept(patience(t))
		require.NoError(t, err)
		require.NoError(t, l.Close())
		require.NoError(t, u.Close())
		for _, c := range all {
			_ = c.SetDeadline(time.Now().Add(conntest.Patience))
			_, err := c.Read(make([]byte, 1))
			require.Error(t, err)
			require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
		}
		require.NoError(t, s.Close())
	})
}

// Close races with receives, sends and accepts on both sides. The guard counts leaks.
func TestCloseOfAServerRacesWithFiles(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		conntest.Guard(t)
		f := textFile(t, "x")
		for range 5 {
			s, path := &server.Server{Backend: backend, Workers: workers}, filepath.Join(t.TempDir(), "s")
			serveFiles(t, s, path)
			d, going := server.Dialer{Group: s.Group}, make(chan struct{}, 4)
			done := make(chan struct{})
			go func() {
				defer close(done)
				conntest.Each(t, 4, func(int) error {
					c, err := d.DialUnix(patience(t), path)
					for err == nil {
						err = sendAndReceive(patience(t), c, f, "x")
						select {
						case going <- struct{}{}:
						default:
						}
					}
					if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
						return err
					}
					return nil
				})
			}()
			conntest.Receive(t, going)
			require.NoError(t, s.Close())
			conntest.Receive(t, done)
		}
	})
}

func TestUnixConnectionsCountAndEndAsMembers(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		conntest.Guard(t)
		cfg := conn.Config{MaxConns: 1, Overflow: conn.OverflowWait}
		cfg.Reactor.Backend = backend
		g, err := conn.NewGroup(cfg, sched.Config{Workers: 2})
		require.NoError(t, err)
		defer g.Close()
		s, path := &server.Server{On: g}, filepath.Join(t.TempDir(), "s")
		l, err := s.ListenUnix(path)
		require.NoError(t, err)
		for range 3 {
			c, err := net.Dial("unix", path)
			require.NoError(t, err)
			defer c.Close()
		}
		first, err := l.Accept(patience(t))
		require.NoError(t, err)
		_, err = l.TryAccept()
		require.Equal(t, server.ErrNoneArrived, err, "there is room for one")
		require.NoError(t, first.Close())
		second, err := l.Accept(patience(t))
		require.NoError(t, err)
		require.NoError(t, s.Shutdown(patience(t)))
		require.ErrorIs(t, second.Close(), net.ErrClosed)
		require.NoError(t, g.Wait(patience(t)))
	})
}

func TestUnixDialsThatFail(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		conntest.Guard(t)
		s, path := &server.Server{Backend: backend, Workers: 1}, filepath.Join(t.TempDir(), "s")
		_, ended := serveFiles(t, s, path)
		d := server.Dialer{Group: s.Group}
		fails := func(d server.Dialer, path string, want error) {
			t.Helper()
			var oe *net.OpError
			_, err := d.DialUnix(patience(t), path)
			require.ErrorAs(t, err, &oe)
			require.Equal(t, "dial", oe.Op)
			require.ErrorIs(t, err, want)
		}
		fails(d, path+"nowhere", os.ErrNotExist)
		fails(server.Dialer{Group: s.Group, TLS: &tls.Config{}}, path, errors.ErrUnsupported)
		fails(server.Dialer{Group: s.Group, Timeout: -1}, path, os.ErrDeadlineExceeded)
		fails(server.Dialer{Group: s.Group, Control: func(string, string, syscall.RawConn) error { return io.ErrNoProgress }}, path, io.ErrNoProgress)
		_, err := (&server.Server{TLS: &tls.Config{}}).ListenUnix(path + "tls")
		require.ErrorIs(t, err, errors.ErrUnsupported)
		_, err = s.ListenUnix(path)
		require.ErrorIs(t, err, syscall.EADDRINUSE)
		require.NoError(t, s.Close())
		conntest.Receive(t, ended)
		_, err = s.ListenUnix(path)
		require.ErrorIs(t, err, server.ErrServerClosed)
	})
}

// A dial waits while the backlog is full. It ends by its time-out, its context, and room.
func TestAUnixDialWaitsForRoomInTheBacklog(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems refuse a connection when the backlog is full")
	}
	conntest.Backends(t, func(t *testing.T, backend string) {
		conntest.Guard(t)
		path := filepath.Join(t.TempDir(), "s")
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		require.NoError(t, err)
		unix.CloseOnExec(fd)
		defer unix.Close(fd)
		require.NoError(t, unix.Bind(fd, &unix.SockaddrUnix{Name: path}))
		require.NoError(t, unix.Listen(fd, 0))
		cfg := conn.Config{}
		cfg.Reactor.Backend = backend
		g, err := conn.NewGroup(cfg, sched.Config{Workers: 1})
		require.NoError(t, err)
		defer g.Close()
		d := server.Dialer{Group: func() *conn.Group { return g }}
		first, err := d.DialUnix(patience(t), path)
		require.NoError(t, err)
		defer first.Close()
		late := d
		late.Timeout = 10 * time.Millisecond
		_, err = late.DialUnix(patience(t), path)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		waits := sched.Spawn(g.Runtime(), d.DialUnixFuture(path))
		aborted := sched.Spawn(g.Runtime(), d.DialUnixFuture(path))
		aborted.Abort()
		_, err = aborted.Wait(patience(t))
		require.ErrorIs(t, err, sched.ErrCanceled)
		got, _, err := unix.Accept(fd)
		require.NoError(t, err)
		defer unix.Close(got)
		second, err := waits.Wait(patience(t))
		require.NoError(t, err)
		require.NoError(t, second.Close())
		require.NoError(t, first.Close())
		require.NoError(t, g.Wait(patience(t)))

		// A dial that waits on another runtime ends with its group. The backlog is full still.
		rt := sched.New(sched.Config{Workers: 1})
		defer rt.Close()
		waits = sched.Spawn(rt, d.DialUnixFuture(path))
		blocked := make(chan error, 1)
		go func() { _, err := d.DialUnix(patience(t), path); blocked <- err }()
		require.NoError(t, g.Close())
		_, err = waits.Wait(patience(t))
		require.ErrorIs(t, err, net.ErrClosed)
		require.ErrorIs(t, conntest.Receive(t, blocked), net.ErrClosed)
	})
}
