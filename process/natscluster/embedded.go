package natscluster

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// A natsServer runs inside the program.
type natsServer struct {
	*server.Server
	temporary string // a directory to remove
}

// startServer starts a server that listens.
func startServer(e Embedded) (*natsServer, error) {
	host, text, err := net.SplitHostPort(e.Listen)
	if err != nil {
		return nil, fmt.Errorf("natscluster: Embedded.Listen: %w", err)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("natscluster: Embedded.Listen: %w", err)
	}
	s := &natsServer{}
	dir := e.StoreDir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "natscluster"); err != nil {
			return nil, err
		}
		s.temporary = dir
	}
	o := &server.Options{Host: host, Port: int(port), JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true}
	if port == 0 {
		o.Port = server.RANDOM_PORT
	}
	if e.Configure != nil {
		e.Configure(o)
	}
	if s.Server, err = server.NewServer(o); err != nil {
		s.remove()
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(startTime) {
		s.stop()
		return nil, errors.New("natscluster: the embedded server does not start; is its port free?")
	}
	return s, nil
}

const startTime = 10 * time.Second

func (s *natsServer) stop() {
	s.Shutdown()
	s.WaitForShutdown()
	s.remove()
}

func (s *natsServer) remove() {
	if s.temporary != "" {
		_ = os.RemoveAll(s.temporary) // nobody misses it
	}
}
