package h1

import "bytes"

// A Reply is a parsed response head, as a proxy reads it of the server behind it. Its
// slices are valid as long as those of a [Request].
type Reply struct {
	Status int    // 100 to 999
	Reason []byte // may be empty
	Minor  int    // 0 or 1

	ContentLength int64 // -1: none was sent, or it means nothing
	Chunked       bool
	UntilClose    bool // the body ends with the connection
	KeepAlive     bool // another request may follow on the connection

	head Request // its fields
}

// NumHeaders is the number of fields, as that of a Request.
func (r *Reply) NumHeaders() int { return r.head.count }

// HeaderAt is field i, 0 <= i < NumHeaders, in the order sent.
func (r *Reply) HeaderAt(i int) (name, value []byte) { return r.head.HeaderAt(i) }

// Header is the value of the first field of that name.
func (r *Reply) Header(name string) []byte { return r.head.Header(name) }

// A ReplyParser takes the responses of one connection apart, as a [Parser] does requests. An answer
// that two proxies could take for different messages is an error (RFC 9112, 6.3 and 11.1). Reply
// 502 then and close the connection. The zero value is ready.
//
// It is less strict than a Parser where all proxies read the same, since old servers deviate:
//
//   - lines of the head and of the trailer may end in a bare LF;
//   - Content-Length may be repeated, with an equal value;
//   - a chunk size may be padded with white space, and its extensions may be malformed;
//   - fields that a trailer must not carry are dropped;
//   - a 1xx may have "Content-Length: 0", and a 204 a Content-Length or Transfer-Encoding, if no
//     byte of a body follows. These fields mean nothing.
type ReplyParser struct {
	Limits      *Limits // nil: every default
	KeepTrailer bool    // as a Parser's

	body Parser
}

// ParseHead reads a response head from buf, as Parser.ParseHead does. method is that of the request
// it answers, since that decides whether there is a body. Responses of 1xx but 101 have none, and
// another head follows; after 101 the bytes are no HTTP any more.
func (p *ReplyParser) ParseHead(buf []byte, method string, r *Reply) (n int, err error) {
	p.body.Limits, p.body.KeepTrailer, p.body.lax = p.Limits, p.KeepTrailer, true
	if p.body.state != inHead {
		return 0, p.body.misplaced()
	}
	p.body.kept = p.body.kept[:0]
	n, verdict := p.head(buf, r)
	if verdict == nil && n > 0 {
		verdict = p.finish(method, r, len(buf) > n)
	}
	if verdict != nil {
		return 0, p.body.fail(verdict)
	}
	return n, nil
}

// ParseBody is Parser.ParseBody. A body that ends with the connection is not done before that.
func (p *ReplyParser) ParseBody(buf []byte) (n int, chunk []byte, done bool, err error) {
	return p.body.ParseBody(buf)
}

// Trailer is Parser.Trailer.
func (p *ReplyParser) Trailer() []byte { return p.body.kept }

// head is the end of the head, or 0 if that is not in buf.
func (p *ReplyParser) head(buf []byte, r *Reply) (int, *Error) {
	limits := p.body.limits()
	end := headEnd(buf)
	if size := len(buf); end == 0 && size <= limits.line()+limits.header() {
		if size > len("HTTP/1.1 200") && !bytes.HasPrefix(buf, []byte("HTTP/1.")) {
			return 0, errReplyLine
		}
		return 0, nil
	} else if end == 0 || end > limits.line()+limits.header() {
		return 0, errHeaderLong
	}
	head := buf[:end]
	i, err := r.statusLine(head)
	if err != nil {
		return 0, err
	}
	r.head.clear()
	for head[i] != '\r' && head[i] != '\n' {
		next, err := r.head.field(head, i, true)
		switch {
		case err != nil:
			return 0, err
		case next == 0:
			return 0, errName
		case r.head.count > limits.fields():
			return 0, errFields
		}
		i = next
	}
	if head[i] == '\r' && i+2 != len(head) {
		return 0, errBareCR
	}
	r.head.head = head
	return len(head), nil
}

// headEnd is the end of the first empty line but one at the start of b; 0: there is none.
func headEnd(b []byte) int {
	for i := 0; ; {
		lf := bytes.IndexByte(b[i:], '\n')
		if lf < 0 {
			return 0
		}
		i += lf + 1
		if rest := b[i:]; bytes.HasPrefix(rest, []byte("\n")) {
			return i + 1
		} else if bytes.HasPrefix(rest, []byte("\r\n")) {
			return i + 2
		}
	}
}

// statusLine reads "HTTP/1.1 200 reason". The reason, and the space before it, may be missing.
func (r *Reply) statusLine(b []byte) (int, *Error) {
	i := bytes.IndexByte(b, '\n')
	line := bytes.TrimSuffix(b[:i], cr)
	switch {
	case len(line) < len("HTTP/1.1 200"):
		return 0, errReplyLine
	case string(line[:7]) != "HTTP/1." || classes[line[7]]&digitByte == 0 || line[8] != ' ':
		return 0, errReplyLine
	}
	r.Minor = min(int(line[7]-'0'), 1)
	status, ok := decimal(line[9:12])
	if !ok || status < 100 || len(line) > 12 && line[12] != ' ' {
		return 0, errReplyLine
	}
	r.Status, r.Reason = int(status), nil
	if len(line) > 13 {
		r.Reason = line[13:]
	}
	if !allOf(r.Reason, valueByte) {
		return 0, errReplyLine
	}
	return i + 1, nil
}

// finish judges where the message ends (RFC 9112, 6.3). more reports whether bytes follow its head.
func (p *ReplyParser) finish(method string, r *Reply, more bool) *Error {
	f := &r.head.framing
	r.head.Minor = r.Minor
	r.Chunked, r.UntilClose = false, false
	r.KeepAlive = !f.close && (r.Minor == 1 || f.keepAlive)
	if err := r.head.codingOf(); err != nil {
		return err
	}
	n, err := r.lengthOf()
	if err != nil {
		return err
	}
	r.ContentLength = n
	switch {
	case r.Status < 200:
		if n > 0 || f.codings > 0 {
			return errReplyBody
		}
		r.ContentLength = -1
	case r.Status == 204:
		if f.codings > 0 && more {
			return errReplyBody
		}
		if n > 0 || f.codings > 0 { // a body may still follow
			r.KeepAlive = false
		}
		r.ContentLength = -1
	case r.Status == 304, method == "HEAD", method == "CONNECT" && r.Status < 300:
	case f.codings > 0:
		r.Chunked = true
		p.body.startChunk()
		p.body.total, p.body.ext = 0, 0
	case r.ContentLength > 0:
		p.body.state, p.body.left = inBody, r.ContentLength
	case r.ContentLength < 0:
		r.UntilClose, r.KeepAlive = true, false
	}
	return nil
}

// lengthOf is the length that every Content-Length states; -1: there is none.
func (r *Reply) lengthOf() (int64, *Error) {
	if f := &r.head.framing; f.lengths <= 1 && f.codings == 0 {
		if n, err := r.head.lengthOf(); err == nil {
			return n, nil
		}
	}
	n := int64(-1)
	for i := range r.head.count {
		name, value := r.head.HeaderAt(i)
		if !equalFold(name, "content-length") {
			continue
		}
		for more := true; more; {
			var element []byte
			element, value, more = nextElement(value)
			stated, ok := decimal(element)
			switch {
			case !ok:
				return 0, errLength
			case n >= 0 && n != stated:
				return 0, errLengthMany
			}
			n = stated
		}
	}
	if n >= 0 && r.head.framing.codings > 0 {
		return 0, errLengthAndTE
	}
	return n, nil
}

var (
	errReplyLine = bad("malformed status line")
	errReplyBody = bad("a body where there is none")
)
