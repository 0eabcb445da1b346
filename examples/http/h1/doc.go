// Package h1 parses HTTP/1.1 requests and formats response heads, on byte slices alone: it does no
// I/O, starts no goroutine and, for a plain request, allocates nothing.
//
// A [Parser] belongs to one connection. Show it the bytes that are not consumed yet, discard as
// many as it says, and repeat:
//
//	n, err := p.ParseHead(buf, &req) // n == 0 and no error: read more, then call again
//	...
//	for done := false; !done; {
//		n, chunk, done, err = p.ParseBody(buf) // n == 0 and not done: read more
//	}
//
// Any error is an [*Error]: answer with [AppendError], then close. A parser that has failed stays
// failed, so nothing that follows a rejected request can be taken for another request.
//
// # Refused requests
//
// The rules are RFC 9110 and RFC 9112; where they leave a choice that two servers could make
// differently, and so be played against each other, the parser refuses:
//
//   - lines end in CRLF; a bare LF, a bare CR and a folded line are errors (400);
//   - Content-Length beside Transfer-Encoding, or a second Content-Length, even an equal one (400);
//   - Transfer-Encoding: the single word chunked. A coding before it is 501; anything else, and any
//     use in HTTP/1.0, is 400;
//   - Host: exactly one in HTTP/1.1, at most one in HTTP/1.0, a valid host and port, or empty. The
//     authority of an absolute target replaces it, as RFC 9112 section 3.2.2 demands;
//   - paths: RFC 3986 characters, well-formed percent escapes, and the [ ] | ^ that browsers send
//     unescaped. Queries also take the \ ` { } and stray % that they send. Never a fragment, a
//     space, a quotation mark, an angle bracket or a byte beyond ASCII;
//   - versions: HTTP/1.0 and 1.1; a later 1.x is read as 1.1, a later major version is 505;
//   - trailers are checked, bounded, and dropped unless [Parser.KeepTrailer] is set; one that would
//     change framing, routing or authentication is 400.
//
// Verdicts do not depend on how the bytes were split: a line is judged once it is complete, except
// that [Limits] hold at every moment.
package h1
