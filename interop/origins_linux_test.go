package interop

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// startProgram runs a program until the end of the test, and waits until it accepts connections.
// The port is free when args is called.
func startProgram(t *testing.T, name string, uid *syscall.Credential, stop os.Signal, args func(port string) []string) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr = ln.Addr().String()
	require.NoError(t, ln.Close())
	_, port, _ := net.SplitHostPort(addr)
	var log bytes.Buffer
	cmd := exec.Command(name, args(port)...)
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: uid}
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(stop)
		select {
		case <-ended:
		case <-time.After(conntest.Patience):
			_ = cmd.Process.Kill()
			<-ended
		}
	})
	for {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			require.NoError(t, c.Close())
			return addr
		}
		select {
		case err := <-ended:
			ended <- err
			require.FailNow(t, "the program has ended", "%s: %v\n%s", name, err, &log)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// startRedis starts a Redis server.
func startRedis(t *testing.T) (addr string) {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	return startProgram(t, program, nil, syscall.SIGTERM, func(port string) []string {
		return []string{"--bind", "127.0.0.1", "--port", port, "--dir", dir, "--save", "", "--appendonly", "no"}
	})
}

// startPostgres starts a PostgreSQL server, which refuses to run as root.
func startPostgres(t *testing.T) (addr string) {
	t.Helper()
	bins, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(bins) == 0 {
		t.Skip("PostgreSQL is not installed")
	}
	bin := slices.Max(bins)
	dir, err := os.MkdirTemp("", "suiro-postgres")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	var uid *syscall.Credential
	if os.Getuid() == 0 {
		u, err := user.Lookup("postgres")
		require.NoError(t, err)
		id, err := strconv.Atoi(u.Uid)
		require.NoError(t, err)
		group, err := strconv.Atoi(u.Gid)
		require.NoError(t, err)
		require.NoError(t, os.Chown(dir, id, group))
		uid = &syscall.Credential{Uid: uint32(id), Gid: uint32(group)}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*conntest.Patience)
	defer cancel()
	db := filepath.Join(dir, "db")
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", db, "-U", "postgres", "-A", "trust", "--no-sync", "--no-instructions")
	initdb.Dir, initdb.SysProcAttr = dir, &syscall.SysProcAttr{Credential: uid}
	out, err := initdb.CombinedOutput()
	require.NoError(t, err, string(out))
	// SIGINT ends it at once
	addr = startProgram(t, filepath.Join(bin, "postgres"), uid, syscall.SIGINT, func(port string) []string {
		return []string{"-D", db, "-p", port, "-k", dir, "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"}
	})
	conntest.Eventually(t, func() bool { // it accepts connections before it has started
		c, err := pgx.Connect(ctx, postgresURL(addr))
		return err == nil && c.Close(ctx) == nil
	}, "PostgreSQL starts")
	return addr
}

func postgresURL(addr string) string {
	return fmt.Sprintf("postgres://postgres@%s/postgres?sslmode=disable", addr)
}
