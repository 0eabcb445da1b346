package kv

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A command is executed by one or all, which append the reply to out. The function one is for a
// command whose first argument is its only key: the shard of the key is locked.
type command struct {
	name  string // set by init
	arity int    // with the name; negative: the least
	one   func(sh *shard, out []byte, args [][]byte) []byte
	all   func(s *Store, out []byte, args [][]byte) []byte
	last  bool // the connection ends
}

var commands = map[string]*command{
	"get":      {arity: 2, one: get},
	"set":      {arity: -3, one: set},
	"incr":     {arity: 2, one: func(sh *shard, out []byte, args [][]byte) []byte { return add(sh, out, args[1], 1) }},
	"decr":     {arity: 2, one: func(sh *shard, out []byte, args [][]byte) []byte { return add(sh, out, args[1], -1) }},
	"append":   {arity: 3, one: appendTo},
	"strlen":   {arity: 2, one: strlen},
	"expire":   {arity: 3, one: expire},
	"ttl":      {arity: 2, one: ttl},
	"del":      {arity: -2, all: del},
	"exists":   {arity: -2, all: exists},
	"mget":     {arity: -2, all: mget},
	"mset":     {arity: -3, all: mset},
	"dbsize":   {arity: 1, all: dbsize},
	"flushall": {arity: -1, all: flushall},
	"ping":     {arity: -1, all: ping},
	"echo":     {arity: 2, all: func(_ *Store, out []byte, args [][]byte) []byte { return appendBulk(out, args[1]) }},
	"select":   {arity: 2, all: selectDB},
	"info":     {arity: -1, all: info},
	"config":   {arity: -2, all: config},
	"command":  {arity: -1, all: func(_ *Store, out []byte, _ [][]byte) []byte { return appendHead(out, '*', 0) }},
	"quit":     {arity: -1, all: func(_ *Store, out []byte, _ [][]byte) []byte { return append(out, ok...) }, last: true},
}

func init() {
	for name, c := range commands {
		c.name = name
	}
}

const (
	ok         = "+OK\r\n"
	null       = "$-1\r\n"
	notInteger = "value is not an integer or out of range"
)

func get(sh *shard, out []byte, args [][]byte) []byte {
	if e := sh.get(args[1]); e != nil {
		return appendBulk(out, e.value)
	}
	return append(out, null...)
}

// set knows NX, XX, EX and PX.
func set(sh *shard, out []byte, args [][]byte) []byte {
	var must, mustNot bool
	var expires int64
	for i := 3; i < len(args); i++ {
		switch option := strings.ToUpper(string(args[i])); {
		case option == "NX" && !must:
			mustNot = true
		case option == "XX" && !mustNot:
			must = true
		case (option == "EX" || option == "PX") && expires == 0 && i+1 < len(args):
			unit := time.Second
			if option == "PX" {
				unit = time.Millisecond
			}
			i++
			n, isInteger := integer(args[i])
			if !isInteger {
				return appendError(out, notInteger)
			}
			var fits bool
			if expires, fits = after(n, unit); !fits || n <= 0 {
				return appendError(out, "invalid expire time in 'set' command")
			}
		default:
			return appendError(out, "syntax error")
		}
	}
	e := sh.get(args[1])
	if e == nil && must || e != nil && mustNot {
		return append(out, null...)
	}
	if e == nil {
		e = sh.put(args[1])
	}
	e.value = append(e.value[:0], args[2]...)
	sh.expire(e, expires)
	return append(out, ok...)
}

// after is the Unix time in milliseconds after n units, if there is one.
func after(n int64, unit time.Duration) (at int64, fits bool) {
	now, each := time.Now().UnixMilli(), unit.Milliseconds()
	if n > (math.MaxInt64-now)/each || n < -math.MaxInt64/each {
		return 0, false
	}
	return now + n*each, true
}

func add(sh *shard, out, key []byte, d int64) []byte {
	var v int64
	if e := sh.get(key); e != nil {
		var isInteger bool
		if v, isInteger = integer(e.value); !isInteger {
			return appendError(out, notInteger)
		}
	}
	if sum := v + d; (sum > v) != (d > 0) {
		return appendError(out, "increment or decrement would overflow")
	}
	e := sh.put(key)
	e.value = strconv.AppendInt(e.value[:0], v+d, 10)
	return appendInt(out, v+d)
}

func appendTo(sh *shard, out []byte, args [][]byte) []byte {
	e := sh.put(args[1])
	if len(e.value)+len(args[2]) > MaxCommand {
		return appendError(out, "string exceeds maximum allowed size")
	}
	e.value = append(e.value, args[2]...)
	return appendInt(out, int64(len(e.value)))
}

func strlen(sh *shard, out []byte, args [][]byte) []byte {
	if e := sh.get(args[1]); e != nil {
		return appendInt(out, int64(len(e.value)))
	}
	return appendInt(out, 0)
}

func expire(sh *shard, out []byte, args [][]byte) []byte {
	n, isInteger := integer(args[2])
	if !isInteger {
		return appendError(out, notInteger)
	}
	at, fits := after(n, time.Second)
	if !fits {
		return appendError(out, "invalid expire time in 'expire' command")
	}
	e := sh.get(args[1])
	switch {
	case e == nil:
		return appendInt(out, 0)
	case n <= 0:
		sh.remove(args[1], e)
	default:
		sh.expire(e, at)
	}
	return appendInt(out, 1)
}

func ttl(sh *shard, out []byte, args [][]byte) []byte {
	switch e := sh.get(args[1]); {
	case e == nil:
		return appendInt(out, -2)
	case e.expires == 0:
		return appendInt(out, -1)
	default:
		return appendInt(out, (max(0, e.expires-time.Now().UnixMilli())+500)/1000)
	}
}

// each locks the shards of every step-th argument but the first and calls f for each of these.
func (s *Store) each(args [][]byte, step int, f func(sh *shard, i int)) {
	var set uint64
	for i := 1; i < len(args); i += step {
		set |= 1 << s.indexOf(args[i])
	}
	s.lock(set)
	defer s.unlock(set)
	for i := 1; i < len(args); i += step {
		f(&s.shards[s.indexOf(args[i])], i)
	}
}

func del(s *Store, out []byte, args [][]byte) []byte {
	n := int64(0)
	s.each(args, 1, func(sh *shard, i int) {
		if e := sh.get(args[i]); e != nil {
			sh.remove(args[i], e)
			n++
		}
	})
	return appendInt(out, n)
}

func exists(s *Store, out []byte, args [][]byte) []byte {
	n := int64(0)
	s.each(args, 1, func(sh *shard, i int) {
		if sh.get(args[i]) != nil {
			n++
		}
	})
	return appendInt(out, n)
}

func mget(s *Store, out []byte, args [][]byte) []byte {
	out = appendHead(out, '*', len(args)-1)
	s.each(args, 1, func(sh *shard, i int) { out = get(sh, out, args[i-1:]) })
	return out
}

func mset(s *Store, out []byte, args [][]byte) []byte {
	if len(args)%2 == 0 {
		return appendError(out, "wrong number of arguments for 'mset' command")
	}
	s.each(args, 2, func(sh *shard, i int) {
		e := sh.put(args[i])
		e.value = append(e.value[:0], args[i+1]...)
		sh.expire(e, 0)
	})
	return append(out, ok...)
}

func dbsize(s *Store, out []byte, _ [][]byte) []byte { return appendInt(out, int64(s.Len())) }

func flushall(s *Store, out []byte, args [][]byte) []byte {
	if len(args) > 2 || len(args) == 2 && !bytes.EqualFold(args[1], []byte("sync")) && !bytes.EqualFold(args[1], []byte("async")) {
		return appendError(out, "syntax error")
	}
	s.lock(math.MaxUint64)
	defer s.unlock(math.MaxUint64)
	for i := range s.shards {
		s.shards[i].entries, s.shards[i].volatile = map[string]*entry{}, 0
	}
	return append(out, ok...)
}

func ping(_ *Store, out []byte, args [][]byte) []byte {
	switch len(args) {
	case 1:
		return append(out, "+PONG\r\n"...)
	case 2:
		return appendBulk(out, args[1])
	}
	return appendError(out, "wrong number of arguments for 'ping' command")
}

func selectDB(_ *Store, out []byte, args [][]byte) []byte {
	switch n, isInteger := integer(args[1]); {
	case !isInteger:
		return appendError(out, notInteger)
	case n != 0:
		return appendError(out, "DB index is out of range")
	}
	return append(out, ok...)
}

func info(s *Store, out []byte, _ [][]byte) []byte {
	return appendBulk(out, fmt.Appendf(nil, "# Server\r\nredis_mode:standalone\r\nserver:suiro\r\n\r\n# Keyspace\r\ndb0:keys=%d\r\n", s.Len()))
}

// parameters are those for which redis-benchmark asks.
var parameters = map[string]string{"save": "", "appendonly": "no"}

// config knows CONFIG GET alone, without patterns.
func config(_ *Store, out []byte, args [][]byte) []byte {
	if !bytes.EqualFold(args[1], []byte("get")) || len(args) != 3 {
		return appendError(out, "unknown subcommand or wrong number of arguments; use CONFIG GET parameter")
	}
	name := strings.ToLower(string(args[2]))
	value, known := parameters[name]
	if !known {
		return appendHead(out, '*', 0)
	}
	return appendBulk(appendBulk(appendHead(out, '*', 2), []byte(name)), []byte(value))
}
