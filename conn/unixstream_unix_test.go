//go:build unix

package conn_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// unixStreams is a UnixStream and its peer, a connection of package net.
func unixStreams(t *testing.T, f *fixture) (*conn.UnixStream, *net.UnixConn) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	require.NoError(t, err)
	var ends [2]*net.UnixConn
	for i, fd := range pair {
		unix.CloseOnExec(fd)
		file := os.NewFile(uintptr(fd), "")
		c, err := net.FileConn(file)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		ends[i] = c.(*net.UnixConn)
		t.Cleanup(func() { _ = c.Close() })
	}
	s, err := f.ServeUnix(ends[0])
	require.NoError(t, err)
	require.NoError(t, ends[0].Close())
	t.Cleanup(func() { _ = s.Close() })
	require.NoError(t, ends[1].SetDeadline(time.Now().Add(conntest.Patience)))
	return s, ends[1]
}

// tempFile is an open file with contents.
func tempFile(t *testing.T, contents string) *os.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(name, []byte(contents), 0o600))
	file, err := os.Open(name)
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	return file
}

// sendFiles sends with package net.
func sendFiles(t *testing.T, c *net.UnixConn, p string, files ...*os.File) {
	t.Helper()
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	n, _, err := c.WriteMsgUnix([]byte(p), unix.UnixRights(fds...), nil)
	require.NoError(t, err)
	require.Equal(t, len(p), n)
}

func inStackful[T any](f *fixture, fn func(cx *sched.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(context.Background(), conntest.Patience)
	defer cancel()
	return sched.Go(f.Runtime(), fn).Wait(ctx)
}

func TestATaskReceivesFiles(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		s, c := unixStreams(t, f)
		waits := sched.Spawn(f.Runtime(), s.RecvFilesFuture(make([]byte, 10)))
		sendFiles(t, c, "two", tempFile(t, "one"), tempFile(t, "other"))
		got, err := waits.Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, 3, got.N)
		require.Len(t, got.Files, 2)
		for i, want := range []string{"one", "other"} {
			contents, err := io.ReadAll(got.Files[i])
			require.NoError(t, err)
			require.Equal(t, want, string(contents))
			flags, err := unix.FcntlInt(got.Files[i].Fd(), unix.F_GETFD, 0)
			require.NoError(t, err)
			require.Equal(t, unix.FD_CLOEXEC, flags&unix.FD_CLOEXEC)
			require.NoError(t, got.Files[i].Close())
		}
		require.NoError(t, c.CloseWrite())
		_, err = inStackful(f, func(cx *sched.Context) (int, error) {
			n, _, err := s.RecvFiles(cx, make([]byte, 10))
			return n, err
		})
		require.Equal(t, io.EOF, err)
	})
}

// Files come with the first byte of their message, and nothing behind the message is received with
// them.
func TestFilesKeepTheirPlaceInTheStream(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		s, c := unixStreams(t, f)
		file := tempFile(t, "x")
		for _, part := range []string{"ab", "CD", "ef", "GH", "IJ", "kl"} {
			if part[0] < 'a' {
				sendFiles(t, c, part, file)
			} else {
				_, err := c.Write([]byte(part))
				require.NoError(t, err)
			}
		}
		var all []byte
		for len(all) < 12 {
			p := make([]byte, 3)
			n, files, err := s.RecvFiles(t.Context(), p)
			require.NoError(t, err)
			for _, file := range files {
				require.NoError(t, file.Close())
			}
			first := 0 // messages whose first byte is here
			for i, b := range p[:n] {
				if b == 'C' || b == 'G' || b == 'I' {
					first++
				}
				if i > 0 && (p[i-1] == 'D' || p[i-1] == 'H' || p[i-1] == 'J') && first > 0 {
					t.Errorf("%q was received behind a message with files", p[:n])
				}
			}
			require.Len(t, files, first, "%q", p[:n])
			all = append(all, p[:n]...)
		}
		require.Equal(t, "abCDefGHIJkl", string(all))
	})
}

// A task sends files behind more bytes than the socket has room for.
func TestATaskSendsFiles(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		s, c := unixStreams(t, f)
		big := bytes.Repeat([]byte("0123456789"), 100<<10)
		sent := sched.Go(f.Runtime(), func(cx *sched.Context) (int, error) {
			if n, err := s.SendFiles(cx, big, nil); err != nil {
				return n, err
			}
			return s.SendFiles(cx, []byte("file"), []*os.File{tempFile(t, "contents")})
		})
		all := make([]byte, len(big))
		_, err := io.ReadFull(c, all)
		require.NoError(t, err)
		require.True(t, bytes.Equal(big, all))
		control := make([]byte, 100)
		n, controlled, _, _, err := c.ReadMsgUnix(all, control)
		require.NoError(t, err)
		require.Equal(t, "file", string(all[:n]))
		messages, err := unix.ParseSocketControlMessage(control[:controlled])
		require.NoError(t, err)
		fds, err := unix.ParseUnixRights(&messages[0])
		require.NoError(t, err)
		require.Len(t, fds, 1)
		got := os.NewFile(uintptr(fds[0]), "")
		defer got.Close()
		contents, err := io.ReadAll(got)
		require.NoError(t, err)
		require.Equal(t, "contents", string(contents))
		_, err = sent.Wait(t.Context())
		require.NoError(t, err)
		_, err = s.TrySendFiles(nil, []*os.File{got})
		require.ErrorIs(t, err, unix.EINVAL)
	})
}

// The end of a UnixStream wakes the calls that wait, and closes the files that nobody has received:
// the fixture's guard counts descriptors.
func TestFilesThatNobodyReceivesAreClosed(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		s, c := unixStreams(t, f)
		waits := sched.Spawn(f.Runtime(), s.RecvFilesFuture(make([]byte, 10)))
		dropped := sched.Spawn(f.Runtime(), s.RecvFilesFuture(make([]byte, 10)))
		dropped.Abort()
		_, err := dropped.Wait(t.Context())
		require.ErrorIs(t, err, sched.ErrCanceled)
		require.NoError(t, s.SetReadDeadline(time.Now().Add(-time.Second)))
		_, err = waits.Wait(t.Context())
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.NoError(t, s.SetReadDeadline(time.Time{}))
		sendFiles(t, c, "x", tempFile(t, "nobody reads this"))
		require.NoError(t, s.Close())
		_, _, err = s.TryRecvFiles(make([]byte, 1))
		require.ErrorIs(t, err, net.ErrClosed)
		require.ErrorIs(t, s.Close(), net.ErrClosed)
	})
}

// A process of its own receives a file, reads it and sends it back.
func TestFilesPassBetweenProcesses(t *testing.T) {
	const name = "SUIRO_TEST_RECEIVE_FILE"
	if os.Getenv(name) != "" {
		if err := passBack(); err != nil {
			t.Fatal(err)
		}
		return
	}
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		s, c := unixStreams(t, f)
		theirs, err := c.File()
		require.NoError(t, err)
		defer theirs.Close()
		child := exec.Command(os.Args[0], "-test.run=^TestFilesPassBetweenProcesses$")
		child.Env = append(os.Environ(), name+"=1")
		child.ExtraFiles = []*os.File{theirs}
		require.NoError(t, child.Start())
		require.NoError(t, c.Close())
		require.NoError(t, theirs.Close())
		got, err := inStackful(f, func(cx *sched.Context) (string, error) {
			if _, err := s.SendFiles(cx, []byte("x"), []*os.File{tempFile(t, "there and back")}); err != nil {
				return "", err
			}
			_, files, err := s.RecvFiles(cx, make([]byte, 1))
			if err != nil || len(files) != 1 {
				return "", errors.Join(err, errors.New("no file"))
			}
			defer files[0].Close()
			contents := make([]byte, 100)
			n, err := files[0].ReadAt(contents, 0)
			if err == io.EOF {
				err = nil
			}
			return string(contents[:n]), err
		})
		require.NoError(t, err)
		require.Equal(t, "there and back", got)
		require.NoError(t, child.Wait())
	})
}

func passBack() error {
	c, err := net.FileConn(os.NewFile(3, ""))
	if err != nil {
		return err
	}
	p, control := make([]byte, 1), make([]byte, 100)
	_, controlled, _, _, err := c.(*net.UnixConn).ReadMsgUnix(p, control)
	if err != nil {
		return err
	}
	_, _, err = c.(*net.UnixConn).WriteMsgUnix(p, control[:controlled], nil)
	return err
}

func TestAPendingReceiveOfFilesTakesNothingFromTheBudget(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		s, _ := unixStreams(t, f)
		left, err := sched.Spawn(f.Runtime(), sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
			recv := s.RecvFilesFuture(make([]byte, 10))
			_, err := recv.Poll(cx)
			require.Equal(t, sched.ErrPending, err)
			left := 0
			for cx.Proceed() {
				left++
			}
			recv.(sched.Canceler).Cancel()
			return left, nil
		})).Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, 128, left)
	})
}
