// Package check writes a line a record: number, kind, verdict and summary, with tabs between.
package check

import (
	"fmt"
	"strings"
	"unicode"

	exporter "example.com/plugin/bindings/imports/portcullis_plugin_exporter"
	types "example.com/plugin/bindings/imports/portcullis_plugin_types"
	"example.com/plugin/portcullis"
)

var kinds = map[uint8]string{
	exporter.RecordKind_Review:        "review",
	exporter.RecordKind_Outcome:       "outcome",
	exporter.RecordKind_Unreviewed:    "unreviewed",
	exporter.RecordKind_Intervention:  "intervention",
	exporter.RecordKind_Session:       "session",
	exporter.RecordKind_Configuration: "configuration",
	exporter.RecordKind_Fault:         "fault",
}

var verdicts = map[types.Verdict]string{
	types.Verdict_Allow:  "allow",
	types.Verdict_Warn:   "warn",
	types.Verdict_Modify: "modify",
	types.Verdict_Ask:    "ask",
	types.Verdict_Block:  "block",
}

// Prepare knows no settings.
func Prepare(settings []types.Setting) ([]byte, error) {
	for _, setting := range settings {
		return nil, portcullis.Unknown(setting)
	}
	return nil, nil
}

// Render writes records in order, the first of an export below a heading.
func Render(_ []byte, records []exporter.AuditRecord, first bool) (exporter.Rendered, error) {
	var text strings.Builder
	if first {
		text.WriteString("number\tkind\tverdict\tsummary\n")
	}
	for _, record := range records {
		fmt.Fprintf(&text, "%d\t%s\t%s\t%s\n", record.Sequence, kindOf(record), verdictOf(record), plain(record.Summary))
	}
	return exporter.Rendered{Bytes: []byte(text.String()), ContentType: "text/tab-separated-values; charset=utf-8"}, nil
}

func kindOf(record exporter.AuditRecord) string {
	if name, known := kinds[record.Kind.Tag()]; known {
		return name
	}
	return record.Kind.Other()
}

func verdictOf(record exporter.AuditRecord) string {
	if record.Decision.IsNone() {
		return ""
	}
	return verdicts[record.Decision.Some().Verdict]
}

// A summary repeats what an agent wrote: nothing in it may begin a line or a column of its own.
func plain(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, text)
}
