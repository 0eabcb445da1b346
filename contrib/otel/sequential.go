package otel

import (
	"errors"
	"reflect"
	"runtime"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// errUnwound is the error of a function that has panicked or called runtime.Goexit. The span of the
// connection has the panic itself.
var errUnwound = errors.New("the function has panicked or called runtime.Goexit")

// Sequential is server.Sequential within Handler, with a second span for the call of fn, a child of
// the connection's. It has the name of fn, the kind internal, and the error that fn returns. The
// context of fn's sched.Context has that span:
//
//	rows, err := db.QueryContext(cx.Context(), query) // its span is a child of fn's
//
// It ends with the connection, as always.
func (t *Tracer) Sequential(fn func(cx *sched.Context, s *server.Stream) error) server.Handler {
	name := runtime.FuncForPC(reflect.ValueOf(fn).Pointer()).Name()
	return &traced{sequential{server.Sequential(func(cx *sched.Context, s *server.Stream) error {
		parent := t.ConnContext(s.Context(), s.Handle())
		ctx, span := t.tracer.Start(parent, name, trace.WithAttributes(attribute.String("code.function.name", name)))
		err := errUnwound
		defer func() { end(span, err) }()
		cx.Inherit(ctx)
		err = fn(cx, s)
		return err
	}), name}, t}
}

// sequential names the user's function in the log, not the one around it.
type sequential struct {
	server.Handler
	name string
}

func (h sequential) Unwrap() server.Handler { return h.Handler }

func (h sequential) HandlerName() string { return h.name }
