package suiro_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/packet"
)

// held are the types that users hold and call, as opposed to those that they implement.
var held = []reflect.Type{
	reflect.TypeFor[*conn.Group](),
	reflect.TypeFor[*conn.Conn](),
	reflect.TypeFor[*conn.Listener](),
	reflect.TypeFor[*conn.Socket](),
	reflect.TypeFor[*conn.SocketListener](),
	reflect.TypeFor[*conn.Stream](),
	reflect.TypeFor[*conn.Spliced](),
	reflect.TypeFor[*packet.Conn](),
	reflect.TypeFor[*packet.Socket](),
}

// What the scheduler, the reactors and the group call is on types of its own. A user who sees
// such a method could call it, and it would run beside the task.
func TestWhatUsersHoldHasNoMethodsOfTheLibrarysOwn(t *testing.T) {
	for _, typ := range held {
		for i := range typ.NumMethod() {
			name := typ.Method(i).Name
			switch name {
			case "Run", "Exited", "Deliver", "Obey", "Poll", "Engine":
				assert.Failf(t, "exported", "%v has %s", typ, name)
			}
			if strings.HasPrefix(name, "On") {
				assert.Failf(t, "exported", "%v has %s, which is for handlers", typ, name)
			}
		}
	}
}
