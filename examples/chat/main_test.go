package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

var program string

func TestMain(m *testing.M) { conntest.Main(m, func(path string) { program = path }) }

func TestCommandLine(t *testing.T) {
	conntest.CommandLine(t, program, func(t *testing.T, c net.Conn) {
		line, err := bufio.NewReader(c).ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, line, "in lobby")
	})
}

// A terminal is a client that types and reads lines, as nc does.
type terminal struct {
	net.Conn
	in *bufio.Reader
}

// dial connects, reads the greeting and takes a nickname, if that is not empty.
func dial(addr, nick string) (*terminal, error) {
	c, err := net.DialTimeout("tcp", addr, conntest.Patience)
	if err != nil {
		return nil, err
	}
	c.SetDeadline(time.Now().Add(conntest.Patience))
	u := &terminal{c, bufio.NewReader(c)}
	_, err = u.in.ReadString('\n')
	if err == nil && nick != "" {
		err = u.ask("/nick "+nick, "* you are "+nick)
	}
	return u, err
}

func (u *terminal) say(line string) error {
	_, err := io.WriteString(u, line+"\n")
	return err
}

func (u *terminal) expect(want string) error {
	got, err := u.in.ReadString('\n')
	if err == nil && got != want+"\n" {
		err = fmt.Errorf("got %q, want %q", got, want)
	}
	return err
}

// ask types a line and reads the answer.
func (u *terminal) ask(line, want string) error {
	if err := u.say(line); err != nil {
		return err
	}
	return u.hear(want)
}

// hear is expect, but announcements may be before the line.
func (u *terminal) hear(want string) error {
	for {
		got, err := u.in.ReadString('\n')
		switch {
		case err != nil || got == want+"\n":
			return err
		case !strings.HasPrefix(got, "* "):
			return fmt.Errorf("got %q, want %q", got, want)
		}
	}
}

func enter(t *testing.T, p *conntest.Program, nick string) *terminal {
	t.Helper()
	u, err := dial(p.Addr, nick)
	require.NoError(t, err)
	t.Cleanup(func() { _ = u.Close() })
	return u
}

func TestAConversation(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := conntest.Start(t, program, "-backend", backend, "-workers", fmt.Sprint(workers))
		ann := enter(t, p, "ann")
		bob := enter(t, p, "bob")
		require.NoError(t, ann.say("hello"))
		require.NoError(t, bob.hear("<ann> hello"))
		require.NoError(t, bob.say("a \x1b[2Jtrick\r"))
		require.NoError(t, ann.hear("<bob> a [2Jtrick"), "escape sequences and CR are dropped")

		require.NoError(t, bob.ask("/join den", "* you are in den"))
		require.NoError(t, ann.hear("* bob is gone"))
		require.NoError(t, ann.say("nobody hears me"))
		require.NoError(t, ann.ask("/join den", "* you are in den"))
		require.NoError(t, bob.expect("* ann is here"), "and nothing that was said in the lobby")
		require.NoError(t, bob.say("so you are"))
		require.NoError(t, ann.hear("<bob> so you are"))

		require.NoError(t, ann.say("/nick Ann"))
		require.NoError(t, ann.hear("* you are Ann"))
		require.NoError(t, bob.hear("* ann is now Ann"))
		for _, refused := range []string{"/nick a b", "/nick", "/nick guest#1", "/join " + strings.Repeat("x", 21), "/what"} {
			require.NoError(t, ann.ask(refused, "* no; "+strings.TrimSpace(usage)))
		}
		require.NoError(t, ann.ask("/nick bob", "* somebody is bob"))

		require.NoError(t, ann.Conn.(*net.TCPConn).CloseWrite())
		_, err := ann.in.ReadByte()
		require.Equal(t, io.EOF, err)
		require.NoError(t, bob.hear("* Ann is gone"))
		require.NoError(t, bob.ask("/nick Ann", "* you are Ann"), "the name is free")
	})
}

func TestLinesAreFoundHoweverTheyAreCut(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		p := conntest.Start(t, program, "-backend", backend)
		ann, bob := enter(t, p, "ann"), enter(t, p, "bob")
		require.NoError(t, ann.hear("* guest#2 is now bob"))
		const text = "/join lobby\nfirst\r\n\n\nsecond\n"
		for cut := range len(text) {
			_, err := io.WriteString(ann, text[:cut])
			require.NoError(t, err)
			_, err = io.WriteString(ann, text[cut:])
			require.NoError(t, err)
			require.NoError(t, ann.hear("* you are in lobby"))
			require.NoError(t, bob.hear("<ann> first"))
			require.NoError(t, bob.expect("<ann> second"))
		}
		_, err := io.WriteString(ann, strings.Repeat("x", 2000))
		require.NoError(t, err)
		_, err = ann.in.ReadByte()
		require.Equal(t, io.EOF, err, "no line is so long")
		require.NoError(t, bob.hear("* ann is gone"))
	})
}

// A line whose newline is missing is a line, too: nc -N ends its side after it, and gets
// everything that was for it.
func TestAClientThatEndsItsSideFirstGetsItsAnswers(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		p := conntest.Start(t, program, "-backend", backend)
		bob := enter(t, p, "bob")
		c := p.Dial()
		_, err := io.WriteString(c, "/nick nc\nhello\n/join den")
		require.NoError(t, err)
		require.NoError(t, c.(*net.TCPConn).CloseWrite())
		all, err := io.ReadAll(c)
		require.NoError(t, err)
		require.True(t, strings.HasSuffix(string(all), "\n* you are nc\n* you are in den\n"), "%q", all)
		for _, want := range []string{"* guest#2 is here", "* guest#2 is now nc", "<nc> hello", "* nc is gone"} {
			require.NoError(t, bob.hear(want))
		}
	})
}

// The sender and the other reader go step by step, so that nobody but the slow one lags.
func TestASlowClientIsDroppedAndTold(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := conntest.Start(t, program, "-backend", backend, "-workers", fmt.Sprint(workers), "-backlog", "8", "-write-timeout", "30s")
		slow := enter(t, p, "slow")
		require.NoError(t, slow.Conn.(*net.TCPConn).SetReadBuffer(64<<10))
		ann, bob := enter(t, p, "ann"), enter(t, p, "bob")
		text := strings.Repeat("x", 1000)
		const lines = 3000 // 3 MB: more than the server and both kernels' buffers hold
		for range lines {
			require.NoError(t, ann.say(text))
			require.NoError(t, bob.hear("<ann> "+text))
		}
		got, notice := 0, ""
		for notice == "" {
			line, err := slow.in.ReadString('\n')
			require.NoError(t, err)
			switch {
			case line == "<ann> "+text+"\n":
				got++
			case strings.HasPrefix(line, "* you are too slow"):
				notice = line
			}
		}
		require.Less(t, got, lines)
		var lost int
		_, err := fmt.Sscanf(notice, "* you are too slow: %d messages are lost, goodbye", &lost)
		require.NoError(t, err)
		require.Positive(t, lost)
		_, err = slow.in.ReadByte()
		require.Equal(t, io.EOF, err)
		require.NoError(t, ann.hear("* slow is gone"))
	})
}

// A client that never reads is reset, and the others see that it is gone.
func TestAClientThatTakesNothingIsReset(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		p := conntest.Start(t, program, "-backend", backend, "-backlog", "8", "-write-timeout", "300ms")
		stuck := enter(t, p, "stuck")
		require.NoError(t, stuck.Conn.(*net.TCPConn).SetReadBuffer(64<<10))
		ann := enter(t, p, "ann")
		gone := make(chan error, 1)
		go func() { gone <- ann.hear("* stuck is gone") }()
		text := strings.Repeat("x", 1000)
		for {
			select {
			case err := <-gone:
				require.NoError(t, err)
				p.Signal(syscall.SIGTERM)
				p.Wait()
				return
			default:
				require.NoError(t, ann.say(text))
			}
		}
	})
}

func TestManyClientsGetEveryMessageOfTheirRoomInOrder(t *testing.T) {
	const rooms, each, messages = 4, 25, 20 // a room has fewer messages than -backlog: nobody lags
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := conntest.Start(t, program, "-backend", backend, "-workers", fmt.Sprint(workers))
		all := make([]*terminal, rooms*each)
		conntest.Each(t, len(all), func(i int) (err error) {
			all[i], err = dial(p.Addr, fmt.Sprint("u", i))
			if err == nil {
				err = all[i].ask(fmt.Sprint("/join r", i%rooms), fmt.Sprint("* you are in r", i%rooms))
			}
			return err
		})
		conntest.Each(t, len(all), func(i int) error {
			u := all[i]
			for j := range messages {
				if err := u.say(fmt.Sprint(j)); err != nil {
					return err
				}
			}
			next := map[string]int{}
			for left := (each - 1) * messages; left > 0; {
				line, err := u.in.ReadString('\n')
				if err != nil {
					return err
				}
				if line[0] == '*' { // others enter
					continue
				}
				var from, n int
				if _, err := fmt.Sscanf(line, "<u%d> %d", &from, &n); err != nil {
					return err
				}
				if from%rooms != i%rooms || from == i || n != next[fmt.Sprint(from)] {
					return fmt.Errorf("u%d gets %q", i, line)
				}
				next[fmt.Sprint(from)]++
				left--
			}
			return nil
		})
		p.Signal(syscall.SIGTERM)
		conntest.Each(t, len(all), func(i int) error {
			defer all[i].Close()
			rest, err := io.ReadAll(all[i].in)
			if err == nil && !strings.Contains(string(rest), "* the server shuts down\n") {
				err = errors.New("was not told of the shutdown")
			}
			return err
		})
		p.Wait()
	})
}
