package sarif

import (
	"encoding/json"
	"strings"
)

// A value of a JSON document, as it is written. Of a document of 100 KiB a log needs some names, paths and reasons, so
// what is not needed is stepped over without being looked at: a call has not the fuel to decode all of it.
//
// Reading is lenient: what is no object has no fields, what is no text is empty, and what is damaged ends there.
type value string

// Calls with each field of an object.
func (object value) fields(visit func(name string, field value)) {
	rest, is := strings.CutPrefix(object.trimmed(), "{")
	for is {
		rest = strings.TrimLeft(rest, " \t\r\n,")
		size := valueSize(rest)
		if size == 0 || rest[0] != '"' {
			return
		}
		name := value(rest[:size]).text()
		rest, is = strings.CutPrefix(strings.TrimLeft(rest[size:], " \t\r\n"), ":")
		rest = strings.TrimLeft(rest, " \t\r\n")
		size = valueSize(rest)
		if !is || size == 0 {
			return
		}
		visit(name, value(rest[:size]))
		rest = rest[size:]
	}
}

// Calls with each item of a list.
func (list value) items(visit func(item value)) {
	rest, is := strings.CutPrefix(list.trimmed(), "[")
	for is {
		rest = strings.TrimLeft(rest, " \t\r\n,")
		size := valueSize(rest)
		if size == 0 {
			return
		}
		visit(value(rest[:size]))
		rest = rest[size:]
	}
}

// The field below these names; the last one counts where a name is there twice, as for other readers.
func (object value) at(names ...string) value {
	found := object
	for _, name := range names {
		below := value("")
		found.fields(func(own string, field value) {
			if own == name {
				below = field
			}
		})
		found = below
	}
	return found
}

func (text value) text() string {
	var read string
	if strings.HasPrefix(text.trimmed(), `"`) && json.Unmarshal([]byte(text), &read) == nil {
		return read
	}
	return ""
}

// The number, or -1 for what is no whole number.
func (number value) index() int {
	read := -1
	if json.Unmarshal([]byte(number), &read) != nil {
		return -1
	}
	return read
}

func (flag value) isTrue() bool {
	return flag.trimmed() == "true"
}

func (any value) trimmed() string {
	return strings.TrimSpace(string(any))
}

// The size of the value that a text begins with; 0 where it begins with none.
func valueSize(text string) int {
	depth := 0
	for at := 0; at < len(text); at++ {
		switch text[at] {
		case '"':
			size := stringSize(text[at:])
			if size == 0 {
				return 0
			}
			at += size - 1
			if depth == 0 {
				return at + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				// Below 0 it is the end of what the value would be in.
				return at + min(depth, 0) + 1
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return at
			}
		}
	}
	if depth > 0 {
		return 0
	}
	return len(text)
}

// The size of a JSON string, with its quotation marks; 0 where it does not end.
func stringSize(text string) int {
	for at := 1; at < len(text); at++ {
		next := strings.IndexByte(text[at:], '"')
		if next < 0 {
			return 0
		}
		at += next
		escapes := 0
		for text[at-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return at + 1
		}
	}
	return 0
}
