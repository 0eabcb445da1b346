package h1_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTargetForms(t *testing.T) {
	for _, c := range []struct{ line, path, query, host string }{
		{"GET /", "/", "", "a"},
		{"GET /p/q?r=s?t", "/p/q", "r=s?t", "a"},
		{"GET //p", "//p", "", "a"},
		{"GET http://b:80/p?q", "/p", "q", "b:80"},
		{"GET HTTPS://b", "/", "", "b"},
		{"GET http://b?q", "/", "q", "b"},
		{"GET http://[::1]:8080/", "/", "", "[::1]:8080"},
		{"OPTIONS *", "*", "", "a"},
		{"CONNECT b:443", "", "", "b:443"},
	} {
		req, err := parse(c.line + " HTTP/1.1\r\nHost: a\r\n\r\n")
		require.NoError(t, err, c.line)
		method, target, _ := strings.Cut(c.line, " ")
		assert.Equal(t, method, string(req.Method))
		assert.Equal(t, target, string(req.Target))
		assert.Equal(t, c.path, string(req.Path), c.line)
		assert.Equal(t, c.query, string(req.Query), c.line)
		assert.Equal(t, strings.Contains(target, "?"), req.Query != nil, c.line)
		assert.Equal(t, c.host, string(req.Host), c.line)
	}
}

func TestHeaders(t *testing.T) {
	raw := "GET / HTTP/1.1\r\nHost: a\r\nEmpty:\r\nX: first\r\nx: second\r\n"
	for i := range 40 { // more than a Request holds inline
		raw += fmt.Sprintf("X-%d: v%d\r\n", i, i)
	}
	req, err := parse(raw + "\r\n")
	require.NoError(t, err)
	assert.Equal(t, 44, req.NumHeaders())
	assert.Equal(t, "first", string(req.Header("X")))
	assert.Equal(t, "v39", string(req.Header("x-39")))
	assert.Nil(t, req.Header("X-40"))
	assert.NotNil(t, req.Header("empty"))
	assert.Empty(t, req.Header("empty"))
	var got strings.Builder
	got.WriteString("GET / HTTP/1.1\r\n")
	for name, value := range req.Headers() {
		fmt.Fprintf(&got, "%s: %s\r\n", name, value)
	}
	assert.Equal(t, strings.Replace(raw, "Empty:", "Empty: ", 1), got.String())
	for name := range req.Headers() {
		assert.Equal(t, "Host", string(name))
		break
	}
}

// Two bytes that differ in the case bit alone, but are no letters, are different names.
func TestHeaderFoldsLettersOnly(t *testing.T) {
	req, err := parse("GET / HTTP/1.1\r\nHost: a\r\nX^: 1\r\n\r\n")
	require.NoError(t, err)
	assert.Nil(t, req.Header("x~"))
	assert.Equal(t, "1", string(req.Header("x^")))
}

// A slice handed out cannot be appended to at the cost of the bytes behind it.
func TestSlicesAreCapped(t *testing.T) {
	req, err := parse(browser)
	require.NoError(t, err)
	name, value := req.HeaderAt(1)
	for _, s := range [][]byte{req.Method, req.Target, req.Path, req.Query, req.Host, name, value} {
		assert.Equal(t, len(s), cap(s), "%s", s)
	}
}
