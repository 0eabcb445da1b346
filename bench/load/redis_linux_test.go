package load

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// redis is a server of SET and GET. It takes requests as the load writes them. change may spoil a
// reply.
func redis(change func(reply string) string) func(net.Conn) {
	values := map[string]string{}
	var mu sync.Mutex
	return func(c net.Conn) {
		in := bufio.NewReader(c)
		for {
			var args []string
			var n int
			if _, err := fmt.Fscanf(in, "*%d\r\n", &n); err != nil {
				return
			}
			for range n {
				var size int
				if _, err := fmt.Fscanf(in, "$%d\r\n", &size); err != nil {
					return
				}
				arg := make([]byte, size+2)
				if _, err := io.ReadFull(in, arg); err != nil {
					return
				}
				args = append(args, string(arg[:size]))
			}
			mu.Lock()
			reply := "+OK\r\n"
			if args[0] == "GET" {
				reply = fmt.Sprintf("$%d\r\n%s\r\n", len(values[args[1]]), values[args[1]])
			} else {
				values[args[1]] = args[2]
			}
			reply = change(reply)
			mu.Unlock()
			if _, err := io.WriteString(c, reply); err != nil {
				return
			}
		}
	}
}

func TestRedis(t *testing.T) {
	for _, depth := range []int{1, 16} {
		cfg := config(serve(t, redis(func(reply string) string { return reply })), 64)
		cfg.Depth = depth
		r, err := patiently(Redis, cfg)
		require.NoError(t, err)
		require.Positive(t, r.Count)
		require.Positive(t, r.Latency.P50)
	}
}

func TestRedisSeesAWrongReply(t *testing.T) {
	n := 0
	cfg := config(serve(t, redis(func(reply string) string {
		if n++; n > variants && reply[0] == '$' {
			return reply[:len(reply)-3] + "?\r\n"
		}
		return reply
	})), 64)
	_, err := patiently(Redis, cfg)
	require.ErrorContains(t, err, "wrong bytes came back")

	cfg = config(serve(t, redis(func(string) string { return "-ERR no\r\n" })), 64)
	_, err = Redis(cfg)
	require.ErrorContains(t, err, "SET answers")
}
