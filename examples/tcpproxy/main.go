// Tcpproxy passes TCP connections on to a server, in plain sequential code.
//
//	go run ./examples/tcpproxy -addr 127.0.0.1:9000 -to 127.0.0.1:6379
package main

import (
	"flag"
	"time"

	"github.com/suiro-go/suiro/examples/internal/app"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

func main() {
	s := &server.Server{}
	p := &proxy{dialer: server.Dialer{Group: s.Group, Timeout: 5 * time.Second}}
	s.Handler = server.Sequential(p.serve)
	app.Flags(s, "127.0.0.1:9000")
	flag.StringVar(&p.to, "to", "127.0.0.1:6379", "`host:port` of the server")
	flag.DurationVar(&p.idle, "idle", 0, "how long a connection may carry nothing; 0: for ever")
	flag.Parse()
	app.Main("tcpproxy", s)
}

type proxy struct {
	dialer server.Dialer
	to     string
	idle   time.Duration
}

// serve passes one client's bytes on, and the server's bytes back, until both have finished.
func (p *proxy) serve(cx *sched.Context, client *server.Stream) error {
	upstream, err := p.dialer.DialStream(cx, "tcp", p.to)
	if err != nil {
		return err
	}
	_, _, err = client.Splice(cx, upstream, p.idle)
	return err
}
