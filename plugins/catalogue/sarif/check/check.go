// Package check gives the package sarif what it needs of the plugin's interface.
package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	exporter "example.com/plugin/bindings/imports/portcullis_plugin_exporter"
	types "example.com/plugin/bindings/imports/portcullis_plugin_types"
	"example.com/plugin/portcullis"
	"example.com/plugin/sarif"
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

var severities = map[types.Severity]string{
	types.Severity_Low:      "low",
	types.Severity_Medium:   "medium",
	types.Severity_High:     "high",
	types.Severity_Critical: "critical",
}

// Prepare checks the settings.
func Prepare(settings []types.Setting) ([]byte, error) {
	var config sarif.Config
	for _, setting := range settings {
		var err error
		switch setting.Key {
		case "root":
			config.Root, err = folder(setting)
		case "passes":
			config.Passes, err = flag(setting)
		case "region":
			config.Region, err = flag(setting)
		default:
			err = portcullis.Unknown(setting, "root", "passes", "region")
		}
		if err != nil {
			return nil, err
		}
	}
	return json.Marshal(config)
}

// Render writes a batch of records as a log of its own, whether or not it is the first: a log is a whole document,
// and nothing says which batch is the last.
func Render(prepared []byte, records []exporter.AuditRecord, _ bool) (exporter.Rendered, error) {
	var config sarif.Config
	if err := json.Unmarshal(prepared, &config); err != nil {
		return exporter.Rendered{}, errors.New("`prepared` is not what this plugin writes")
	}
	read := make([]sarif.Record, 0, len(records))
	for _, record := range records {
		read = append(read, fromRecord(record))
	}
	text, err := sarif.Render(config, read)
	if err != nil {
		return exporter.Rendered{}, fmt.Errorf("the log cannot be written: %w", err)
	}
	return exporter.Rendered{Bytes: text, ContentType: "application/sarif+json"}, nil
}

func fromRecord(record exporter.AuditRecord) sarif.Record {
	read := sarif.Record{
		Sequence: record.Sequence,
		ID:       record.Id,
		At:       record.At,
		Kind:     kindOf(record.Kind),
		Session:  record.Session,
		Agent:    record.Agent.SomeOr(""),
		Subject:  record.Subject,
		Summary:  record.Summary,
		Hash:     record.Hash,
		Document: record.Document,
	}
	for _, attribute := range record.Attributes {
		if attribute.Name == "journal" {
			read.Journal = attribute.Value
		}
	}
	if record.Decision.IsSome() {
		read.Decision = fromDecision(record.Decision.Some())
	}
	for _, detected := range record.Detections {
		detection := sarif.Detection{Pattern: detected.Pattern, Severity: severities[detected.Severity], Confidence: detected.Confidence}
		read.Detections = append(read.Detections, detection)
	}
	for _, fault := range record.Faults {
		read.Faults = append(read.Faults, sarif.Fault{Source: fault.Source, Name: fault.Name, Detail: fault.Detail})
	}
	return read
}

func fromDecision(decision exporter.Decision) *sarif.Decision {
	read := sarif.Decision{Verdict: verdicts[decision.Verdict], Risk: decision.Risk, Reasons: decision.Reasons, Sources: decision.Sources}
	if decision.Rationality.IsSome() {
		rationality := decision.Rationality.Some()
		read.Rationality = &rationality
	}
	return &read
}

func kindOf(kind exporter.RecordKind) string {
	if name, known := kinds[kind.Tag()]; known {
		return name
	}
	return kind.Other()
}

func folder(setting types.Setting) (string, error) {
	if setting.Value.Tag() != types.SettingValue_Text {
		return "", portcullis.Refused{Key: setting.Key, Reason: "should be a text"}
	}
	path := setting.Value.Text()
	if path != "" && !strings.HasPrefix(path, "/") {
		return "", portcullis.Refused{Key: setting.Key, Reason: "should be an absolute path, like `/home/me/project`, or empty"}
	}
	return path, nil
}

func flag(setting types.Setting) (bool, error) {
	if setting.Value.Tag() != types.SettingValue_Flag {
		return false, portcullis.Refused{Key: setting.Key, Reason: "should be true or false"}
	}
	return setting.Value.Flag(), nil
}
