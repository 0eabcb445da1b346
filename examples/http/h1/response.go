package h1

import "strconv"

// Continue100 tells a client that expects it (Request.ExpectContinue) to send its body.
const Continue100 = "HTTP/1.1 100 Continue\r\n\r\n"

// LastChunk ends a chunked body.
const LastChunk = "0\r\n\r\n"

// Head describes a response head for [AppendHead].
type Head struct {
	Status        int
	ContentType   string // "": no such field
	ContentLength int64  // negative: chunked, or for HTTP/1.0 until the connection closes
	Minor         int    // the request's
	Close         bool   // the connection closes after this response
	Date          []byte // from a DateCache; nil: no such field
	Fields        []byte // more fields, as AppendField formats them
}

// AppendHead appends a whole response head, the empty line included. Then comes the body, unless
// the request's method is HEAD or the status has none. For HTTP/1.0 a negative ContentLength closes
// the connection whatever Close says.
func AppendHead(dst []byte, h Head) []byte {
	dst = AppendStatusLine(dst, h.Status)
	if h.Date != nil {
		dst = append(dst, "Date: "...)
		dst = append(dst, h.Date...)
		dst = append(dst, "\r\n"...)
	}
	if h.ContentType != "" {
		dst = AppendField(dst, "Content-Type", h.ContentType)
	}
	bare := h.Status < 200 || h.Status == 204 // RFC 9110 section 8.6: neither length nor coding
	switch {
	case bare || h.Status == 304 && h.ContentLength < 0:
	case h.ContentLength >= 0:
		dst = append(dst, "Content-Length: "...)
		dst = strconv.AppendInt(dst, h.ContentLength, 10)
		dst = append(dst, "\r\n"...)
	case h.Minor > 0:
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
	default:
		h.Close = true
	}
	switch {
	case h.Close:
		dst = append(dst, "Connection: close\r\n"...)
	case h.Minor == 0:
		dst = append(dst, "Connection: keep-alive\r\n"...)
	}
	dst = append(dst, h.Fields...)
	return append(dst, "\r\n"...)
}

// AppendStatusLine appends the status line. Its version is HTTP/1.1 for any request, as RFC 9110
// section 6.2 asks: a server states its own.
func AppendStatusLine(dst []byte, status int) []byte {
	if status == 200 {
		return append(dst, "HTTP/1.1 200 OK\r\n"...)
	}
	dst = append(dst, "HTTP/1.1 "...)
	dst = strconv.AppendInt(dst, int64(status), 10)
	dst = append(dst, ' ')
	dst = append(dst, ReasonPhrase(status)...)
	return append(dst, "\r\n"...)
}

// AppendField appends a field line. A byte of the value that could end the line early becomes a
// space, so that no value, wherever it came from, can split the response. The name must be a token.
func AppendField(dst []byte, name, value string) []byte {
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	from := len(dst)
	dst = append(dst, value...)
	for i := from; i < len(dst); i++ {
		if classes[dst[i]]&valueByte == 0 {
			dst[i] = ' '
		}
	}
	return append(dst, "\r\n"...)
}

// AppendChunk appends data as one chunk of a chunked body; nothing if data is empty, since an empty
// chunk would end the body: that is [LastChunk].
func AppendChunk(dst, data []byte) []byte {
	if len(data) == 0 {
		return dst
	}
	dst = strconv.AppendInt(dst, int64(len(data)), 16)
	dst = append(dst, "\r\n"...)
	dst = append(dst, data...)
	return append(dst, "\r\n"...)
}

// AppendError appends the whole response to a rejected request, body included, with Connection:
// close. Close the connection after it, and better not at once: a reset could overtake the response
// while the client still sends. date is as in [Head].
func AppendError(dst []byte, err *Error, date []byte) []byte {
	dst = AppendHead(dst, Head{
		Status:        err.Status,
		ContentType:   "text/plain; charset=utf-8",
		ContentLength: int64(len(err.Reason) + 1),
		Minor:         1,
		Close:         true,
		Date:          date,
	})
	dst = append(dst, err.Reason...)
	return append(dst, '\n')
}
