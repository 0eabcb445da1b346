package h1

import "iter"

// inlineFields is how many header fields a Request holds before it allocates.
const inlineFields = 16

// Request is a parsed head. Its slices point into the bytes given to [Parser.ParseHead] and are
// valid until the caller discards or overwrites those; no field is a copy. Reuse one Request for
// many: it keeps its room for fields, and a copy of the last header block, since clients repeat
// theirs: one that is the same byte for byte is not parsed again. No parser needs it between calls,
// so a worker may share one among its connections.
type Request struct {
	Method []byte // case-sensitive; any token
	Target []byte // as sent
	Path   []byte // not decoded; "/" if an absolute target has none; empty for CONNECT
	Query  []byte // without '?'; nil if there is no '?'
	Host   []byte // the target's authority if it has one, else the Host field; may be empty

	ContentLength  int64 // -1: none was sent, or Chunked
	Minor          int   // 0 or 1
	Chunked        bool
	KeepAlive      bool // the connection may serve another request after this one
	ExpectContinue bool // the client holds its body back until it has Continue100

	framing framing
	last    []byte // the head that the fields are of, from its request line on, if they are whole and it is short
	block   int    // where in last the header block begins
	marks   marks  // of last's request line
	seen    marks  // of the request line that was parsed last, which need not be that
	head    []byte // what field offsets count from: the header block, of a Reply the head
	count   int
	inline  [inlineFields]field
	more    []field
}

// field is a header field as offsets into Request.head.
type field struct{ name, nameEnd, value, valueEnd uint32 }

// HasBody reports whether a body of at least one byte, or a chunked one, follows.
func (r *Request) HasBody() bool { return r.Chunked || r.ContentLength > 0 }

// NumHeaders counts the header fields, repeated ones each.
func (r *Request) NumHeaders() int { return r.count }

// HeaderAt is field i, 0 <= i < NumHeaders, in the order sent.
func (r *Request) HeaderAt(i int) (name, value []byte) {
	f := r.at(i)
	return r.head[f.name:f.nameEnd:f.nameEnd], r.head[f.value:f.valueEnd:f.valueEnd]
}

// Header is the value of the first field of that name, whatever its case; nil if there is none,
// empty but not nil if it has no value. It compares with each field in turn.
func (r *Request) Header(name string) []byte {
	for i := range r.count {
		f := r.at(i)
		if int(f.nameEnd-f.name) == len(name) && equalFold(r.head[f.name:f.nameEnd], name) {
			return r.head[f.value:f.valueEnd:f.valueEnd]
		}
	}
	return nil
}

// Headers yields all fields, name and value, in the order sent.
func (r *Request) Headers() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for i := range r.count {
			if !yield(r.HeaderAt(i)) {
				return
			}
		}
	}
}

func (r *Request) at(i int) *field {
	if i < inlineFields {
		return &r.inline[i]
	}
	return &r.more[i-inlineFields]
}

func (r *Request) add(f field) {
	if r.count < inlineFields {
		r.inline[r.count] = f
	} else {
		r.more = append(r.more, f)
	}
	r.count++
}

// clear forgets the fields, not their room. requestLine and finish set all the rest.
func (r *Request) clear() {
	r.framing = framing{}
	r.count = 0
	r.more = r.more[:0]
	r.last = r.last[:0]
}

// marks are where a request line's parts end, from its start; zero if its target is not in origin
// form.
type marks struct{ method, path, target int }

// maxRemembered bounds the heads that are kept, which may be one for each connection.
const maxRemembered = 1 << 10

// remember keeps the head that all fields are of, which ends with a header block of that length.
func (r *Request) remember(head []byte, block int) {
	if len(head) <= maxRemembered {
		r.last, r.block, r.marks = append(r.last, head...), len(head)-block, r.seen
	}
}

// lineAgain is the length of the request line at the start of b if it is the last one, in origin
// form: its parts are then where they were. Its version is 1.1 unless the byte says otherwise.
func (r *Request) lineAgain(b []byte) int {
	m := r.marks
	if m.method == 0 || len(r.last) == 0 || r.block > len(b) || string(b[:r.block]) != string(r.last[:r.block]) {
		return 0
	}
	r.Method, r.Target, r.Path = b[:m.method:m.method], b[m.method+1:m.target:m.target], b[m.method+1:m.path:m.path]
	r.Query, r.Host, r.seen = nil, nil, m
	if m.path < m.target {
		r.Query = b[m.path+1 : m.target : m.target]
	}
	r.Minor = min(int(b[r.block-len("1\r\n")]-'0'), 1)
	return r.block
}

// again is the length of the header block at the start of b if it is the one whose fields r holds.
// The fields of a block depend on its bytes and the limits alone.
func (r *Request) again(b []byte, limits *Limits) int {
	last := r.last[min(r.block, len(r.last)):]
	n := len(last)
	if n == 0 || n > len(b) || string(b[:n]) != string(last) || n > limits.header() || r.count > limits.fields() {
		return 0
	}
	return n
}
