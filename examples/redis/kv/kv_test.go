package kv

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/patience"
)

// dialogues are requests and their replies, one after the other on the same store, in the words of
// redis-server 7 unless a comment says otherwise.
var dialogues = []struct{ request, reply string }{
	{"*1\r\n$4\r\nPING\r\n", "+PONG\r\n"},
	{"*2\r\n$4\r\npInG\r\n$2\r\n\r\n\r\n", "$2\r\n\r\n\r\n"},
	{"PING\r\n", "+PONG\r\n"},
	{"PING hello\n", "$5\r\nhello\r\n"},
	{"PING a b\r\n", "-ERR wrong number of arguments for 'ping' command\r\n"},
	{"ECHO \"two words\\x21\\n\"\r\n", "$11\r\ntwo words!\n\r\n"},
	{"ECHO 'it\\'s'\r\n", "$4\r\nit's\r\n"},
	{"ECHO half\"and half\"\r\n", "$12\r\nhalfand half\r\n"},
	{"ECHO \"\"\r\n", "$0\r\n\r\n"},
	{"\r\n\n*0\r\n*-1\r\n  \r\n", ""},
	{"GET k\r\n", "$-1\r\n"},
	{"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$3\r\nabc\r\n", "+OK\r\n"},
	{"GET k\r\n", "$3\r\nabc\r\n"},
	{"get k k\r\n", "-ERR wrong number of arguments for 'get' command\r\n"},
	{"SET k\r\n", "-ERR wrong number of arguments for 'set' command\r\n"},
	{"SET k abcd\r\nGET k\r\nSET k z\r\nGET k\r\n", "+OK\r\n$4\r\nabcd\r\n+OK\r\n$1\r\nz\r\n"},
	{"SET k y NX\r\nSET n 1 nx\r\nSET none 1 XX\r\nSET n 2 xx\r\nGET n\r\n", "$-1\r\n+OK\r\n$-1\r\n+OK\r\n$1\r\n2\r\n"},
	{"SET k y NX XX\r\n", "-ERR syntax error\r\n"},
	{"SET k y EX\r\n", "-ERR syntax error\r\n"},
	{"SET k y EX 1 PX 1\r\n", "-ERR syntax error\r\n"},
	{"SET k y EX one\r\n", "-ERR value is not an integer or out of range\r\n"},
	{"SET k y EX 0\r\n", "-ERR invalid expire time in 'set' command\r\n"},
	{"SET k y EX 9223372036854775807\r\n", "-ERR invalid expire time in 'set' command\r\n"},
	{"GET k\r\nTTL k\r\nTTL none\r\n", "$1\r\nz\r\n:-1\r\n:-2\r\n"},
	{"SET t v EX 100\r\nTTL t\r\nAPPEND t w\r\nTTL t\r\nSET t v\r\nTTL t\r\n", "+OK\r\n:100\r\n:2\r\n:100\r\n+OK\r\n:-1\r\n"},
	{"EXPIRE t 50\r\nTTL t\r\nEXPIRE t -1\r\nGET t\r\nEXPIRE t 1\r\n", ":1\r\n:50\r\n:1\r\n$-1\r\n:0\r\n"},
	{"EXPIRE k x\r\nEXPIRE k 9223372036854775807\r\n", "-ERR value is not an integer or out of range\r\n-ERR invalid expire time in 'expire' command\r\n"},
	{"INCR i\r\nINCR i\r\nDECR i\r\nDECR new\r\nGET i\r\n", ":1\r\n:2\r\n:1\r\n:-1\r\n$1\r\n1\r\n"},
	{"INCR k\r\n", "-ERR value is not an integer or out of range\r\n"},
	{"SET i 007\r\nINCR i\r\nSET i +7\r\nDECR i\r\n", "+OK\r\n-ERR value is not an integer or out of range\r\n+OK\r\n-ERR value is not an integer or out of range\r\n"},
	{"SET i 9223372036854775807\r\nINCR i\r\nSET i -9223372036854775808\r\nDECR i\r\nINCR i\r\n", "+OK\r\n-ERR increment or decrement would overflow\r\n+OK\r\n-ERR increment or decrement would overflow\r\n:-9223372036854775807\r\n"},
	{"APPEND a x\r\nAPPEND a yz\r\nSTRLEN a\r\nSTRLEN none\r\nGET a\r\n", ":1\r\n:3\r\n:3\r\n:0\r\n$3\r\nxyz\r\n"},
	{"FLUSHALL\r\nDBSIZE\r\n", "+OK\r\n:0\r\n"},
	{"MSET a 1 b 2 a 3\r\nMGET a b none a\r\nDBSIZE\r\n", "+OK\r\n*4\r\n$1\r\n3\r\n$1\r\n2\r\n$-1\r\n$1\r\n3\r\n:2\r\n"},
	{"MSET a 1 b\r\n", "-ERR wrong number of arguments for 'mset' command\r\n"},
	{"EXISTS a a b none\r\nDEL a none a\r\nEXISTS a\r\nDBSIZE\r\n", ":3\r\n:1\r\n:0\r\n:1\r\n"},
	{"FLUSHALL now\r\nFLUSHALL async\r\nDBSIZE\r\n", "-ERR syntax error\r\n+OK\r\n:0\r\n"},
	{"SELECT 0\r\nSELECT 1\r\nSELECT x\r\n", "+OK\r\n-ERR DB index is out of range\r\n-ERR value is not an integer or out of range\r\n"},
	{"CONFIG GET save\r\nCONFIG GET other\r\n", "*2\r\n$4\r\nsave\r\n$0\r\n\r\n*0\r\n"},
	{"COMMAND DOCS\r\n", "*0\r\n"}, // redis-cli then does without
	{"NOPE one two\r\n", "-ERR unknown command 'NOPE', with args beginning with: 'one' 'two' \r\n"},
	{"ECHO\r\n", "-ERR wrong number of arguments for 'echo' command\r\n"},
	{"*1\r\n$6\r\nA\r\n+OK\r\n", "-ERR unknown command 'A  +OK', with args beginning with: \r\n"},
}

// last are requests whose reply is the last one.
var last = []struct{ request, reply string }{
	{"QUIT\r\nPING\r\n", "+OK\r\n"},
	{"*x\r\n", "-ERR Protocol error: invalid multibulk length\r\n"},
	{"*1048577\r\n", "-ERR Protocol error: invalid multibulk length\r\n"},
	{"*11111111111111111111111", "-ERR Protocol error: invalid multibulk length\r\n"},
	{"*1\r\n+PING\r\n", "-ERR Protocol error: expected '$', got '+'\r\n"},
	{"*1\r\n\r\n", "-ERR Protocol error: expected '$', got ' '\r\n"},
	{"*1\r\n$-1\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
	{"*1\r\n$536870913\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
	{"*1\r\n$536870912\r\n", "-ERR Protocol error: too big request\r\n"}, // redis-server takes it
	{"*1\r\n$1x\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
	{"*1\r\n$-\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
	{"GET \"a\r\n", "-ERR Protocol error: unbalanced quotes in request\r\n"},
	{"GET \"a\"b\r\n", "-ERR Protocol error: unbalanced quotes in request\r\n"},
	{strings.Repeat("x", 64<<10), "-ERR Protocol error: too big inline request\r\n"},
}

// A client feeds a store as a connection does.
type client struct {
	store    *Store
	buffered []byte
	need     int
	replies  strings.Builder
	err      error
}

func (c *client) send(t *testing.T, text string) {
	c.buffered = append(c.buffered, text...)
	for c.err == nil && len(c.buffered) >= max(c.need, 1) {
		w := Borrow()
		var n int
		n, c.need, c.err = c.store.Execute(w, c.buffered)
		require.True(t, c.err != nil || c.need == 0 || c.need > len(c.buffered)-n, "it would be called for the same bytes")
		rest := append([]byte(nil), c.buffered[n:]...)
		clear(c.buffered[:n]) // the store keeps nothing of it
		c.buffered = rest
		c.replies.Write(w.Out)
		w.Return()
	}
}

// still runs f while time stands still: a TTL that is asked for late is less.
func still(t *testing.T, f func(t *testing.T)) { synctest.Test(t, f) }

func TestReplies(t *testing.T) { still(t, testReplies) }

func testReplies(t *testing.T) {
	c := &client{store: New()}
	for _, d := range dialogues {
		c.replies.Reset()
		c.send(t, d.request)
		require.NoError(t, c.err, d.request)
		require.Equal(t, d.reply, c.replies.String(), d.request)
		require.Empty(t, c.buffered, d.request)
	}
	for _, d := range last {
		c := &client{store: New()}
		c.send(t, d.request)
		require.Error(t, c.err, d.request)
		require.Equal(t, d.reply, c.replies.String(), d.request)
	}
}

func TestRequestsMayBeCutAnywhereAndPipelined(t *testing.T) { still(t, testCuts) }

func testCuts(t *testing.T) {
	for _, end := range last {
		var request, reply strings.Builder
		for _, d := range dialogues {
			request.WriteString(d.request)
			reply.WriteString(d.reply)
		}
		request.WriteString(end.request)
		reply.WriteString(end.reply)
		text := request.String()
		for _, step := range []int{1, 7, len(text)} {
			if step < len(text) && len(text) > 10_000 {
				continue // of the long line, which TestReplies has
			}
			c := &client{store: New()}
			for i := 0; i < len(text); i += step {
				c.send(t, text[i:min(i+step, len(text))])
			}
			require.Equal(t, reply.String(), c.replies.String(), "%d bytes at a time", step)
			require.Error(t, c.err)
		}
	}
	for _, d := range dialogues { // on a store of its own, twice: cut somewhere, and whole
		for cut := range len(d.request) {
			cutted, whole := &client{store: New()}, &client{store: New()}
			cutted.send(t, d.request[:cut])
			cutted.send(t, d.request[cut:])
			whole.send(t, d.request)
			require.Equal(t, whole.replies.String(), cutted.replies.String(), "%q cut at %d", d.request, cut)
		}
	}
}

func TestManyRepliesAreReturnedInParts(t *testing.T) {
	c := &client{store: New()}
	value := strings.Repeat("v", 1<<20)
	c.send(t, fmt.Sprintf("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n%s\r\n", len(value), value))
	c.replies.Reset()
	w := Borrow()
	defer w.Return()
	p := []byte(strings.Repeat("GET k\r\n", 8))
	for calls := 1; len(p) > 0; calls++ {
		w.Out = w.Out[:0]
		n, _, err := c.store.Execute(w, p)
		require.NoError(t, err)
		require.Len(t, w.Out, 1<<20+len("$1048576\r\n\r\n"), "one reply in call %d", calls)
		p = p[n:]
	}
}

func TestKeysExpire(t *testing.T) {
	s := New()
	c := &client{store: s}
	c.send(t, "MSET a 1 b 2 c 3\r\nSET a 1 PX 1\r\nSET b 2 PX 1\r\n")
	c.replies.Reset()
	deadline := time.Now().Add(patience.Limit)
	for s.Len() > 1 && time.Now().Before(deadline) { // nobody asks for them
		for i := range 2 * shards {
			s.Sweep(i)
		}
	}
	require.Equal(t, 1, s.Len())
	c.send(t, "SET a 1 PX 1\r\n")
	for c.replies.String() != "+OK\r\n$-1\r\n" && time.Now().Before(deadline) {
		c.replies.Reset()
		c.replies.WriteString("+OK\r\n")
		c.send(t, "GET a\r\n")
	}
	require.Equal(t, 1, s.Len(), "the GET that found it expired removed it")
	for i := range s.shards {
		require.Zero(t, s.shards[i].volatile)
	}
}

// An MGET of two keys sees both as one MSET or DEL has left them.
func TestCommandsWithSeveralKeysAreAtomic(t *testing.T) {
	s := New()
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			w := Borrow()
			defer w.Return()
			for range 2000 {
				w.Out = w.Out[:0]
				_, _, _ = s.Execute(w, fmt.Appendf(nil, "MSET a %d b %d\r\nMGET b a\r\nDEL a b\r\n", i, i))
				replies := strings.Split(string(w.Out), "\r\n")
				if replies[1] != "*2" || replies[2] != "$-1" && replies[3] != replies[5] || replies[2] == "$-1" && replies[3] != "$-1" {
					t.Errorf("%q", w.Out)
				}
			}
		})
	}
	all.Wait()
}

func TestGetAndSetOfAnExistingKeyAllocateNothing(t *testing.T) {
	s, w := New(), Borrow()
	defer w.Return()
	p := []byte("*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$5\r\nvalue\r\n*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n")
	run := func() {
		w.Out = w.Out[:0]
		_, _, _ = s.Execute(w, p)
	}
	run()
	require.Zero(t, testing.AllocsPerRun(1000, run))
}

func FuzzExecute(f *testing.F) {
	for _, d := range dialogues {
		f.Add([]byte(d.request), 3)
	}
	for _, d := range last {
		f.Add([]byte(d.request), 5)
	}
	f.Fuzz(func(t *testing.T, p []byte, cut int) {
		still(t, func(t *testing.T) {
			whole, parts := &client{store: New()}, &client{store: New()}
			whole.send(t, string(p))
			cut = min(max(cut, 0), len(p))
			parts.send(t, string(p[:cut]))
			parts.send(t, string(p[cut:]))
			require.Equal(t, whole.replies.String(), parts.replies.String())
			require.Equal(t, whole.err, parts.err)
		})
	})
}

func BenchmarkExecute(b *testing.B) {
	s, w := New(), Borrow()
	defer w.Return()
	const set, get = "*3\r\n$3\r\nSET\r\n$16\r\nkey:000000000001\r\n$3\r\nxxx\r\n", "*2\r\n$3\r\nGET\r\n$16\r\nkey:000000000001\r\n"
	for name, p := range map[string]string{"set": set, "get": get, "by turns": set + get} {
		b.Run(name, func(b *testing.B) {
			commands := 64 * strings.Count(p, "*")
			p := []byte(strings.Repeat(p, 64))
			b.ReportAllocs()
			for range b.N / commands {
				w.Out = w.Out[:0]
				_, _, _ = s.Execute(w, p)
			}
		})
	}
}
