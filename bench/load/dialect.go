package load

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A dialect is what the two sides say.
type dialect interface {
	// request is the message with that number.
	request(number int) []byte
	// accept takes received bytes of the answer to that message. It returns how many of got it has
	// used: all of them unless the answer is whole.
	accept(a *answer, number int, got []byte) (used int, whole bool, err error)
}

// An answer is one that has begun to come.
type answer struct {
	received int    // bytes, of the parrot's and the keyspace's
	head     []byte // the part that has arrived, for HTTP
}

// A parrot answers each message with one that is known.
type parrot struct{ asks, answers payload }

func (d parrot) request(number int) []byte { return d.asks.message(number) }

func (d parrot) accept(a *answer, number int, got []byte) (int, bool, error) {
	return a.match(d.answers.message(number), got)
}

// match compares received bytes with the expected ones.
func (a *answer) match(want, got []byte) (int, bool, error) {
	want = want[a.received:]
	n := min(len(got), len(want))
	if !bytes.Equal(got[:n], want[:n]) {
		return 0, false, fmt.Errorf("wrong bytes came back: within %d of them at offset %d", n, a.received)
	}
	if n < len(want) {
		a.received += n
		return n, false, nil
	}
	a.received = 0
	return n, true, nil
}

// maxHead is the most that the head of an answer of HTTP may have, in bytes.
const maxHead = 16 << 10

// A web has one request, whose answer has a known body.
type web struct {
	ask  []byte
	body []byte
	last []byte // the last answer: most are the same, until the Date changes
}

func (d *web) request(int) []byte { return d.ask }

func (d *web) accept(a *answer, _ int, got []byte) (int, bool, error) {
	if len(a.head) == 0 && len(d.last) > 0 && bytes.HasPrefix(got, d.last) {
		return len(d.last), true, nil
	}
	before := len(a.head)
	all := got
	if before > 0 {
		a.head = append(a.head, got...)
		all = a.head
	}
	n, err := d.parse(all)
	if err != nil {
		return 0, false, err
	}
	if n == 0 {
		if before == 0 {
			a.head = append(a.head, got...)
		}
		return len(got), false, nil
	}
	d.last = append(d.last[:0], all[:n]...)
	a.head = a.head[:0]
	return n - before, true, nil
}

// parse returns the length of the answer that p begins with; 0: it is not whole.
func (d *web) parse(p []byte) (int, error) {
	end := bytes.Index(p, []byte("\r\n\r\n"))
	if end < 0 {
		if len(p) > maxHead {
			return 0, fmt.Errorf("an answer's head has more than %d bytes", maxHead)
		}
		return 0, nil
	}
	status, fields, _ := strings.Cut(string(p[:end]), "\r\n")
	if !strings.HasPrefix(status, "HTTP/1.1 200 ") {
		return 0, fmt.Errorf("the answer is %q", status)
	}
	length := -1
	for field := range strings.SplitSeq(fields, "\r\n") {
		name, value, _ := strings.Cut(field, ":")
		if strings.EqualFold(name, "Content-Length") {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil {
				return 0, fmt.Errorf("an answer's length: %w", err)
			}
			length = n
		}
	}
	if length < 0 {
		return 0, errors.New("an answer without Content-Length")
	}
	body := p[end+len("\r\n\r\n"):]
	if length != len(d.body) || !bytes.HasPrefix(d.body, body[:min(len(body), length)]) {
		return 0, fmt.Errorf("wrong bytes came back: a body of %d, beginning with %q", length, body[:min(len(body), length, 64)])
	}
	if len(body) < length {
		return 0, nil
	}
	return end + len("\r\n\r\n") + length, nil
}

// A slowpoke says a message again and again.
type slowpoke []byte

func (d slowpoke) request(int) []byte { return d }

func (d slowpoke) accept(a *answer, _ int, got []byte) (int, bool, error) { return a.match(d, got) }
