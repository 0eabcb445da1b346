package prose

import (
	"regexp"
	"strings"
)

// A causative finds a form of "have" with a noun phrase and an infinitive behind it. The phrase
// begins with a determiner, a pronoun, a name or a plural. A phrase with a clause or a preposition
// in it is not found, but for "of".
type causative struct{}

// simple finds the most frequent forms, in which nouns count as verbs too.
var simple = regexp.MustCompile(`(?i)\b(?:has|have|had|having) ` + causee + infinitive + `\b`)

// infinitive are the verbs that simple knows.
const infinitive = `(?:wait|run|see|send|receive|look|take|go|come|make|call|close|end|gather|leave|` +
	`start|begin|move|sleep|serve|wake|keep|give|get|tell|ask|accept|pass|know|stop|fail|return|` +
	`write|read|deliver|count|drop|die|live|grow|queue|park|poll|yield|block|spin)`

// causee are the subjects that simple knows. After "a" they are these nouns only, since "has a run
// queue" is plain.
const causee = `(?:(?:them|it|him|both|others|callbacks|connections|workers|clients|handlers|tests|users) |` +
	`an? (?:worker|server|client|task|caller|goroutine|handler|peer|connection|reader|sender|spare) |` +
	`(?:the|its|their|his|all|each|every|other|some|many|few|two)(?: [a-z']+){1,2}? )`

// set is the words of a text.
func set(text string) map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		all[word] = true
	}
	return all
}

var (
	forms = set("has have had having")
	// determiners begin a phrase that goes on.
	determiners = set("a an the its their his her our your my all each every another other some many few several both no any so as those these two three n")
	// pronouns may be a phrase of their own.
	pronouns = set("it them him her us others all each both everything everybody something somebody anything nothing those these many")
	// inert words end with s, and begin no phrase.
	inert = set("as is was this its his thus always perhaps sometimes besides less plus yes does across towards")
	// breaks end a phrase without a verb.
	breaks = set(`that which who whom whose when while where why how if and or but than to for with by from in at on after before
		until since because is are was were be been has have had not never only just also already still yet then so as it cannot can
		may must will would should could does did though although into over under without within`)
	// modifiers stand before a noun: the word behind them is no verb.
	modifiers = set(`a an the its their his her our your my no any some each every another other same own such new next last first
		second third more most less least one two three many few several long short whole single only right left free full empty own
		late early old good better best real usual extra half so at`)
	// verbs are infinitives that are seldom nouns, or that were found with a subject in comments.
	verbs = set(`accept act add allocate allow answer apply arrive ask await become be begin behave belong block break bring build cancel
		carry check choose close come compare complete compute connect contain continue count deal decide delay deliver depend dial die
		disappear discard do drain draw drop echo emit enter escape examine exceed exist exit expect expire explain fail fall
		fill find finish follow forget gather get give go grow happen hear ignore join keep know learn leave let lie listen live
		look lose make meet move note notify open pass pay pick poll print proceed process produce push put raise read rearm receive
		reconnect refuse release remain remember remove repeat replace reply report reset resolve restart resume retry return rise
		run satisfy say see seem send serve share shrink sit skip sleep spawn speak spend stand start stay steal stop store
		submit suffer suspend take talk tell think throw try use vanish verify wait wake want watch write yield`)
	// nouns are those of the verbs that often end a phrase: "has the turn", "has a file open". They
	// count as verbs if a determiner or a pronoun follows.
	nouns = set(`answer block break build check close complete count deal delay drop echo exit fill join leave look move note
		notify open pass pay pick poll print process push put read receive release report reset return rise run say send share sleep start
		stay stop store try use wait wake watch write yield`)
	// participles look like infinitives: "have all run".
	participles = set("become come run put set read let cut shut hit split cost")
)

// FindString returns the words from the form of "have" to the verb, or "".
func (causative) FindString(sentence string) string {
	words := strings.Fields(sentence)
	for i, word := range words {
		if forms[strings.ToLower(strings.TrimLeft(word, `"'(*_`))] {
			if n := phrase(words[i+1:]); n > 0 {
				return strings.Join(words[i:i+n+1], " ")
			}
		}
	}
	return simple.FindString(sentence)
}

// phrase is the number of words of a noun phrase and the infinitive behind it, at the begin of
// words, or 0.
func phrase(words []string) int {
	const longest = 6
	if len(words) == 0 || !beginsPhrase(words[0]) && !isFunction(words) {
		return 0
	}
	for i, word := range words[:min(len(words), longest+1)] {
		bare := strings.TrimRight(word, `.,;:!?)"'`)
		small := strings.ToLower(bare)
		switch {
		case i == 0:
		case bare == small && verbs[small] && isVerb(words, i, bare == word):
			return i + 1
		case breaks[small] || small != "of" && strings.HasSuffix(small, "ed"):
			return 0
		}
		if bare != word && !strings.HasSuffix(word, "s'") {
			return 0
		}
	}
	return 0
}

func beginsPhrase(word string) bool {
	small := strings.ToLower(word)
	switch {
	case determiners[small], pronouns[small]:
		return true
	case inert[small] || forms[small]:
		return false
	}
	return isName(word) || isPlural(small) || len(small) == 1
}

// isFunction reports whether words begin with the name of a function in small letters, and an
// infinitive: "wait return an error". A participle is no name.
func isFunction(words []string) bool {
	return len(words) > 1 && verbs[words[0]] && !participles[words[0]] && verbs[words[1]] && isVerb(words, 1, true)
}

func isName(word string) bool { return word == "code" || 'A' <= word[0] && word[0] <= 'Z' }

func isPlural(small string) bool {
	return len(small) > 3 && strings.HasSuffix(small, "s") && !strings.HasSuffix(small, "ss") && !inert[small]
}

// isVerb reports whether a word of verbs is one behind words[:i]. goesOn: no comma or the like
// follows it.
func isVerb(words []string, i int, goesOn bool) bool {
	before, verb := strings.ToLower(words[i-1]), strings.ToLower(strings.TrimRight(words[i], `.,;:!?)"'`))
	if i == 1 && pronouns[before] {
		return !participles[verb] && !(before == "all" && nouns[verb])
	}
	if modifiers[before] || breaks[before] || before == "of" || strings.HasSuffix(before, "'s") || strings.HasSuffix(before, "s'") ||
		determiners[before] {
		return false
	}
	if nouns[verb] {
		return goesOn && i+1 < len(words) && followsVerb(words[i+1])
	}
	return true
}

// followsVerb reports whether a word begins the object or the adverb of a verb.
func followsVerb(word string) bool {
	small := strings.ToLower(strings.TrimRight(word, `.,;:!?)"'`))
	return determiners[small] || pronouns[small] || isName(word) || isPlural(small) || set("for until when while on at with first again later so nothing that what where whether how")[small]
}
