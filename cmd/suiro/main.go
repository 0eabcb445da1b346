// Suiro watches servers from a terminal:
//
//	suiro top ADDRESS
//
// ADDRESS is that of a console (package console): 127.0.0.1:9001, or a URL such as
// https://example.com/console/. The view is that of the page, live. It changes nothing.
//
//	s        sort connections by the next column; S: the other way round
//	/        show connections and handlers with a text; Esc: all
//	↑ ↓      scroll, also PgUp, PgDn, Home and End
//	q        quit
package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	tea "charm.land/bubbletea/v2"
)

const usage = "usage: suiro top ADDRESS\n\nADDRESS is that of a console: 127.0.0.1:9001, or a URL such as https://example.com/console/"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "suiro:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 || args[0] != "top" {
		return errors.New(usage)
	}
	at, err := streamOf(args[1])
	if err != nil {
		return err
	}
	return top(at, newModel(withoutSecret(args[1])))
}

// top shows a stream until the user quits.
func top(at string, m tea.Model, options ...tea.ProgramOption) error {
	ctx, cancel := context.WithCancel(context.Background())
	p, ended := tea.NewProgram(m, options...), make(chan struct{})
	go func() {
		defer close(ended)
		follow(ctx, at, p.Send)
	}()
	_, err := p.Run()
	cancel()
	<-ended
	return err
}

// withoutSecret is the address for the screen, without a password.
func withoutSecret(address string) string {
	if u, err := url.Parse(address); err == nil && u.User != nil {
		return u.Redacted()
	}
	return address
}

// streamOf returns the URL of a console's stream.
func streamOf(address string) (string, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	if u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%s is not the address of a console\n%s", address, usage)
	}
	return u.JoinPath("stream").String(), nil
}
