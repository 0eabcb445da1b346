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

// A ReplyParser takes the responses of one connection apart, as a [Parser] does requests, and is as
// strict: what two proxies could take for different messages is an error (RFC 9112, 6.3 and 11.1).
// Answer 502 then and close the connection. The zero value is ready.
type ReplyParser struct {
	Limits      *Limits // nil: every default
	KeepTrailer bool    // as a Parser's

	body Parser
}

// ParseHead reads a response head from buf, as Parser.ParseHead does. method is that of the request
// it answers, since that decides whether there is a body. Responses of 1xx but 101 have none, and
// another head follows; after 101 the bytes are no HTTP any more.
func (p *ReplyParser) ParseHead(buf []byte, method string, r *Reply) (n int, err error) {
	p.body.Limits, p.body.KeepTrailer = p.Limits, p.KeepTrailer
	if p.body.state != inHead {
		return 0, p.body.misplaced()
	}
	p.body.kept = p.body.kept[:0]
	n, verdict := p.head(buf, r)
	if verdict == nil && n > 0 {
		verdict = p.finish(method, r)
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
	end := bytes.Index(buf, []byte("\r\n\r\n"))
	if size := len(buf); end < 0 && size <= limits.line()+limits.header() {
		if size > len("HTTP/1.1 200") && !bytes.HasPrefix(buf, []byte("HTTP/1.")) {
			return 0, errReplyLine
		}
		return 0, nil
	} else if end < 0 || end > limits.line()+limits.header() {
		return 0, errHeaderLong
	}
	head := buf[:end+4]
	i, err := r.statusLine(head)
	if err != nil {
		return 0, err
	}
	r.head.clear()
	for head[i] != '\r' {
		next, err := r.head.field(head, i)
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
	if i+2 != len(head) {
		return 0, errBareCR
	}
	r.head.head = head
	return len(head), nil
}

// statusLine reads "HTTP/1.1 200 reason". The reason, and the space before it, may be missing.
func (r *Reply) statusLine(b []byte) (int, *Error) {
	i := bytes.IndexByte(b, '\n')
	line := b[:i]
	switch {
	case len(line) < len("HTTP/1.1 200\r") || line[len(line)-1] != '\r':
		return 0, errReplyLine
	case string(line[:7]) != "HTTP/1." || classes[line[7]]&digitByte == 0 || line[8] != ' ':
		return 0, errReplyLine
	}
	line = line[:len(line)-1]
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

// finish judges where the message ends (RFC 9112, 6.3).
func (p *ReplyParser) finish(method string, r *Reply) *Error {
	f := &r.head.framing
	r.head.Minor = r.Minor
	r.Chunked, r.UntilClose = false, false
	r.KeepAlive = !f.close && (r.Minor == 1 || f.keepAlive)
	if err := r.head.codingOf(); err != nil {
		return err
	}
	n, err := r.head.lengthOf()
	if err != nil {
		return err
	}
	r.ContentLength = n
	informational := r.Status < 200
	if informational && f.lengths|f.codings > 0 || r.Status == 204 && f.codings > 0 {
		return errReplyBody
	}
	switch {
	case informational, r.Status == 204, r.Status == 304, method == "HEAD", method == "CONNECT" && r.Status < 300:
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

var (
	errReplyLine = bad("malformed status line")
	errReplyBody = bad("a body where there is none")
)
