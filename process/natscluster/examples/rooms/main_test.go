package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

var anyPorts = options{nodes: 3, addr: "127.0.0.1:0", web: "127.0.0.1:0"}

func TestTheSelftest(t *testing.T) { require.NoError(t, selftest(anyPorts)) }

// A terminal is a client that types and reads lines.
type terminal struct {
	io.Writer
	in   *bufio.Reader
	name string
}

func (u *terminal) line(t *testing.T) string {
	t.Helper()
	line, err := u.in.ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSuffix(line, "\n")
}

// dial is a client in the lobby.
func dial(t *testing.T, addr string) *terminal {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(patience.Limit)))
	u := &terminal{c, bufio.NewReader(c), ""}
	_, err = fmt.Sscanf(u.line(t), "* you are %s in lobby", &u.name)
	require.NoError(t, err)
	require.Equal(t, usage, u.line(t)+"\n")
	require.Equal(t, "* "+u.name+" is here", u.line(t))
	return u
}

// browse is a browser in a room. It reads events.
func browse(t *testing.T, n *node, room string) (u *terminal) {
	t.Helper()
	base := "http://" + n.page.Addr().String()
	ctx, cancel := context.WithTimeout(context.Background(), patience.Limit)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/lines?room="+room, nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { answer.Body.Close() })
	require.Equal(t, http.StatusOK, answer.StatusCode)
	u = &terminal{in: bufio.NewReader(answer.Body)}
	u.name = u.event(t)
	u.Writer = post(base + "/say?who=" + url.QueryEscape(u.name))
	return u
}

func (u *terminal) event(t *testing.T) string {
	t.Helper()
	data, ok := strings.CutPrefix(u.line(t), "data: ")
	require.True(t, ok)
	require.Empty(t, u.line(t))
	return data
}

// A post is a URL that takes lines.
type post string

func (p post) Write(b []byte) (int, error) {
	answer, err := http.Post(string(p), "text/plain", strings.NewReader(string(b)))
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("status %d", answer.StatusCode)
	}
	return len(b), nil
}

func typeLine(t *testing.T, u *terminal, line string) {
	t.Helper()
	_, err := io.WriteString(u, line+"\n")
	require.NoError(t, err)
}

func TestAConversationBetweenNodes(t *testing.T) {
	require.NoError(t, withNodes(anyPorts, func(ctx context.Context, nodes []*node) error {
		ctx, stop := context.WithCancel(ctx)
		served, addrs := make(chan error, 1), make([]string, len(nodes))
		listening := make(chan struct{}, len(nodes))
		var servers []*server.Server
		for i, n := range nodes {
			n.tcp.Listening = func(a net.Addr) { addrs[i] = a.String(); listening <- struct{}{} }
			servers = append(servers, n.tcp)
		}
		go func() { served <- server.Run(ctx, servers...) }()
		for range nodes {
			<-listening
		}
		ann, bob := dial(t, addrs[0]), dial(t, addrs[2])
		require.Equal(t, "* "+bob.name+" is here", ann.line(t))
		typeLine(t, bob, "hello")
		require.Equal(t, bob.name+" hello", ann.line(t))
		require.Equal(t, bob.name+" hello", bob.line(t))

		web := browse(t, nodes[1], lobby)
		for _, u := range []*terminal{ann, bob} {
			require.Equal(t, "* "+web.name+" is here", u.line(t))
		}
		require.Equal(t, "* "+web.name+" is here", web.event(t))
		typeLine(t, web, "from a browser")
		for _, u := range []*terminal{ann, bob} {
			require.Equal(t, web.name+" from a browser", u.line(t))
		}
		require.Equal(t, web.name+" from a browser", web.event(t))

		typeLine(t, bob, "/join den") // which is on the third node
		require.Equal(t, "* "+bob.name+" is here", bob.line(t))
		require.Equal(t, "* "+bob.name+" is gone", ann.line(t))
		typeLine(t, ann, "/join den")
		require.Equal(t, "* "+ann.name+" is here", bob.line(t))
		require.Equal(t, "* "+ann.name+" is here", ann.line(t))
		typeLine(t, bob, "/quit")
		require.Equal(t, "* "+bob.name+" is gone", ann.line(t))
		stop()
		return <-served
	}))
}

func TestThePageIsServed(t *testing.T) {
	require.NoError(t, withNodes(options{nodes: 1, addr: "127.0.0.1:0", web: "127.0.0.1:0"}, func(_ context.Context, nodes []*node) error {
		answer, err := http.Get("http://" + nodes[0].page.Addr().String() + "/")
		require.NoError(t, err)
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.Equal(t, page, body)
		refused, err := http.Get("http://" + nodes[0].page.Addr().String() + "/lines?room=../x")
		require.NoError(t, err)
		defer refused.Body.Close()
		require.Equal(t, http.StatusBadRequest, refused.StatusCode)
		return nil
	}))
}

// A body may arrive in parts. It is cut at 1024 bytes.
func TestALineThatArrivesInParts(t *testing.T) {
	require.NoError(t, withNodes(options{nodes: 1, addr: "127.0.0.1:0", web: "127.0.0.1:0"}, func(_ context.Context, nodes []*node) error {
		w := nodes[0].http.Handler.(*web)
		lines := make(chan string, 2)
		room, err := process.Go(nodes[0].cluster.System(), process.Options{}, func(cx *sched.Context, self *process.Inbox[say]) error {
			for {
				m, err := self.Receive(cx)
				if err != nil {
					return err
				}
				lines <- m.Line
			}
		})
		require.NoError(t, err)
		w.mu.Lock()
		w.guests["guest"] = guest{room.PID(), room.PID()}
		w.mu.Unlock()
		for _, line := range []string{"a line in parts", strings.Repeat("x", 2000)} {
			body := iotest.OneByteReader(strings.NewReader(line))
			answer := httptest.NewRecorder()
			w.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/say?who=guest", body))
			require.Equal(t, http.StatusOK, answer.Code)
			require.Equal(t, line[:min(len(line), 1024)], <-lines)
		}
		return nil
	}))
}
