package interop

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/blocking"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// A database is a server that a sequential handler asks by a library.
type database struct {
	ask     func(cx *sched.Context, d *server.Dialer, key string) (string, error) // waits for release(key)
	waiting func(ctx context.Context) (int, error)                                // clients that wait
	release func(ctx context.Context, key string) error
}

// testDatabase asks in handlers on one worker. While they wait, others are served. A query ends
// with its connection, also on the database's side.
func testDatabase(t *testing.T, backend string, db database) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*conntest.Patience)
	defer cancel()
	addrs, results := make(chan net.Addr, 1), make(chan error, 100)
	handles := make(chan server.Handle, 100)
	s := &server.Server{Addr: "127.0.0.1:0", Workers: 1, Backend: backend, Listening: func(a net.Addr) { addrs <- a }}
	d := &server.Dialer{Group: s.Group}
	s.Handler = server.Sequential(func(cx *sched.Context, s *server.Stream) error {
		in := bufio.NewReader(s)
		for {
			line, err := in.ReadString('\n')
			if err == io.EOF {
				return nil
			}
			if key, ok := cutAsk(line); err == nil && ok {
				handles <- s.Handle()
				line, err = db.ask(cx, d, key)
				results <- err
				line += "\n"
			}
			if err == nil {
				_, err = io.WriteString(s, line)
			}
			if err != nil {
				return err
			}
		}
	})
	served := make(chan error, 1)
	go func() { served <- s.ListenAndServe() }()
	addr := conntest.Receive(t, addrs).String()
	defer func() {
		require.NoError(t, s.Close())
		require.ErrorIs(t, conntest.Receive(t, served), server.ErrServerClosed)
	}()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		require.NoError(t, c.SetDeadline(time.Now().Add(conntest.Patience)))
		return c
	}
	exchange := func(c net.Conn, question, answer string) {
		t.Helper()
		_, err := io.WriteString(c, question)
		require.NoError(t, err)
		p := make([]byte, len(answer))
		_, err = io.ReadFull(c, p)
		require.NoError(t, err)
		require.Equal(t, answer, string(p))
	}
	wait := func(clients int) {
		t.Helper()
		conntest.Eventually(t, func() bool {
			n, err := db.waiting(ctx)
			require.NoError(t, err)
			return n == clients
		})
	}

	other := dial()
	var askers []net.Conn
	for i := range 5 {
		c := dial()
		_, err := fmt.Fprintf(c, "ask %d\n", i)
		require.NoError(t, err)
		askers = append(askers, c)
	}
	wait(len(askers))
	exchange(other, "served while they wait\n", "served while they wait\n")
	for i, c := range askers {
		conntest.Receive(t, handles)
		require.NoError(t, db.release(ctx, fmt.Sprint(i)))
		require.NoError(t, conntest.Receive(t, results))
		exchange(c, "", fmt.Sprintf("answer %d\n", i))
	}
	for name, end := range map[string]func(c net.Conn, h server.Handle) error{
		"the client resets": func(c net.Conn, _ server.Handle) error {
			return errors.Join(c.(*net.TCPConn).SetLinger(0), c.Close())
		},
		"the connection is aborted": func(_ net.Conn, h server.Handle) error { return h.Abort() },
	} {
		c := dial()
		_, err := io.WriteString(c, "ask never\n")
		require.NoError(t, err)
		wait(1)
		require.NoError(t, end(c, conntest.Receive(t, handles)), name)
		require.Error(t, conntest.Receive(t, results), name)
		wait(0)
		exchange(other, "served after that\n", "served after that\n")
	}
}

func cutAsk(line string) (key string, ok bool) {
	n, _ := fmt.Sscanf(line, "ask %s\n", &key)
	return key, n == 1
}

// go-redis calls its connection on the caller's goroutine alone: its client can be one task's, with
// a Stream.
func TestGoRedisInASequentialHandler(t *testing.T) {
	addr := startRedis(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		admin := redis.NewClient(&redis.Options{Addr: addr})
		defer admin.Close()
		testDatabase(t, backend, database{
			ask: func(cx *sched.Context, d *server.Dialer, key string) (string, error) {
				c := redis.NewClient(&redis.Options{Addr: addr, PoolSize: 1, MaxRetries: -1, Dialer: d.DialContext})
				defer c.Close()
				v, err := c.BLPop(cx, 0, key).Result()
				if err != nil {
					return "", err
				}
				return v[1], nil
			},
			waiting: func(ctx context.Context) (int, error) { return blockedClients(ctx, admin) },
			release: func(ctx context.Context, key string) error { return admin.RPush(ctx, key, "answer "+key).Err() },
		})
	})
}

func blockedClients(ctx context.Context, c *redis.Client) (n int, err error) {
	info, err := c.Info(ctx, "clients").Result()
	for line := range strings.Lines(info) {
		if _, err := fmt.Sscanf(line, "blocked_clients:%d", &n); err == nil {
			return n, nil
		}
	}
	return 0, errors.Join(err, errors.New("INFO has no blocked_clients"))
}

// pgx's pool starts goroutines that use its connections: it is called on a pool of goroutines, with
// Sockets.
func TestPgxInSequentialHandlers(t *testing.T) {
	addr := startPostgres(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		admin, err := pgx.Connect(t.Context(), postgresURL(addr))
		require.NoError(t, err)
		defer admin.Close(context.Background())
		for i := range 5 { // queries wait for these
			_, err := admin.Exec(t.Context(), "select pg_advisory_lock($1)", i)
			require.NoError(t, err)
		}
		_, err = admin.Exec(t.Context(), "select pg_advisory_lock($1)", 99)
		require.NoError(t, err)
		threads := blocking.New(blocking.Config{})
		defer func() { require.NoError(t, threads.Shutdown(t.Context())) }()
		var shared *pgxpool.Pool
		defer func() { shared.Close() }()
		testDatabase(t, backend, database{
			ask: func(cx *sched.Context, d *server.Dialer, key string) (string, error) {
				ctx := cx
				if shared == nil { // one worker runs all handlers
					cfg, err := pgxpool.ParseConfig(postgresURL(addr))
					if err != nil {
						return "", err
					}
					cfg.MaxConns = 10
					cfg.ConnConfig.DialFunc = d.DialContext
					if shared, err = pgxpool.NewWithConfig(context.Background(), cfg); err != nil {
						return "", err
					}
				}
				return blocking.Do(cx, threads, func() (answer string, err error) {
					err = shared.QueryRow(ctx, "select 'answer ' || $1::text from (select pg_advisory_xact_lock_shared($2)) l",
						key, lockOf(key)).Scan(&answer)
					return answer, err
				})
			},
			waiting: func(ctx context.Context) (n int, err error) {
				err = admin.QueryRow(ctx, "select count(*) from pg_locks where locktype = 'advisory' and not granted").Scan(&n)
				return n, err
			},
			release: func(ctx context.Context, key string) error {
				_, err := admin.Exec(ctx, "select pg_advisory_unlock($1)", lockOf(key))
				return err
			},
		})
	})
}

func lockOf(key string) (n int) {
	if _, err := fmt.Sscan(key, &n); err != nil {
		return 99
	}
	return n
}
