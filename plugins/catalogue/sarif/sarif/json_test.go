package sarif

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestFieldsAreFoundAsTheyAreWritten(t *testing.T) {
	for _, one := range []struct {
		text  string
		names []string
		found string
	}{
		{`{"a":"x"}`, []string{"a"}, "x"},
		{` { "a" : { "b" : "x" } , "c" : 1 } `, []string{"a", "b"}, "x"},
		{`{"b":{"a":"no"},"a":"x"}`, []string{"a"}, "x"},
		{`{"c":"}]\"{","a":"x"}`, []string{"a"}, "x"},
		{`{"c":"\\","a":"x"}`, []string{"a"}, "x"},
		{`{"c":"\\\"","a":"x"}`, []string{"a"}, "x"},
		{`{"c":[{"a":"no"},[]],"a":"x"}`, []string{"a"}, "x"},
		{`{"c":null,"d":true,"e":-1.5e3,"a":"x"}`, []string{"a"}, "x"},
		{`{"\u0061":"x"}`, []string{"a"}, "x"},
		{`{"a":"\u00fc\n\ud83c\udf89"}`, []string{"a"}, "ü\n🎉"},
		{`{"a":"no","a":"x"}`, []string{"a"}, "x"},
		{`{"a":1}`, []string{"a"}, ""},
		{`{"a":{"b":"x"}}`, []string{"a"}, ""},
		{`["a","x"]`, []string{"a"}, ""},
		{`{"a":"x`, []string{"a"}, ""},
		{`{"a":`, []string{"a"}, ""},
		{`{"a"`, []string{"a"}, ""},
		{`{a:"x"}`, []string{"a"}, ""},
		{`{"b":}`, []string{"a"}, ""},
		{`{"b":],"a":"x"}`, []string{"a"}, ""},
		{"", []string{"a"}, ""},
	} {
		if found := value(one.text).at(one.names...).text(); found != one.found {
			t.Errorf("%s: %q", one.text, found)
		}
	}
}

func TestItemsAreThoseOfAnotherReader(t *testing.T) {
	for _, text := range []string{`[]`, `[1]`, ` [ 1 , "a,b" , [2,3] , {"c":[4]} , null ] `, `[[],{},"",0]`, `["\"","\\"]`} {
		var expected []json.RawMessage
		if err := json.Unmarshal([]byte(text), &expected); err != nil {
			t.Fatal(err)
		}
		var found []json.RawMessage
		value(text).items(func(item value) { found = append(found, json.RawMessage(item)) })
		if fmt.Sprintf("%s", found) != fmt.Sprintf("%s", expected) {
			t.Errorf("%s: %s", text, found)
		}
	}
}

func TestAnyTextIsReadToAnEnd(t *testing.T) {
	marks := []string{`{`, `}`, `[`, `]`, `"`, `\`, `:`, `,`, `a`, `1`, ` `}
	var text strings.Builder
	for seed := range 20_000 {
		text.Reset()
		for rest := seed * 7919; rest > 0; rest /= len(marks) {
			text.WriteString(marks[rest%len(marks)])
		}
		count := 0
		value(text.String()).fields(func(string, value) { count++ })
		value(text.String()).items(func(value) { count++ })
		if count > text.Len() {
			t.Fatal(text.String())
		}
	}
}
