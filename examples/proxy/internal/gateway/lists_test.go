package gateway

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAForwardedThatCouldHideAnElementIsNotWellFormed(t *testing.T) {
	for _, good := range []string{
		"", "for=192.0.2.7", "For=192.0.2.7;Proto=http, for=\"[2001:db8::1]:80\";by=_x", "for=a,, for=b;", `for="a\"b,c"`, "for=a , for=b",
	} {
		require.True(t, isForwarded(good), good)
	}
	for _, bad := range []string{
		`for="a`, `for="a\`, `for="a\"`, `for=a, for="`, "for", "for=", "=a", "for=a b", `for=a"b"`, `for="a"b`, "for = a", "for=a;\"", "(x", "for=a, 192.0.2.7",
	} {
		require.False(t, isForwarded(bad), bad)
	}
}

func TestAViaThatCouldHideAnElementIsNotWellFormed(t *testing.T) {
	for _, good := range []string{"", "1.1 a", "1.0 fred, 1.1 p.example.net (Apache/1.1)", `1.1 a (b (c) \) d)`} {
		require.True(t, isVia(good), good)
	}
	for _, bad := range []string{"1.1 a (b", "1.1 a (b (c)", `1.1 a (b\`, `1.1 a (b\)`, "1.1 a )", `1.1 "a`, `1.1 a\`} {
		require.False(t, isVia(bad), bad)
	}
}
