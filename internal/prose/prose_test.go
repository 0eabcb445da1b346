package prose_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/prose"
)

func rulesOf(findings []prose.Finding) (rules []string) {
	for _, f := range findings {
		rules = append(rules, f.Rule)
	}
	return rules
}

func TestConstructionsAreFound(t *testing.T) {
	for sentence, rule := range map[string]string{
		"The server sends what is queued.":                 "a clause whose subject is what",
		"It returns whatever arrived first.":               "a clause whose subject is what",
		"A worker knows who waits.":                        "a clause whose subject is who",
		"Whoever closes it gets the error.":                "whoever",
		"What a handler leaves stays buffered.":            "a sentence that begins with what or who",
		"It works. Who reads it last closes it.":           "a sentence that begins with what or who",
		"Coalesce has the worker wait for a while.":        "has X do Y",
		"A full queue had it drop the message.":            "has X do Y",
		"The flag has both connections be reset.":          "has X do Y",
		"It has the turns of a set go on.":                 "has X do Y",
		"It has so many clients connect, then waits.":      "has X do Y",
		"It has functions of the Handle write the file.":   "has X do Y",
		"The field has `Trailer` tell their names.":        "has X do Y",
		"Small buffers would have TCP wait for seconds.":   "has X do Y",
		"It has net/http's server answer a request.":       "has X do Y",
		"The fixture has s serve on any port.":             "has X do Y",
		"The poller has wait return an error.":             "has X do Y",
		"The flag has others answer at length.":            "has X do Y",
		"The mutex has two tasks park.":                    "has X do Y",
		"It has each be asked.":                            "has X do Y",
		"The plan has all listeners follow it.":            "has X do Y",
		"The caller is told of each error.":                "be told of",
		"Both come to 3 ms.":                               "come to, for equals",
		"Two sockets, of which one is closed.":             "of which",
		"The task for whom it waits.":                      "for whom",
		"The spare polls in its stead.":                    "in the stead of",
		"It lists what there is.":                          "what there is",
		"The worker is, as it were, a thread.":             "as it were",
		strings.Repeat("w ", 35) + "w.":                    "a sentence of 36 words",
		"A [w " + strings.Repeat("of w ", 17) + "](x) ok.": "a sentence of 37 words",
	} {
		require.Equal(t, []string{rule}, rulesOf(prose.Markdown(sentence+"\n")), sentence)
	}
}

func TestPlainSentencesPass(t *testing.T) {
	for _, sentence := range []string{
		"The server sends all queued bytes.",
		"What is a worker? Who may call it?",
		"The error says what to do.",
		"A client that is silent is accepted after a second.",
		"The page shows what each flag means.",
		"The connection has a handler. It has the lock.",
		"A worker has a run queue, and a task has a run to end.",
		"It has the turn, the work of a system call, and a stop of its own.",
		"Both have ended. Do so, too. All have run before, and have come back.",
		"It has no use for it, and has the same share of them.",
		"They have taken all. It has connections that wait, and has to wait for others.",
		"Wakers that have been given up do nothing. It had it last.",
		"The system has no such signal, and has another end there.",
		"A client has reset its connection before any call, and had no answer for it.",
		strings.Repeat("w ", 34) + "w.",
		strings.Repeat("w ", 20) + "ends. " + strings.Repeat("W ", 20) + "ends.",
		"Call `what is this` and `whoever`.",
		"Costs nothing, e.g. One of them. " + strings.Repeat("w ", 30) + ".",
	} {
		require.Empty(t, prose.Markdown(sentence+"\n"), sentence)
	}
}

func TestMarkdownHasTextsOfItsOwnInListsTablesAndHeadings(t *testing.T) {
	half := strings.TrimSpace(strings.Repeat("w ", 15))
	for _, document := range []string{
		"# " + half + "\n\n" + half + "\n\n" + half + "\n",
		"- " + half + "\n- " + half + "\n1. " + half + "\n",
		"| " + half + " |\n|--|\n| " + half + " |\n| " + half + " |\n",
		half + "\n" + half + ".\n" + half + "\n",
		"```go\n" + strings.Repeat("what is ", 80) + "\n```\n",
		"~~~\n```\n" + strings.Repeat("what is ", 80) + "\n~~~\n",
		"Code:\n\n    " + strings.Repeat("what is ", 80) + "\n",
		strings.Repeat("[a]: b\n", 80),
		"<!-- " + strings.Repeat("what is ", 80) + "\n whoever -->\n",
	} {
		require.Empty(t, prose.Markdown(document), document)
	}
	wrapped := prose.Markdown("One.\n\n" + half + "\n" + half + "\n" + half + "\n")
	require.Equal(t, []prose.Finding{{Line: 3, Rule: "a sentence of 45 words", Text: half + " " + half + " " + half}}, wrapped)
}

func TestLongLinesAreFound(t *testing.T) {
	line := strings.Repeat("é", 49) + " " + strings.Repeat("é", 50)
	require.Empty(t, prose.Markdown(line+"\n"))
	require.Equal(t, []string{"a line of 101 columns"}, rulesOf(prose.Markdown(line+"é\n")))
	require.Empty(t, prose.Markdown("- https://example.com/"+strings.Repeat("x", 100)+"\n"), "it cannot be broken")

	source := "package p\n\n\t// " + line[:len(line)-14] + "\nvar x int\n"
	findings, err := prose.Comments("p.go", []byte(source))
	require.NoError(t, err)
	require.Empty(t, findings)
	findings, err = prose.Comments("p.go", []byte(strings.Replace(source, "// ", "// x", 1)))
	require.NoError(t, err)
	require.Equal(t, []string{"a line of 101 columns"}, rulesOf(findings))
}

func TestCommentsOfGoAreRead(t *testing.T) {
	source, err := os.ReadFile("testdata/comments.go.txt")
	require.NoError(t, err)
	findings, err := prose.Comments("comments.go", source)
	require.NoError(t, err)
	require.Equal(t, []prose.Finding{
		{Line: 2, Rule: "whoever", Text: "Whoever"},
		{Line: 9, Rule: "a clause whose subject is what", Text: "what is"},
		{Line: 16, Rule: "of which", Text: "of which"},
		{Line: 22, Rule: "for whom", Text: "for whom"},
	}, findings)

	_, err = prose.Comments("broken.go", []byte("package"))
	require.Error(t, err)
}
