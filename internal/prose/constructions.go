package prose

import "regexp"

// A construction is a way to build a sentence that makes readers stumble.
type construction struct {
	name      string
	word      string // each match has it, in small letters: most sentences need no other look
	pattern   pattern
	statement bool // questions may be built like this
}

// A pattern returns the words of a sentence that it matches. It is a *regexp.Regexp or a causative.
type pattern interface{ FindString(sentence string) string }

// be are verbs that follow a subject.
const be = `(?:is|are|was|were|has|have|had|does|did|can|could|may|might|must|will|would|should|` +
	`comes?|came|arrives?|arrived|goes|went|gets?|got|gives?|gave|takes?|took|waits?|waited|` +
	`follows?|followed|remains?|remained|stays?|stayed|needs?|needed|wants?|wanted|holds?|held|` +
	`happens?|happened|belongs?|lies|lay|leaves?|left|ends?|ended|begins?|began|reads?|writes?|` +
	`wrote|sends?|sent|knows?|knew|makes?|made|runs?|ran|keeps?|kept|calls?|called|asks?|asked)`

var constructions = []construction{
	{"a clause whose subject is what", "what", regexp.MustCompile(`(?i)\b(?:what|whatever)(?: (?:also|still|then|really|once|now|never|just))? ` + be + `\b`), true},
	{"a clause whose subject is who", "who", regexp.MustCompile(`(?i)(?:[,;:] |\b(?:of|for|to|by|from|and|or|than|as|with|is|says|tells|knows|but) )who ` + be + `\b`), true},
	{"whoever", "whoever", regexp.MustCompile(`(?i)\bwhoever\b`), false},
	{"a sentence that begins with what or who", "wh", regexp.MustCompile(`^["'(*_]*(?:What|Who|Whatever) `), true},
	{"has X do Y", "ha", causative{}, false},
	{"be told of", "told of", regexp.MustCompile(`(?i)\btold of\b`), false},
	{"come to, for equals", " to ", regexp.MustCompile(`(?i)\b(?:comes?|came|coming) to (?:about |some |nearly |at most |at least )?[\d½¼]`), false},
	{"of which", "of which", regexp.MustCompile(`(?i)\bof which\b`), false},
	{"for whom", "whom", regexp.MustCompile(`(?i)\b(?:for|of|to|by|from|with) whom\b`), false},
	{"in the stead of", "stead", regexp.MustCompile(`(?i)\bin (?:the|its|their|his) stead\b`), false},
	{"what there is", "what there", regexp.MustCompile(`(?i)\bwhat there (?:is|was)\b`), false},
	{"as it were", "as it were", regexp.MustCompile(`(?i)\bas it were\b`), false},
}
