package console_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/trace"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/blocking"
	"github.com/suiro-go/suiro/console"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// mount serves the page for s on a server of its own, and returns its address.
func mount(t *testing.T, s *server.Server, cfg *console.Config) string {
	t.Helper()
	cfg.Interval = 200 * time.Millisecond
	admin := &server.Server{Handler: server.HTTP(console.Handler(s, cfg))}
	return "http://" + serve(t, admin).String() + "/"
}

// A person looks at the page: a slow handler appears with its stack, connections are sorted,
// filtered and closed, and events are drawn.
func TestAPersonUsesThePage(t *testing.T) {
	b := browse(t)
	warnings := console.NewWarnings(slog.DiscardHandler)
	h := &blocker{entered: make(chan bool, 1), release: make(chan struct{})}
	s := &server.Server{Handler: h, Workers: 2, Events: 4096, Logger: slog.New(warnings)}
	addr := serve(t, s)
	recorder := trace.NewFlightRecorder(trace.FlightRecorderConfig{})
	require.NoError(t, recorder.Start())
	t.Cleanup(recorder.Stop)
	page := mount(t, s, &console.Config{Warnings: warnings, Recorder: recorder, Pools: map[string]*blocking.Pool{"disk": new(blocking.Pool)}})
	var conns []net.Conn
	for i := range 5 {
		c := dial(t, addr)
		for range i + 1 {
			roundTrip(t, c)
		}
		conns = append(conns, c)
	}
	b.call(nil, "Page.navigate", map[string]any{"url": page})
	b.until(`document.getElementById("state")?.textContent.startsWith("serves")`)
	b.until(`document.querySelectorAll("#conns tr").length === 6`)

	// A handler blocks: its worker shows it, and then there is its stack.
	_, err := io.WriteString(conns[0], "block")
	require.NoError(t, err)
	conntest.Receive(t, h.entered)
	b.until(`document.querySelector("#workers tr.slow")?.textContent.includes("blocker")`)
	b.until(`document.querySelector("#handlers pre")?.textContent.includes("blocker).blocks")`)
	b.until(`document.querySelector("#warnings").textContent.includes("a task occupies its worker")`)

	// The number of received bytes: the first click puts the largest one first.
	received := `[...document.querySelectorAll("#conns tr")].slice(1).map((r) => Number(r.children[2].textContent))`
	b.click(button("#conns", "Received"))
	b.until(fmt.Sprintf(`JSON.stringify(%s) === "[6,5,4,3,2]"`, received))
	b.click(button("#conns", "Received"))
	b.until(fmt.Sprintf(`JSON.stringify(%s) === "[2,3,4,5,6]"`, received))

	b.click(`document.getElementById("load")`)
	b.until(`document.getElementById("span").textContent.includes("events in")`)
	if name := os.Getenv("SUIRO_SCREENSHOT"); name != "" {
		b.click(`document.querySelector("#handlers summary")`)
		b.call(nil, "Runtime.evaluate", map[string]any{"expression": "scrollTo(0, 0)"})
		time.Sleep(time.Second) // the page is drawn by then; no test looks at the picture
		var shot struct{ Data string }
		b.call(&shot, "Page.captureScreenshot", map[string]any{"format": "png"})
		image, err := base64.StdEncoding.DecodeString(shot.Data)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(name, image, 0o666))
	}
	close(h.release)
	b.until(`document.querySelector("#workers tr.slow") === null`)

	// One connection is found by its address, and closed.
	last := conns[4].LocalAddr().String()
	b.click(`document.getElementById("filter")`)
	b.call(nil, "Input.insertText", map[string]any{"text": last})
	b.until(fmt.Sprintf(`document.querySelectorAll("#conns tr").length === 2 && document.getElementById("conns").textContent.includes(%s)`, quote(last)))
	b.click(button("#conns", "Close"))
	require.NoError(t, conns[4].SetReadDeadline(time.Now().Add(conntest.Patience)))
	_, err = conns[4].Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, conns[4].Close())
	b.until(`document.querySelectorAll("#conns tr").length === 1`)
	conntest.Eventually(t, func() bool { return s.Group().Len() == 4 })

	// Another site can do none of that: not even see the page in a frame.
	refused := eval[bool](b, fmt.Sprintf(`fetch(%s, {method: "POST", mode: "no-cors", body: "id=1&how=close"}).then((r) => r.status === 403)`, quote(page+"close")))
	require.True(t, refused, "a POST without the header")
}

// payload is markup that would set a variable of the page.
const payload = `<img src=x onerror="window.pwned=1">`

// Names that peers choose are shown as text: the path of a Unix socket, a name in a TLS hello, the
// path of an HTTP request.
func TestTextFromPeersIsNoMarkup(t *testing.T) {
	b := browse(t)
	dir := t.TempDir()
	warnings := console.NewWarnings(slog.DiscardHandler)
	log := slog.New(warnings)
	s := &server.Server{Handler: &blocker{}, Network: "unix", Logger: log}
	listening, served := make(chan net.Addr, 1), make(chan error, 1)
	s.Addr, s.Listening = filepath.Join(dir, "server"), func(a net.Addr) { listening <- a }
	go func() { served <- s.ListenAndServe() }()
	addr := conntest.Receive(t, listening)
	defer func() {
		require.NoError(t, s.Close())
		require.ErrorIs(t, <-served, server.ErrServerClosed)
	}()
	c, err := net.DialUnix("unix", &net.UnixAddr{Net: "unix", Name: filepath.Join(dir, payload)}, addr.(*net.UnixAddr))
	require.NoError(t, err)
	defer c.Close()
	roundTrip(t, c)

	secure := &server.Server{Handler: &blocker{}, Logger: log, TLS: &tls.Config{
		Certificates: []tls.Certificate{certificate(t)},
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			log.Warn("no such name", "sni", hello.ServerName)
			return nil, errors.New("no such name")
		},
	}}
	_, err = tls.Dial("tcp", serve(t, secure).String(), &tls.Config{ServerName: payload, InsecureSkipVerify: true})
	require.Error(t, err)

	web := &server.Server{Logger: log, Handler: server.HTTP(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		log.Warn("not found", "path", r.URL.Path)
	}))}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+serve(t, web).String(), http.NoBody)
	require.NoError(t, err)
	request.URL.Path = "/" + payload
	request.Close = true
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())

	b.call(nil, "Page.navigate", map[string]any{"url": mount(t, s, &console.Config{Warnings: warnings})})
	b.until(fmt.Sprintf(`document.getElementById("conns")?.textContent.includes(%s)`, quote(payload)))
	for _, want := range []string{"sni=" + payload, "path=/" + payload} {
		b.until(fmt.Sprintf(`document.getElementById("warnings").textContent.includes(%s)`, quote(want)))
	}
	require.Zero(t, eval[int](b, `document.querySelectorAll("img").length`))
	require.True(t, eval[bool](b, `window.pwned === undefined`))
	// Even markup that got into the page could run nothing.
	require.True(t, eval[bool](b, `new Promise((done) => { document.addEventListener("securitypolicyviolation", () => done(window.pwned === undefined));
		const s = document.createElement("script"); s.textContent = "window.pwned = 1"; document.body.append(s); })`))
}

func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
