package server_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"time"

	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// A handler starts a task for each line, which writes it to a slow store, and answers at once. A
// background task of the server ends when the shutdown begins. Shutdown ends the connection, awaits
// the writes, and gives up after ten seconds.
func ExampleServer_Shutdown() {
	stored, listening := make(chan string, 1), make(chan string, 1)
	s := &server.Server{Addr: "127.0.0.1:0", Listening: func(a net.Addr) { listening <- a.String() }}
	s.Handler = server.Sequential(func(cx *sched.Context, c *server.Stream) error {
		lines := bufio.NewScanner(c)
		for lines.Scan() { // ends at the shutdown, once the last request is answered
			line := lines.Text()
			s.Tasks().Go(cx, func(cx *sched.Context) error {
				if _, err := sched.Await(cx, sched.Sleep(300*time.Millisecond)); err != nil {
					return err // the shutdown took too long
				}
				stored <- line
				return nil
			}).Detach()
			if _, err := fmt.Fprintln(c, "thanks"); err != nil {
				return err
			}
		}
		return lines.Err()
	})
	go func() { _ = s.ListenAndServe() }()
	addr := <-listening
	background := s.Tasks().Go(s.Group().Runtime(), func(cx *sched.Context) error {
		for {
			first, err := sched.Await(cx, sched.Select[struct{}](cx.Draining().Canceled(), sched.Sleep(time.Hour)))
			if err != nil || first.Index == 0 {
				return err
			}
			fmt.Println("an hour has passed")
		}
	})

	c, err := net.Dial("tcp", addr)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	in := bufio.NewReader(c)
	fmt.Fprintln(c, "a line")
	line, _ := in.ReadString('\n')
	fmt.Print(line)

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	drained := make(chan error, 1)
	go func() { drained <- s.Shutdown(ctx) }()
	_, err = in.ReadByte()
	fmt.Println(err)
	_ = c.Close()
	fmt.Println(<-drained)
	fmt.Println("stored", <-stored)
	_, err = background.Wait(context.Background())
	fmt.Println("background:", err)
	// Output:
	// thanks
	// EOF
	// <nil>
	// stored a line
	// background: <nil>
}
