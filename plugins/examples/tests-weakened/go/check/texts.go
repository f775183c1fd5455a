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
	for at := 0; ; at++ {
		next := strings.Index(text[at:], part)
		if next < 0 {
			return found
		}
		at += next
		if !(named && at > 0 && isInName(text[at-1], whole)) {
			found++
		}
	}
}

// Two texts without the lines that both begin with and both end with.
func changed(before, after string) (string, string) {
	old, now := strings.Split(before, "\n"), strings.Split(after, "\n")
	for len(old) > 0 && len(now) > 0 && old[len(old)-1] == now[len(now)-1] {
		old, now = old[:len(old)-1], now[:len(now)-1]
	}
	for len(old) > 0 && len(now) > 0 && old[0] == now[0] {
		old, now = old[1:], now[1:]
	}
	return strings.Join(old, "\n"), strings.Join(now, "\n")
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
