package conn

import "io"

// Buffered is the number of bytes that have been received and not read.
func (c *Conn) Buffered() int { return c.core.Buffered() }

// Peek is the next n unread bytes without reading them; all of them for n < 0.
// If there are fewer it returns those and io.ErrShortBuffer. The slice is valid
// until the handler's method returns.
func (c *Conn) Peek(n int) ([]byte, error) { return c.core.Peek(n) }

// Next reads the next n bytes, all of them for n < 0, without a copy. If there
// are fewer it reads nothing and returns io.ErrShortBuffer. The slice is valid
// until the handler's method returns.
func (c *Conn) Next(n int) ([]byte, error) { return c.core.Next(n) }

// Discard reads the next n bytes, all of them for n < 0, and drops them. It
// returns how many those were, with io.ErrShortBuffer if fewer than n.
func (c *Conn) Discard(n int) (int, error) { return c.core.Discard(n) }

// Read implements io.Reader over the buffered bytes. Without any it returns ErrWouldBlock, or
// io.EOF after the peer's FIN.
func (c *Conn) Read(p []byte) (int, error) { return c.core.Read(p) }

// WriteTo writes the buffered bytes to w, and discards as many as w took.
func (c *Conn) WriteTo(w io.Writer) (int64, error) { return c.core.WriteTo(w) }

// PauseRead makes OnData and OnEOF wait for ResumeRead. A little more may be received, and is kept;
// then the kernel's buffers hold the peer back. Meanwhile the peer's FIN goes unnoticed. A reset
// ends the connection, even if bytes arrived before it. On Wine 8, and for a Stream, it is noticed
// when reading is resumed.
func (c *Conn) PauseRead() error { return c.core.PauseRead() }

// ResumeRead ends a PauseRead. With anything unread OnData is called soon, whether
// or not more has come.
func (c *Conn) ResumeRead() error { return c.core.ResumeRead() }
