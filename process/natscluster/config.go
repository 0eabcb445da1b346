package natscluster

import (
	"cmp"
	"log/slog"
	"regexp"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/suiro-go/suiro/process"
)

// A Config describes a node. The zero value is a cluster of its own, with a server inside the
// program that listens on a free port of 127.0.0.1.
type Config struct {
	// Cluster separates clusters that use the same NATS server. It may have letters, digits, "-"
	// and "_". "": "suiro".
	Cluster string

	// URL is that of a NATS server, or several with commas between. "": a server runs inside the
	// program.
	URL string

	// Embedded is about the server inside the program.
	Embedded Embedded

	// Options are further options of the connection, such as nats.UserCredentials. Handlers of
	// reconnects, disconnects and the end run after those of the Cluster.
	Options []nats.Option

	// Process is about the System that Join makes. Join sets Node and Remote. Dropped also gets
	// messages of other nodes that no mailbox has accepted, and messages that may be lost with
	// their node.
	Process process.Config

	// Types are the types of messages that cross nodes. nil: NewTypes(). More can be registered
	// later.
	Types *Types

	// Codec encodes messages. nil: CBOR.
	Codec Codec

	// Lost is how long a node is silent before it counts as lost. Monitors are told within 50 ms
	// after that. Nodes send three heartbeats in that time, so all should have the same value.
	// 0: 3 s. At least 100 ms.
	Lost time.Duration

	// Window is how many bytes are under way to each other node at most, apart from the last
	// message. They are encoded messages with 33 bytes each. A numbered frame, which may have one
	// message or many, takes 128 bytes more until it is confirmed. All nodes must have the same
	// value. 0: 4 MiB. At least 64 KiB.
	Window int

	// Lease is how long a name outlives its node. All nodes must have the same value. 0: three
	// times Lost, and at least 2 s.
	Lease time.Duration

	// NodeChanged is called when a node is heard for the first time, and when it is lost. It must
	// not block.
	NodeChanged func(node uint64, found bool)

	// NameLost is called when another node has taken a name, because this one could not renew its
	// lease. It must not block.
	NameLost func(name string, pid process.PID)

	// Logger receives what the node cannot report otherwise, and panics of NodeChanged, NameLost
	// and Codec. nil: nothing is logged.
	Logger *slog.Logger
}

const (
	minLost   = 100 * time.Millisecond
	minWindow = 64 << 10
	minLease  = 2 * time.Second
)

// An Embedded describes a NATS server inside the program.
type Embedded struct {
	// Listen is the address for other nodes. Without Configure the server has neither
	// authentication nor TLS, so it must not be reachable from networks that are not trusted.
	// "": 127.0.0.1 and a free port.
	Listen string

	// StoreDir has the files of JetStream. "": a temporary directory, which Shutdown removes.
	StoreDir string

	// Configure changes the server's options before it starts: users and tokens, TLSConfig with
	// TLS, limits. Config.Options of this node and of the others must have what the server then
	// asks for, for instance nats.Token or nats.RootCAs. This node's own connection stays within
	// the program, without TLS. nil: no changes.
	Configure func(o *server.Options)
}

var clusterName = regexp.MustCompile(`^[\w-]{1,64}$`)

func (cfg *Config) defaults() {
	cfg.Cluster = cmp.Or(cfg.Cluster, "suiro")
	cfg.Lost = max(cmp.Or(cfg.Lost, 3*time.Second), minLost)
	cfg.Window = max(cmp.Or(cfg.Window, 4<<20), minWindow)
	cfg.Lease = max(cmp.Or(cfg.Lease, 3*cfg.Lost), minLease)
	cfg.Embedded.Listen = cmp.Or(cfg.Embedded.Listen, "127.0.0.1:0")
	if cfg.Types == nil {
		cfg.Types = NewTypes()
	}
	if cfg.Codec == nil {
		cfg.Codec = CBOR
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
}
