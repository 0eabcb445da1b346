package h1

// Error is the verdict on a request that must not be served: answer Status, then close the
// connection.
type Error struct {
	Status int    // 400, 413, 414, 417, 431, 500, 501 or 505
	Reason string // the fault; fixed text, never the client's own bytes
}

func (e *Error) Error() string { return "h1: " + e.Reason }

func bad(reason string) *Error { return &Error{Status: 400, Reason: reason} }

var (
	errMethod      = bad("malformed method")
	errTarget      = bad("malformed request target")
	errTargetForm  = bad("request target does not suit the method")
	errVersion     = bad("malformed HTTP version")
	errVersionNo   = &Error{Status: 505, Reason: "HTTP version not supported"}
	errLineLong    = &Error{Status: 414, Reason: "request line too long"}
	errBareLF      = bad("line not ended by CRLF")
	errBareCR      = bad("CR without LF")
	errFold        = bad("folded or indented header line")
	errName        = bad("malformed field name")
	errValue       = bad("control character in a field value")
	errHeaderLong  = &Error{Status: 431, Reason: "header too large"}
	errFields      = &Error{Status: 431, Reason: "too many header fields"}
	errHostNone    = bad("no Host")
	errHostMany    = bad("more than one Host")
	errHost        = bad("malformed Host")
	errLength      = bad("malformed Content-Length")
	errLengthMany  = bad("more than one Content-Length")
	errLengthAndTE = bad("both Content-Length and Transfer-Encoding")
	errTE          = bad("malformed Transfer-Encoding")
	errTEVersion   = bad("Transfer-Encoding in HTTP/1.0")
	errCoding      = &Error{Status: 501, Reason: "transfer coding not supported"}
	errExpect      = &Error{Status: 417, Reason: "unknown expectation"}
	errBodyLarge   = &Error{Status: 413, Reason: "body too large"}
	errChunkSize   = bad("malformed chunk size")
	errChunkExt    = bad("malformed chunk extension")
	errChunkExts   = bad("chunk extensions too large")
	errChunkEnd    = bad("chunk not ended by CRLF")
	errTrailer     = bad("field not allowed in a trailer")
	errTrailerLong = &Error{Status: 431, Reason: "trailer too large"}
	errBodyPending = &Error{Status: 500, Reason: "next head asked for before the body's end"}
)
