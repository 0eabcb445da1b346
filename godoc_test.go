package suiro_test

import (
	"os/exec"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
)

// The first look at the library is go doc ./server: two screens of 50 lines.
func TestTheSummaryOfServerFitsOnTwoScreens(t *testing.T) {
	out, err := exec.Command("go", "doc", "./server").Output()
	require.NoError(t, err)
	text := string(out)
	require.Contains(t, text, "type Server struct", "it is the summary")
	require.Contains(t, text, "conn/frame", "framing is found from here")
	require.LessOrEqual(t, strings.Count(text, "\n"), 100)
}

// go doc server.Conn shows an alias and its comment. So that names the methods, by lines of a group
// and its names.
func TestTheAliasesOfServerNameTheirMethods(t *testing.T) {
	docs := surfaceOf(t, "server").docs
	for name, typ := range map[string]reflect.Type{"Conn": reflect.TypeFor[*conn.Conn](), "Stream": reflect.TypeFor[*conn.Stream]()} {
		named := methodsIn(docs[name])
		require.Greater(t, len(named), 15, name)
		for _, method := range named {
			_, ok := typ.MethodByName(method)
			assert.True(t, ok || method == "ValueOf", "%s has no %s", name, method)
		}
	}
}

// methodsIn are the words with a capital in the lines that are indented.
func methodsIn(doc string) (names []string) {
	for line := range strings.Lines(doc) {
		if strings.HasPrefix(line, "\t") {
			names = append(names, regexp.MustCompile(`\b[A-Z]\w+`).FindAllString(line, -1)...)
		}
	}
	return names
}

func TestMethodsAreFoundInADocComment(t *testing.T) {
	require.Equal(t, []string{"Read", "Next", "Close"}, methodsIn("Conn is A.\n\n\tread  Read Next, with more\n\tend   Close\n"))
}
