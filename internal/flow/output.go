package flow

import (
	"cmp"
	"io"
	"iter"
	"os"
	"slices"

	"github.com/suiro-go/suiro/internal/bufs"
)

// An Output is the data written and not given to the kernel, in order: bytes, then pieces of files,
// each with bytes that follow it.
type Output struct {
	Queued []byte // leave first, before all files
	files  []*File
	after  int   // bytes in memory behind the files
	left   int64 // bytes of files
}

// A File is a piece of a file in its place among the written data.
type File struct {
	*os.File       // the Output's own
	FD       int   // its descriptor
	Offset   int64 // of the rest
	Left     int64
	Plain    bool // the kernel cannot send it: it is read and written
	after    []byte
}

// Memory is how many bytes in memory wait behind Queued.
func (o *Output) Memory() int { return o.after }

// FileBytes is how many bytes of files wait.
func (o *Output) FileBytes() int64 { return o.left }

// Files is how many pieces of files wait.
func (o *Output) Files() int { return len(o.files) }

// Empty reports whether the Output holds neither memory nor files.
func (o *Output) Empty() bool { return o.Queued == nil && len(o.files) == 0 }

// tail is the end of the written data.
func (o *Output) tail() *[]byte {
	if n := len(o.files); n > 0 {
		return &o.files[n-1].after
	}
	return &o.Queued
}

// Room is room for n more bytes at the end. Append takes bytes that lie there without a copy.
func (o *Output) Room(p *bufs.Pool, n int) []byte {
	q := o.tail()
	*q = p.Grow(*q, n)
	return (*q)[len(*q):]
}

// Extend adds n bytes that were put into the Room.
func (o *Output) Extend(n int) {
	q := o.tail()
	*q = (*q)[:len(*q)+n]
	o.count(n)
}

// Append adds a copy of b.
func Append[T string | []byte](o *Output, p *bufs.Pool, b T) {
	q := o.tail()
	*q = append(p.Grow(*q, len(b)), b...)
	o.count(len(b))
}

func (o *Output) count(n int) {
	if len(o.files) > 0 {
		o.after += n
	}
}

// Adopt adds a buffer of the pools, without a copy where nothing is queued.
func (o *Output) Adopt(p *bufs.Pool, b []byte) {
	if len(o.Queued) == 0 && len(o.files) == 0 {
		b, o.Queued = o.Queued, b
	} else {
		Append(o, p, b)
	}
	p.Put(b)
}

// Replace makes a buffer of the pools the first data to leave. Nothing is queued before.
func (o *Output) Replace(p *bufs.Pool, b []byte) {
	p.Put(o.Queued)
	o.Queued = b
}

// Take takes the queued bytes: their memory is the caller's.
func (o *Output) Take() []byte {
	b := o.Queued
	o.Queued = nil
	return b
}

// AddFile adds a piece of a file.
func (o *Output) AddFile(f *File) {
	o.files = append(o.files, f)
	o.left += f.Left
}

// First is the piece of a file that leaves next; nil: there is none.
func (o *Output) First() *File {
	if len(o.files) == 0 {
		return nil
	}
	return o.files[0]
}

// Went notes that n bytes of the first file are dealt with.
func (o *Output) Went(n int) {
	f := o.files[0]
	f.Offset += int64(n)
	f.Left -= int64(n)
	o.left -= int64(n)
}

// Load reads bytes of the first file and makes them the queued ones. None were queued before. With
// an error no bytes were read, and at the end of the file it is io.EOF.
func (o *Output) Load(p *bufs.Pool) (n int, err error) {
	f := o.files[0]
	room := p.Get(bufs.Large)
	room = room[:min(int64(cap(room)), f.Left)]
	n, err = f.ReadAt(room, f.Offset)
	if n == 0 {
		p.Put(room)
		return 0, cmp.Or(err, io.EOF)
	}
	o.Replace(p, room[:n])
	o.Went(n)
	return n, nil
}

// EndFile closes the first file: the bytes after it follow the queued ones.
func (o *Output) EndFile(p *bufs.Pool) {
	f := o.files[0]
	_ = f.Close()
	o.files[0] = nil
	if o.files = o.files[1:]; len(o.files) == 0 {
		o.files = nil
	}
	o.after -= len(f.after)
	if len(o.Queued) == 0 {
		o.Replace(p, f.after)
		return
	}
	o.Queued = append(p.Grow(o.Queued, len(f.after)), f.after...)
	p.Put(f.after)
}

// Drop closes all files and drops all bytes.
func (o *Output) Drop(p *bufs.Pool) {
	for _, f := range o.files {
		_ = f.Close()
		p.Put(f.after)
	}
	p.Put(o.Queued)
	*o = Output{}
}

// All is the pieces of files.
func (o *Output) All() iter.Seq[*File] { return slices.Values(o.files) }
