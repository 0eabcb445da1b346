package flow

import (
	"io"
	"io/fs"
	"os"
	"syscall"
)

// A Piece is what an io.Reader has to give, where that is a part of a regular file.
type Piece struct {
	File   syscall.Conn
	Name   string
	Offset int64
	Size   int64 // in bytes

	seeker  io.Seeker
	limited *io.LimitedReader // nil: none
}

// A readableFile is an *os.File, also as its own WriteTo passes it to io.Copy.
type readableFile interface {
	fs.File
	io.Seeker
	syscall.Conn
}

// Sized reports whether size, of a regular file, is how many bytes a read gives. Pseudo file
// systems do not know: a file of /proc has size 0, and one of /sys the size of a page.
func Sized(size int64) bool { return size > int64(os.Getpagesize()) }

// PieceOf is the piece that r would read: the rest of a regular file, or as much of it as an
// io.LimitedReader allows. It reports false for other readers, and for files that are not Sized.
func PieceOf(r io.Reader) (p Piece, ok bool) {
	if p.limited, _ = r.(*io.LimitedReader); p.limited != nil {
		r = p.limited.R
	}
	f, ok := r.(readableFile)
	if !ok {
		return p, false
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return p, false // Read returns the reason
	}
	if p.Offset, err = f.Seek(0, io.SeekCurrent); err != nil {
		return p, false
	}
	p.File, p.Name, p.seeker = f, info.Name(), f
	p.Size = max(0, info.Size()-p.Offset)
	if p.limited != nil {
		p.Size = max(0, min(p.Size, p.limited.N))
	}
	return p, Sized(info.Size()) || p.limited != nil && p.limited.N <= 0
}

// Read moves the reader behind the piece, as reading it would.
func (p *Piece) Read() error {
	if p.limited != nil {
		p.limited.N -= p.Size
	}
	_, err := p.seeker.Seek(p.Size, io.SeekCurrent)
	return err
}
