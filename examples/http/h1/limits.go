package h1

import "math"

// Limits bound what a client may send. Many parsers may share one; do not change it while they do.
type Limits struct {
	Line      int   // bytes of the request line without its CRLF; over: 414; 0: 8 KiB
	Header    int   // bytes of the header block with its line ends; over: 431; 0: 64 KiB
	Fields    int   // header fields; over: 431; 0: 256
	Body      int64 // bytes of the decoded body; over: 413; 0: 64 MiB; negative: no limit
	Extension int   // bytes of all chunk extensions of one body; over: 400; 0: 4 KiB
	Trailer   int   // bytes of the trailer block; over: 431; 0: 8 KiB
}

var defaults = Limits{
	Line:      8 << 10,
	Header:    64 << 10,
	Fields:    256,
	Body:      64 << 20,
	Extension: 4 << 10,
	Trailer:   8 << 10,
}

func (l *Limits) line() int      { return bound(l.Line, defaults.Line) }
func (l *Limits) header() int    { return bound(l.Header, defaults.Header) }
func (l *Limits) fields() int    { return bound(l.Fields, defaults.Fields) }
func (l *Limits) extension() int { return bound(l.Extension, defaults.Extension) }
func (l *Limits) trailer() int   { return bound(l.Trailer, defaults.Trailer) }

func (l *Limits) body() int64 {
	switch {
	case l.Body == 0:
		return defaults.Body
	case l.Body < 0:
		return math.MaxInt64
	}
	return l.Body
}

// bound keeps head offsets inside the 32 bits in which a Request stores them.
func bound(v, zero int) int {
	if v <= 0 {
		return zero
	}
	return min(v, 1<<30)
}
