package suiro_test

import (
	"go/ast"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/server"
)

// called are the types whose methods users call, as opposed to those that they implement.
var called = map[string]reflect.Type{
	"conn.Branch":           reflect.TypeFor[*conn.Branch](),
	"conn.Conn":             reflect.TypeFor[*conn.Conn](),
	"conn.Group":            reflect.TypeFor[*conn.Group](),
	"conn.Handle":           reflect.TypeFor[*conn.Handle](),
	"conn.Listener":         reflect.TypeFor[*conn.Listener](),
	"conn.ReceivedFiles":    reflect.TypeFor[conn.ReceivedFiles](),
	"conn.Socket":           reflect.TypeFor[*conn.Socket](),
	"conn.SocketListener":   reflect.TypeFor[*conn.SocketListener](),
	"conn.Spliced":          reflect.TypeFor[*conn.Spliced](),
	"conn.Stream":           reflect.TypeFor[*conn.Stream](),
	"conn.UnixListener":     reflect.TypeFor[*conn.UnixListener](),
	"conn.UnixStream":       reflect.TypeFor[*conn.UnixStream](),
	"packet.Conn":           reflect.TypeFor[*packet.Conn](),
	"packet.DatagramSocket": reflect.TypeFor[*packet.UDPSocket](),
	"packet.Handle":         reflect.TypeFor[*packet.Handle](),
	"packet.Packet":         reflect.TypeFor[*packet.Packet](),
	"packet.Peer":           reflect.TypeFor[*packet.Peer](),
	"packet.Session":        reflect.TypeFor[*packet.Session](),
	"packet.Socket":         reflect.TypeFor[*packet.Socket](),
	"server.Dialer":         reflect.TypeFor[*server.Dialer](),
	"server.Lease":          reflect.TypeFor[*server.Lease](),
	"server.Pool":           reflect.TypeFor[*server.Pool](),
	"server.ProxyProtocol":  reflect.TypeFor[*server.ProxyProtocol](),
	"server.StreamListener": reflect.TypeFor[*server.StreamListener](),
	"server.UnixListener":   reflect.TypeFor[*server.UnixListener](),
	"server.Server":         reflect.TypeFor[*server.Server](),
}

// handlers are types that implement a Handler for users: a socket calls their On methods. An
// http.ServeMux has ServeHTTP for the same reason.
var handlers = []string{"conn.Base", "packet.Base", "packet.Sessions"}

// The scheduler, the reactors and the group call methods of unexported types. A user could call
// such a method of a type in called, and it would run beside the task.
func TestWhatUsersHoldHasNoMethodsOfTheLibrarysOwn(t *testing.T) {
	for _, typ := range called {
		for i := range typ.NumMethod() {
			name := typ.Method(i).Name
			switch name {
			case "Run", "Driver", "Exited", "Deliver", "Obey", "Poll", "Engine":
				assert.Failf(t, "exported", "%v has %s", typ, name)
			}
			if strings.HasPrefix(name, "On") {
				assert.Failf(t, "exported", "%v has %s, which is for handlers", typ, name)
			}
		}
	}
}

// A new type with methods is in called, or a future, or a handler. A future's Poll is for tasks.
func TestEachTypeWithMethodsIsCalledOrAFutureOrAHandler(t *testing.T) {
	count := 0
	for _, pkg := range []string{"conn", "packet", "server"} {
		s := surfaceOf(t, pkg)
		for name := range s.methods {
			typ := s.types[name]
			if _, isStruct := typ.Type.(*ast.StructType); !isStruct || strings.HasSuffix(name, "Future") {
				continue
			}
			count++
			full := pkg + "." + name
			assert.True(t, called[full] != nil || slices.Contains(handlers, full), "%s is in no list of this test", full)
		}
	}
	assert.Greater(t, count, 15, "types were looked at")
}

// A Config is data only. reactor.Calls makes system calls.
func TestTheConfigurationOfAReactorHasNoMethods(t *testing.T) {
	assert.Zero(t, reflect.TypeFor[*reactor.Config]().NumMethod())
}
