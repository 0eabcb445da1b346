package suiro_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// british are beginnings of words that package net and context write otherwise: canceled, dialed.
// The marks, which are not part of them, keep this file from being found.
var british = strings.Fields(strings.ReplaceAll(`
	cancel-led cancel-ling cancel-ler dial-led dial-ling dial-ler signal-led signal-ling label-led
	label-ling model-led model-ling travel-led travel-ling channel-led tunnel-led tunnel-ling
	marshal-led marshal-ling level-led total-led behavi-our col-our fav-our hon-our neighb-our
	harb-our cent-re gr-ey defen-ce whil-st among-st analy-se catalog-ue arte-fact organi-se
	organi-sation recogni-se initiali-se initiali-sation seriali-se seriali-sation optimi-se
	optimi-sation synchroni-se synchroni-sation normali-se normali-sation minimi-se maximi-se
	summari-se generali-se generali-sation utili-se utili-sation customi-se prioriti-se authori-se
`, "-", ""))

// britishIn lists the words with file and line. Words in capitals are names of a system's headers.
func britishIn(fsys fs.FS) (found []string, err error) {
	err = fs.WalkDir(fsys, ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (file == "build" || d.Name() == "testdata" || d.Name() == ".git"):
			return fs.SkipDir
		case d.IsDir() || !slices.Contains([]string{"", ".go", ".md", ".sh", ".yml", ".txt"}, path.Ext(file)):
			return nil
		}
		text, err := fs.ReadFile(fsys, file)
		if err != nil {
			return err
		}
		if bytes.IndexByte(text, 0) >= 0 {
			return nil // a program that somebody built here
		}
		if file == "CHANGELOG.md" { // has old names in backquotes
			text = oldName.ReplaceAllFunc(text, func(name []byte) []byte { return bytes.Repeat([]byte(" "), len(name)) })
		}
		lower := bytes.Clone(text) // as long as text, unlike strings.ToLower's
		for i, c := range lower {
			if 'A' <= c && c <= 'Z' {
				lower[i] += 'a' - 'A'
			}
		}
		for _, word := range british {
			for from := 0; ; {
				i := bytes.Index(lower[from:], []byte(word))
				if i < 0 {
					break
				}
				i += from
				from = i + len(word)
				if string(text[i:from]) != strings.ToUpper(word) {
					found = append(found, fmt.Sprintf("%s:%d: %s", file, 1+bytes.Count(lower[:i], []byte("\n")), word))
				}
			}
		}
		return nil
	})
	return found, err
}

var oldName = regexp.MustCompile("`[^`\n]*`")

func TestTheSpellingIsAmerican(t *testing.T) {
	found, err := britishIn(os.DirFS("."))
	require.NoError(t, err)
	require.Empty(t, found)
}

func TestBritishSpellingIsFound(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	found, err := britishIn(fstest.MapFS{
		"a.go":          file("package a\n\nvar wasCancel" + "led, dialed = STATUS_CANCELLED, cancellation // dial" + "led\n"),
		"docs/b.md":     file("Its behav" + "iour, synchronis" + "ed; a rise, a realistic promise, a precise model.\n"),
		"x/testdata/c":  file("cancel" + "led"),
		".git/d.md":     file("cancel" + "led"),
		".ci/run":       file("# label" + "led\n"),
		"docs/page.png": file("cancel" + "led"),
		"x/program":     file("\x7fELF\x00cancel" + "led"),
		"CHANGELOG.md":  file("`ErrCancel" + "led` is `Old`, cancel" + "led\n"),
		"x/latin1.txt":  file("\xff\xff\xff gr" + "ey"),
	})
	require.NoError(t, err)
	require.Equal(t, []string{
		".ci/run:1: label" + "led", "CHANGELOG.md:1: cancel" + "led", "a.go:3: cancel" + "led", "a.go:3: dial" + "led",
		"docs/b.md:1: behav" + "iour", "docs/b.md:1: synchronis" + "e",
		"x/latin1.txt:1: gr" + "ey",
	}, found)
}
