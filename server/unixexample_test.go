//go:build unix

package server_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// A Unix socket is a network of the same functions.
func ExampleServer_ListenStream_unix() {
	dir, err := os.MkdirTemp("", "suiro")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	s := &server.Server{Workers: 1}
	l, err := s.ListenStream("unix", filepath.Join(dir, "s"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	sched.Go(s.Group().Runtime(), func(cx *sched.Context) (struct{}, error) {
		c, err := l.Accept(cx)
		if err != nil {
			return struct{}{}, err
		}
		defer c.Close()
		return struct{}{}, repeat(cx, c)
	}).Detach()

	d := &server.Dialer{Group: s.Group}
	h := sched.Go(s.Group().Runtime(), func(cx *sched.Context) (string, error) {
		c, err := d.DialStream(cx, "unix", l.Addr().String())
		if err != nil {
			return "", err
		}
		defer c.Close()
		if _, err := c.Write([]byte("hello")); err != nil {
			return "", err
		}
		p := make([]byte, 5)
		_, err = c.ReadFull(p)
		return string(p), err
	})
	fmt.Println(h.Wait(context.Background()))
	// Output: hello <nil>
}
