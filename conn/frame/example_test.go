package frame_test

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/suiro-go/suiro/conn/frame"
)

// Messages with a header of a type and a length of two bytes, from a buffer that
// holds two and a half of them.
func ExampleLength() {
	codec := &frame.Length{Offset: 1, Width: 2, Strip: -1, Max: 4096}
	var wire []byte
	for _, m := range []string{"Ahello", "Bworld", "Cdropped"} {
		wire, _ = codec.AppendHeader(wire, []byte(m[:1]), []byte(m[1:]))
	}
	src := bufio.NewReader(bytes.NewReader(wire[:len(wire)-4]))
	_, _ = src.Peek(1) // fills the buffer, as an event does for a connection
	for f, err := range frame.All(src, codec) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("type %c: %s\n", f[0], f[3:])
	}
	_, need, err := frame.Next(src, codec)
	fmt.Println(src.Buffered(), "of", need, "bytes:", err)
	// Output:
	// type A: hello
	// type B: world
	// 6 of 10 bytes: frame: incomplete: more bytes are needed
}

func ExampleLine() {
	src := bufio.NewReader(strings.NewReader("HELO a.example\r\nQUIT\r\nsmuggled\n"))
	lines := &frame.Line{End: frame.CRLF, Max: 512}
	for {
		line, err := frame.Read(src, lines)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%q\n", line)
	}
	// Output:
	// "HELO a.example"
	// "QUIT"
	// frame: CR or LF alone where lines end in CRLF
}

func ExampleDelimiter() {
	d := &frame.Delimiter{Delim: []byte("\r\n\r\n"), Max: 1024}
	wire, _ := d.Append(nil, []byte("a: 1\r\nb: 2"))
	_, need, err := d.Decode(wire[:len(wire)-3])
	fmt.Println(need, err)
	f, n, _ := d.Decode(wire)
	fmt.Printf("%q %d\n", f, n)
	_, err = d.Append(nil, []byte("a: 1\r\n\r\nc: 3"))
	fmt.Println(err)
	// Output:
	// 14 frame: incomplete: more bytes are needed
	// "a: 1\r\nb: 2" 14
	// frame: the payload contains the end of a frame
}

// Netstrings (a decimal length, a colon, that many bytes, a comma) as a framing
// of one's own: the length by a Line-like search, the rest by counting.
func ExampleDecoderFunc() {
	netstring := frame.DecoderFunc(func(b []byte) ([]byte, int, error) {
		colon := bytes.IndexByte(b[:min(len(b), 6)], ':')
		if colon < 0 && len(b) < 6 {
			return nil, max(len(b)+1, 3), frame.ErrIncomplete
		}
		size, err := strconv.ParseUint(string(b[:max(colon, 0)]), 10, 16)
		if err != nil {
			return nil, 0, frame.ErrLength
		}
		start, end := colon+1, colon+1+int(size)
		if len(b) <= end {
			return nil, end + 1, frame.ErrIncomplete
		}
		if b[end] != ',' {
			return nil, 0, frame.ErrLength
		}
		return b[start:end:end], end + 1, nil
	})
	src := bufio.NewReader(strings.NewReader("5:hello,0:,6:world!,"))
	for range 3 {
		f, err := frame.Read(src, netstring)
		fmt.Printf("%q %v\n", f, err)
	}
	// Output:
	// "hello" <nil>
	// "" <nil>
	// "world!" <nil>
}
