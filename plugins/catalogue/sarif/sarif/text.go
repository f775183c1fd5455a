package sarif

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// The most bytes of one text in a message. The journal has the whole of it.
const mostText = 4096

// What has a meaning in a message: a backslash, brackets, which begin a link, and braces, which begin a placeholder.
// Text that an agent wrote must make neither.
var escapes = strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `{`, `{{`, `}`, `}}`)

// Masked text as it is, for a reader who takes the escapes back.
func message(text string) Message {
	return Message{escapes.Replace(cut(text, mostText))}
}

// Cuts a text within a number of bytes, between two characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

// The time in the form of the standard.
func instant(milliseconds uint64) string {
	return time.UnixMilli(int64(milliseconds)).UTC().Format("2006-01-02T15:04:05.000Z")
}

// A fingerprint of several texts, none of which can pass for another's end.
func fingerprint(texts ...string) string {
	sum := sha256.New()
	for _, text := range texts {
		fmt.Fprintf(sum, "%d:%s", len(text), text)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// A unique name of a result that is the same each time its record is written.
func guid(texts ...string) string {
	digits := []byte(fingerprint(texts...))
	// The schema knows versions up to 5, a name that is made of a hash.
	digits[12], digits[16] = '5', '8'
	return fmt.Sprintf("%s-%s-%s-%s-%s", digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
}
