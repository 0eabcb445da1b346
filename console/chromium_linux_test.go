package console_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/patience"
)

// A browser is a headless Chromium with one page, driven by the DevTools protocol over a pipe.
type browser struct {
	t       *testing.T
	to      *os.File
	session string

	mu      sync.Mutex
	next    int
	answers map[int]chan browserAnswer
}

type browserAnswer struct {
	ID     int
	Result json.RawMessage
	Error  *struct{ Message string }
}

// browse starts Chromium, or skips the test where there is none. Debian's package is chromium.
func browse(t *testing.T) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium")
	}
	commandsOut, commandsIn, err := os.Pipe()
	require.NoError(t, err)
	answersOut, answersIn, err := os.Pipe()
	require.NoError(t, err)
	program := exec.Command(path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--remote-debugging-pipe", "--window-size=1280,1000", "--user-data-dir="+t.TempDir(), "about:blank")
	program.ExtraFiles = []*os.File{commandsOut, answersIn} // descriptors 3 and 4
	require.NoError(t, program.Start())
	_, _ = commandsOut.Close(), answersIn.Close()
	b := &browser{t: t, to: commandsIn, answers: make(map[int]chan browserAnswer)}
	go b.receive(answersOut)
	t.Cleanup(func() {
		_ = commandsIn.Close() // Chromium ends
		ended := time.AfterFunc(10*time.Second, func() { _ = program.Process.Kill() })
		_ = program.Wait()
		ended.Stop()
		_ = answersOut.Close()
	})
	var target struct{ TargetID string }
	b.call(&target, "Target.createTarget", map[string]any{"url": "about:blank"})
	var attached struct{ SessionID string }
	b.call(&attached, "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true})
	b.session = attached.SessionID
	b.call(nil, "Page.enable", nil)
	return b
}

func (b *browser) receive(from *os.File) {
	messages := bufio.NewReader(from)
	for {
		text, err := messages.ReadBytes(0)
		if err != nil {
			return
		}
		var a browserAnswer
		if json.Unmarshal(text[:len(text)-1], &a) != nil || a.ID == 0 {
			continue // an event
		}
		b.mu.Lock()
		waits := b.answers[a.ID]
		delete(b.answers, a.ID)
		b.mu.Unlock()
		if waits != nil {
			waits <- a
		}
	}
}

// call calls a method of the protocol, and stores its result.
func (b *browser) call(result any, method string, params map[string]any) {
	b.t.Helper()
	answer := make(chan browserAnswer, 1)
	b.mu.Lock()
	b.next++
	id := b.next
	b.answers[id] = answer
	b.mu.Unlock()
	command := map[string]any{"id": id, "method": method}
	if params != nil {
		command["params"] = params
	}
	if b.session != "" {
		command["sessionId"] = b.session
	}
	text, err := json.Marshal(command)
	require.NoError(b.t, err)
	_, err = b.to.Write(append(text, 0))
	require.NoError(b.t, err)
	select {
	case a := <-answer:
		require.Nil(b.t, a.Error, "%s: %+v", method, a.Error)
		if result != nil {
			require.NoError(b.t, json.Unmarshal(a.Result, result))
		}
	case <-time.After(patience.Limit):
		b.t.Fatal(method + " has no answer")
	}
}

// eval is the value of a JavaScript expression.
func eval[T any](b *browser, expression string) (value T) {
	b.t.Helper()
	var got struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	b.call(&got, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true})
	require.Nil(b.t, got.ExceptionDetails, "%s: %+v", expression, got.ExceptionDetails)
	if len(got.Result.Value) > 0 {
		require.NoError(b.t, json.Unmarshal(got.Result.Value, &value))
	}
	return value
}

// until waits for an expression to be true.
func (b *browser) until(expression string) {
	b.t.Helper()
	end := time.Now().Add(patience.Limit)
	for !eval[bool](b, expression) {
		if time.Now().After(end) {
			b.t.Fatalf("in vain: %s\n%s", expression, eval[string](b, "document.body.innerText"))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// click presses the mouse on the element that an expression returns. The page redraws its tables
// while it is live, so the place is asked for right before.
func (b *browser) click(element string) {
	b.t.Helper()
	at := eval[[]float64](b, fmt.Sprintf(`(() => { const e = %s; e.scrollIntoView({block: "center"}); const r = e.getBoundingClientRect();
		return [r.x + r.width / 2, r.y + r.height / 2]; })()`, element))
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		b.call(nil, "Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at[0], "y": at[1], "button": "left", "clickCount": 1})
	}
}

// button is an expression for the button with that text, within an element.
func button(within, text string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(%s + " button")].find((b) => b.textContent.startsWith(%s))`, quote(within), quote(text))
}

func quote(text string) string {
	q, _ := json.Marshal(text)
	return strings.ReplaceAll(string(q), "\u2028", `\u2028`)
}
