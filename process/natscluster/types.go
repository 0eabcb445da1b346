package natscluster

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"maps"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
)

// A Delivery says what becomes of messages when a connection fails. See the package comment.
type Delivery uint8

const (
	// AtMostOnce means: a message may be lost, and never arrives twice.
	AtMostOnce Delivery = iota
	// AtLeastOnce means: a message is sent until it is acknowledged, and duplicates are dropped.
	AtLeastOnce
)

// Types are the types of messages that cross nodes. Make them with NewTypes. Any goroutine may use
// them. All nodes register their types under the same names.
type Types struct {
	mu sync.Mutex // held by changes
	at atomic.Pointer[typeTable]
}

// A typeTable is never changed.
type typeTable struct {
	byType map[reflect.Type]*messageType
	byHash map[uint32]*messageType
}

// A messageType knows how messages of one type are sent.
type messageType struct {
	name     string
	hash     uint32 // of the name; stands for the type in frames
	delivery Delivery
	encode   func(c Codec, b []byte, message any) ([]byte, error)
	decode   func(c Codec, data []byte) (any, error)

	// Of requests only. accept makes a request whose answer goes to answered, which reports whether
	// it was sent. complete gives the caller its answer. release releases an answer without a
	// caller.
	accept   func(c Codec, data []byte, answered func(encoded []byte, err error) (sent bool)) (any, error)
	complete func(c Codec, request any, encoded []byte, err error)
	release  func(c Codec, encoded []byte)
}

// NewTypes returns types that have []byte and string, under those names, at most once. Bytes are
// copied once at each node.
func NewTypes() *Types {
	t := new(Types)
	t.at.Store(&typeTable{})
	add[[]byte](t, &messageType{
		name:   "[]byte",
		encode: func(_ Codec, b []byte, m any) ([]byte, error) { return append(b, m.([]byte)...), nil },
		decode: func(_ Codec, data []byte) (any, error) { return bytes.Clone(data), nil },
	})
	add[string](t, &messageType{
		name:   "string",
		encode: func(_ Codec, b []byte, m any) ([]byte, error) { return append(b, m.(string)...), nil },
		decode: func(_ Codec, data []byte) (any, error) { return string(data), nil },
	})
	return t
}

// Register adds a type of messages. It panics if the type or the name is registered.
func Register[T any](t *Types, name string, d Delivery) {
	add[T](t, &messageType{
		name: name, delivery: d,
		encode: func(c Codec, b []byte, m any) ([]byte, error) { return c.Append(b, m) },
		decode: func(c Codec, data []byte) (any, error) {
			var m T
			err := c.Decode(data, &m)
			return m, err
		},
	})
}

// RegisterCall adds a pair of types for process.Call: the called process receives a
// *process.Request[Q, R]. It panics if the pair or the name is registered.
func RegisterCall[Q, R any](t *Types, name string) {
	type request = process.Request[Q, R]
	add[*request](t, &messageType{
		name: name, delivery: AtLeastOnce,
		encode: func(c Codec, b []byte, m any) ([]byte, error) { return c.Append(b, &m.(*request).Body) },
		decode: func(c Codec, data []byte) (any, error) {
			r := new(request)
			err := c.Decode(data, &r.Body)
			return r, err
		},
		accept: func(c Codec, data []byte, answered func([]byte, error) bool) (any, error) {
			var body Q
			if err := c.Decode(data, &body); err != nil {
				return nil, err
			}
			return process.NewRequest[Q](body, func(value R, err error) {
				if err != nil {
					answered(nil, err)
					return
				}
				var encoded []byte
				err = errCrashed
				defer func() {
					if sent := answered(encoded, err); !sent || err != nil {
						sched.Result[R]{Value: value}.Release()
					}
				}()
				encoded, err = c.Append(nil, &value)
			}), nil
		},
		complete: func(c Codec, m any, encoded []byte, err error) {
			r := m.(*request)
			if err != nil {
				r.Fail(err)
				return
			}
			var value R
			err = errCrashed
			defer func() {
				if err != nil {
					r.Fail(err)
				}
			}()
			if err = c.Decode(encoded, &value); err == nil {
				r.Reply(value)
			}
		},
		release: func(c Codec, encoded []byte) {
			var value R
			if c.Decode(encoded, &value) == nil {
				sched.Result[R]{Value: value}.Release()
			}
		},
	})
}

func add[T any](t *Types, m *messageType) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(m.name))
	m.hash = h.Sum32()
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.at.Load()
	next := &typeTable{map[reflect.Type]*messageType{}, map[uint32]*messageType{}}
	maps.Copy(next.byType, old.byType)
	maps.Copy(next.byHash, old.byHash)
	typ := reflect.TypeFor[T]()
	if other := next.byHash[m.hash]; other != nil {
		panic(fmt.Sprintf("natscluster: the name %q is taken by %q", m.name, other.name))
	}
	if other := next.byType[typ]; other != nil {
		panic(fmt.Sprintf("natscluster: %v is registered as %q", typ, other.name))
	}
	next.byType[typ], next.byHash[m.hash] = m, m
	t.at.Store(next)
}

func (t *Types) of(message any) *messageType { return t.at.Load().byType[reflect.TypeOf(message)] }

func (t *Types) withHash(h uint32) *messageType { return t.at.Load().byHash[h] }
