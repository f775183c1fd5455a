package check

import "strings"

// The words of a text, in lower case.
func words(text string) []string {
	parts := strings.FieldsFunc(text, func(c rune) bool { return c > 127 || !isWordly(byte(c)) })
	for at, part := range parts {
		parts[at] = strings.ToLower(part)
	}
	return parts
}

// At how many positions part stands in a text. Where it begins with a letter, it stands at the beginning of a name;
// with whole a dot before it makes it a part of another name too.
func count(text, part string, whole bool) int {
	named, found := isLetter(part[0]), 0
	for at := range len(text) {
		if strings.HasPrefix(text[at:], part) && !(named && at > 0 && isInName(text[at-1], whole)) {
			found++
		}
	}
	return found
}

func isInName(before byte, whole bool) bool {
	return isWordly(before) || before == '$' || whole && before == '.'
}

// The text without blanks at both ends: space, tab, line feed.
func trimmed(text string) string {
	return strings.Trim(text, " \t\n")
}

// A letter, a digit or `_`.
func isWordly(c byte) bool {
	return isLetter(c) || c >= '0' && c <= '9' || c == '_'
}

func isLetter(c byte) bool {
	return isCapital(c) || c >= 'a' && c <= 'z'
}

func isCapital(c byte) bool {
	return c >= 'A' && c <= 'Z'
}
