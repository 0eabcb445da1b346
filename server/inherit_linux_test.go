package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// inheritor is what the test binary does as the program that a server hands over to:
// it serves what it has inherited until its standard input ends.
func inheritor(t *testing.T, backend string) {
	all, err := server.Listeners()
	require.NoError(t, err)
	again, err := server.Listeners()
	require.NoError(t, err)
	require.Empty(t, again, "they are taken once")
	s := &server.Server{Handler: echo{}, Backend: backend}
	var serving sync.WaitGroup
	for _, in := range all {
		require.NotNil(t, in.Listener)
		serving.Go(func() { _ = s.Serve(in.Listener) })
	}
	conntest.Eventually(t, func() bool { return s.Group() != nil && s.Group().Len() >= 0 })
	fmt.Println("serving", len(all))
	_, _ = io.Copy(io.Discard, os.Stdin)
	ctx, cancel := context.WithTimeout(context.Background(), conntest.Patience)
	defer cancel()
	_ = s.Shutdown(ctx)
	serving.Wait()
}

// patient serves a connection to its end when the server shuts down.
type patient struct{ echo }

func (patient) OnDrain(*server.Conn) {}

// child runs the test binary as an inheritor.
func child(t *testing.T, backend string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^TestARestartRefusesNoConnection$")
	cmd.Env = append(os.Environ(), "SERVER_TEST_INHERITOR="+backend)
	cmd.Stderr = os.Stderr
	return cmd
}

func TestARestartRefusesNoConnection(t *testing.T) {
	if backend := os.Getenv("SERVER_TEST_INHERITOR"); backend != "" {
		inheritor(t, backend)
		return
	}
	conntest.Backends(t, func(t *testing.T, backend string) {
		path := t.TempDir() + "/socket"
		old := run(t, &server.Server{Handler: patient{}, Backend: backend})
		ln, err := net.Listen("unix", path)
		require.NoError(t, err)
		go func() { _ = old.Serve(ln) }()
		socket := &net.UnixAddr{Net: "unix", Name: path}
		require.NoError(t, exchange(socket))
		// Clients connect all the time, to both.
		stop := make(chan struct{})
		var clients sync.WaitGroup
		failed := make(chan error, 100)
		for _, addr := range []net.Addr{old.addr, socket} {
			clients.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if err := exchange(addr); err != nil {
						failed <- err
						return
					}
				}
			})
		}
		cmd := child(t, backend)
		require.NoError(t, old.HandOver(cmd))
		require.Error(t, old.HandOver(cmd), "the first descriptors are taken")
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		for _, f := range cmd.ExtraFiles {
			require.NoError(t, f.Close())
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "serving 2\n", line)
		require.NoError(t, old.Shutdown(t.Context())) // those it has accepted end first
		for range 20 {
			require.NoError(t, exchange(old.addr), "the new one serves alone")
		}
		require.FileExists(t, path)
		close(stop)
		clients.Wait()
		close(failed)
		for err := range failed {
			t.Errorf("a client: %v", err)
		}
		require.NoError(t, in.Close())
		_, _ = io.Copy(io.Discard, out)
		require.NoError(t, cmd.Wait())
	})
}

// exchange is one connection: the server is to answer, and may end it only after that.
func exchange(addr net.Addr) error {
	c, err := net.DialTimeout(addr.Network(), addr.String(), conntest.Patience)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(conntest.Patience))
	if _, err := c.Write([]byte("x")); err != nil {
		return err
	}
	_, err = io.ReadFull(c, make([]byte, 1))
	return err
}

// A descriptor that is no listening socket is returned by its type, and not closed.
func TestWhateverIsInheritedIsHandedOut(t *testing.T) {
	if os.Getenv("SERVER_TEST_INHERITED") != "" {
		all, err := server.Listeners()
		require.NoError(t, err)
		require.Len(t, all, 3)
		require.NotNil(t, all[0].Listener)
		require.NotNil(t, all[1].PacketConn)
		require.NotNil(t, all[2].File)
		require.Equal(t, "udp", all[1].Name)
		p := make([]byte, 5)
		_, err = io.ReadFull(all[2].File, p)
		require.NoError(t, err)
		require.Equal(t, "hello", string(p))
		return
	}
	ln := conntest.Listen(t)
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	defer pc.Close()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	_, err = w.WriteString("hello")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	cmd := exec.Command(os.Args[0], "-test.run=^TestWhateverIsInheritedIsHandedOut$")
	cmd.Env = append(os.Environ(), "SERVER_TEST_INHERITED=1", "LISTEN_PID=", "LISTEN_FDS=3", "LISTEN_FDNAMES=tcp:udp:pipe")
	for _, s := range []interface{ File() (*os.File, error) }{ln.(*net.TCPListener), pc.(*net.UDPConn)} {
		f, err := s.File()
		require.NoError(t, err)
		defer f.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, r)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestListenersAreThoseOfSocketActivation(t *testing.T) {
	set := func(pid, count, names string) {
		t.Setenv("LISTEN_PID", pid)
		t.Setenv("LISTEN_FDS", count)
		t.Setenv("LISTEN_FDNAMES", names)
	}
	set("1", "1", "http") // another process's
	all, err := server.Listeners()
	require.NoError(t, err)
	require.Empty(t, all)
	_, there := os.LookupEnv("LISTEN_FDS")
	require.False(t, there, "children are not to see it")
	set(strconv.Itoa(os.Getpid()), "many", "")
	_, err = server.Listeners()
	require.ErrorContains(t, err, "LISTEN_FDS")
}
