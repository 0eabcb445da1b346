package conn_test

import (
	"context"
	"net"
	"regexp"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// labelsNow lists the sets of labels that goroutines have.
func labelsNow(t *testing.T) []string {
	t.Helper()
	var text strings.Builder
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&text, 1))
	return regexp.MustCompile(`# labels: .*suiro.*`).FindAllString(text.String(), -1)
}

func TestProfilesHaveLabelsIfTheyAreAskedFor(t *testing.T) {
	for areas, want := range map[string]map[string]string{
		"":             {"callbacks": "", "sequential": ""},
		"labels":       {"callbacks": `{"suiro.handler":"conn_test.labeled", "suiro.listener":"tcp ADDR", "suiro.worker":"0"}`, "sequential": `blockedStream-fm", "suiro.listener":"tcp ADDR"}`},
		"sched,labels": {"callbacks": `{"suiro.handler":"conn_test.labeled", "suiro.listener":"tcp ADDR", "suiro.worker":"0"}`, "sequential": `blockedStream-fm", "suiro.listener":"tcp ADDR"}`},
	} {
		for kind, label := range want {
			t.Run(areas+" "+kind, func(t *testing.T) {
				t.Setenv("SUIRO_DEBUG", areas)
				conntest.Backends(t, func(t *testing.T, backend string) {
					h := labeled{entered: make(chan bool, 1), release: make(chan struct{})}
					var handler conn.Handler = h
					if kind == "sequential" {
						handler = conn.Sequential(h.blockedStream)
					}
					f := newFixture(t, backend, 1)
					f.listenTo(handler)
					c := f.dial()
					write(t, c, "x")
					conntest.Receive(t, h.entered)
					found := strings.Join(labelsNow(t), " ")
					close(h.release)
					require.Equal(t, "x", string(read(t, c, 1)))
					if label == "" {
						require.Empty(t, found)
					} else {
						require.Contains(t, found, strings.ReplaceAll(label, "ADDR", f.addr.String()))
					}
				})
			})
		}
	}
}

func TestRunsOfPacketSocketsHaveLabelsToo(t *testing.T) {
	t.Setenv("SUIRO_DEBUG", "labels")
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		pc := udpSocket(t)
		h := blockedPackets{entered: make(chan bool, 1), release: make(chan struct{})}
		socket, err := packet.Listen(f, pc, h)
		require.NoError(t, err)
		client := udpSocket(t)
		_, err = client.WriteTo([]byte("x"), pc.LocalAddr())
		require.NoError(t, err)
		conntest.Receive(t, h.entered)
		found := strings.Join(labelsNow(t), " ")
		close(h.release)
		require.Contains(t, found, `{"suiro.handler":"conn_test.blockedPackets", "suiro.listener":"udp `+pc.LocalAddr().String()+`", "suiro.worker":"0"}`)
		require.NoError(t, socket.Close())
	})
}

// Goroutines of a listener have no labels of the one that has begun to listen.
func TestAListenersGoroutinesHaveNoLabelsOfItsStarter(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer ln.Close()
		pprof.Do(t.Context(), pprof.Labels("suiro", "by-the-starter"), func(context.Context) {
			l, err := f.ListenSocket(conn.SocketListenerConfig{}, ln)
			require.NoError(t, err)
			t.Cleanup(func() { _ = l.Close() })
		})
		conntest.Eventually(t, func() bool { return len(labelsNow(t)) == 0 })
	})
}

// A blockedPackets handler blocks at a datagram.
type blockedPackets struct {
	packet.Base
	entered chan bool
	release chan struct{}
}

func (h blockedPackets) OnPackets(*packet.Conn, []packet.Packet) error {
	h.entered <- true
	<-h.release
	return nil
}

// A labeled handler blocks before it echoes.
type labeled struct {
	conn.Base
	entered chan bool
	release chan struct{}
}

func (h labeled) OnData(c *conn.Conn) error {
	h.entered <- true
	<-h.release
	return echo(c)
}

func (h labeled) blockedStream(_ *sched.Context, s *conn.Stream) error {
	h.entered <- true
	<-h.release
	_, err := s.WriteTo(s)
	return err
}
