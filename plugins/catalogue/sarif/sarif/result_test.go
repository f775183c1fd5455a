package sarif

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// A review of an action that deletes and reads, with an objection.
func review(verdict string) Record {
	rationality := uint16(500)
	document := map[string]any{
		"client": "claude",
		"mode":   "enforce",
		"action": map[string]any{
			"cwd": "/project",
			"facts": map[string]any{
				"identity": 123456789012345,
				"paths": []any{
					map[string]any{"text": "/project/src/a b.py", "glob": false},
					map[string]any{"text": "/project/*.log", "glob": true},
					map[string]any{"text": "/etc/hosts", "glob": false},
				},
				"effects": []any{
					map[string]any{"kind": "file-read", "path": 0},
					map[string]any{"kind": "file-delete", "path": 2},
				},
			},
		},
		"findings": map[string]any{"objections": []any{
			map[string]any{"source": "rules", "rule": "no_loss", "verdict": "ask", "reason": "it cannot be had back"},
		}},
	}
	text, _ := json.Marshal(document)
	return Record{
		Sequence: 7,
		ID:       "7046da0957747f36",
		At:       1767225601000,
		Kind:     "review",
		Session:  "s1",
		Subject:  "Bash",
		Summary:  "Bash: rm /etc/hosts",
		Hash:     strings.Repeat("a", 64),
		Decision: &Decision{verdict, 900, &rationality, []string{"high risk"}, []string{"rules/no_loss"}},
		Document: string(text),
	}
}

func rendered(t *testing.T, config Config, records ...Record) Log {
	t.Helper()
	text, err := Render(config, records)
	if err != nil {
		t.Fatal(err)
	}
	if found := problems(text); len(found) > 0 {
		t.Errorf("%v in\n%s", found, text)
	}
	if bytes.Count(text, []byte("\n")) != 1 {
		t.Errorf("a log is one line: %s", text)
	}
	var log Log
	if err := json.Unmarshal(text, &log); err != nil {
		t.Fatal(err)
	}
	return log
}

func TestLevelsFollowVerdicts(t *testing.T) {
	for verdict, expected := range map[string][]string{
		// A rule's own verdict counts, and never more than what was decided; what no rule accounts for is told as well.
		"block":  {"rules/no_loss warning", "decision/block error"},
		"ask":    {"rules/no_loss warning"},
		"modify": {"rules/no_loss warning"},
		"warn":   {"rules/no_loss note"},
		"allow":  nil,
	} {
		if found := named(rendered(t, Config{}, review(verdict))); !slices.Equal(found, expected) {
			t.Errorf("%s: %v", verdict, found)
		}
	}
	for verdict, level := range map[string]string{"block": "error", "ask": "warning", "modify": "warning", "warn": "note"} {
		record := review(verdict)
		record.Decision.Sources = nil
		if found := named(rendered(t, Config{}, record)); !slices.Equal(found, []string{"decision/" + verdict + " " + level}) {
			t.Errorf("%s: %v", verdict, found)
		}
	}
	results := rendered(t, Config{Passes: true}, review("allow")).Runs[0].Results
	if len(results) != 1 || results[0].Kind != "pass" || results[0].Level != "none" {
		t.Errorf("%+v", results)
	}
}

// The rules and levels of a log's results.
func named(log Log) []string {
	var found []string
	for _, result := range log.Runs[0].Results {
		found = append(found, result.RuleID+" "+result.Level)
	}
	return found
}

func TestPathsAreAddresses(t *testing.T) {
	for _, one := range []struct{ path, folder, uri, base string }{
		{"/project/src/a.py", "/project", "src/a.py", SourceRoot},
		{"/project/src/a.py", "/project/", "src/a.py", SourceRoot},
		{"/project/a b%?#.py", "/project", "a%20b%25%3F%23.py", SourceRoot},
		{"/project/c:d", "/project", "./c:d", SourceRoot},
		{"/project/größe", "/project", "gr%C3%B6%C3%9Fe", SourceRoot},
		{"/project/<secret:token:1a2b3c4d>", "/project", "./%3Csecret:token:1a2b3c4d%3E", SourceRoot},
		{"/project", "/project", "file:///project", ""},
		{"/projects/a", "/project", "file:///projects/a", ""},
		{"/etc/a b", "/project", "file:///etc/a%20b", ""},
		{"/etc/a", "", "file:///etc/a", ""},
		{"/a", "/", "a", SourceRoot},
	} {
		found := bases{}.address(one.path, one.folder)
		if (found != ArtifactLocation{one.uri, one.base}) {
			t.Errorf("%+v: %+v", one, found)
		}
	}
}

func TestLocationsTellWhatIsLostFirst(t *testing.T) {
	run := rendered(t, Config{Region: true}, review("ask")).Runs[0]
	text, _ := json.Marshal(run.Results[0].Locations)
	expected := `[{"physicalLocation":{"artifactLocation":{"uri":"file:///etc/hosts"},"region":{"startLine":1}}},` +
		`{"physicalLocation":{"artifactLocation":{"uri":"src/a%20b.py","uriBaseId":"%SRCROOT%"},"region":{"startLine":1}}}]`
	if string(text) != expected {
		t.Errorf("%s", text)
	}
	if uri := run.Bases[SourceRoot].URI; uri != "file:///project/" {
		t.Error(uri)
	}
}

func TestFoldersOfSeveralSessionsHaveNamesOfTheirOwn(t *testing.T) {
	other := review("ask")
	other.Session = "s2"
	other.Document = strings.ReplaceAll(other.Document, "/project", "/other")
	run := rendered(t, Config{}, review("ask"), other).Runs[0]
	if len(run.Bases) != 2 || run.Bases["ROOT2"].URI != "file:///other/" {
		t.Errorf("%+v", run.Bases)
	}
	run = rendered(t, Config{Root: "/project/src"}, review("ask"), other).Runs[0]
	if len(run.Bases) != 1 || run.Bases[SourceRoot].URI != "file:///project/src/" {
		t.Errorf("%+v", run.Bases)
	}
}

func TestMessagesAreTextAlone(t *testing.T) {
	record := review("block")
	record.Summary = `Bash: [click](https://evil.example) {0} \[ <b>x</b> @all`
	result := rendered(t, Config{}, record).Runs[0].Results[0]
	if !strings.Contains(result.Message.Text, `\[click\](https://evil.example) {{0}} \\\[ <b>x</b> @all`) {
		t.Error(result.Message.Text)
	}
}

func TestFingerprintsAreStable(t *testing.T) {
	first, again, other := review("ask"), review("ask"), review("ask")
	again.ID, again.Sequence, again.At = "other", 9, 1767225699000
	other.Document = strings.ReplaceAll(other.Document, "123456789012345", "5")
	run := rendered(t, Config{}, first, again, other, first).Runs[0]
	prints := make([]string, 0, 4)
	for _, result := range run.Results {
		prints = append(prints, result.Fingerprints["portcullisAction/v1"])
	}
	if prints[0] != prints[1] || prints[0] == prints[2] {
		t.Error(prints)
	}
	if run.Results[0].GUID == run.Results[1].GUID || run.Results[0].GUID != run.Results[3].GUID {
		t.Error("a result's name is that of its record")
	}
}

func TestRecordsThatAreNoReviews(t *testing.T) {
	detection := Record{Sequence: 1, ID: "d", Kind: "outcome", Session: "s", Subject: "Edit", Summary: "Edit: /project/a"}
	detection.Detections = []Detection{{"loop", "medium", 800}}
	detection.Document = `{"detections":[{"plugin":"loop","finding":{"pattern":"loop","summary":"again",` +
		`"evidence":[{"kind":"path","value":"/project/a"},{"kind":"step","value":"1"}]}}]}`
	unreviewed := Record{Sequence: 2, ID: "u", Kind: "unreviewed", Session: "s", Subject: "Bash", Summary: "Bash: x", Document: "{}"}
	answer := Record{Sequence: 3, ID: "i", Kind: "intervention", Session: "s", Subject: "soft_correction", Summary: "again"}
	answer.Document = `{"intervention":{"kind":"soft_correction","issue":"loop"}}`
	fault := Record{Sequence: 4, ID: "f", Kind: "fault", Session: "s", Subject: "plugin", Summary: "x", Document: "no JSON"}
	fault.Faults = []Fault{{"p", "trap", "{0}"}}
	session := Record{Sequence: 5, ID: "s", Kind: "session", Session: "s", Subject: "SessionStart", Document: "{}"}
	run := rendered(t, Config{}, detection, unreviewed, answer, fault, session).Runs[0]
	expected := []string{"pattern/loop warning", "unreviewed warning", "intervention/soft_correction note"}
	if found := named(Log{Runs: []Run{run}}); !slices.Equal(found, expected) {
		t.Error(found)
	}
	invocation := run.Invocations[0]
	if notes := invocation.Notifications; len(notes) != 1 || notes[0].Descriptor.ID != "fault/trap" || invocation.Successful {
		t.Errorf("%+v", notes)
	}
	if uri := run.Results[0].Locations[0].Physical.Artifact.URI; uri != "file:///project/a" {
		t.Error(uri)
	}
}

func TestAnyDocumentGivesAValidLog(t *testing.T) {
	whole := review("block")
	for _, document := range []string{
		"", "null", "[]", "1", `"x"`, `{"action":1}`, `{"action":{"facts":[]}}`,
		`{"action":{"cwd":7,"facts":{"paths":{},"effects":3,"identity":"x"}}}`,
		`{"action":{"facts":{"paths":[1,null,{"text":3}],"effects":[{"path":-1,"kind":"file-delete"},{"path":99}]}}}`,
		`{"findings":{"objections":[3]},"detections":[{"finding":[]}]}`, strings.Repeat(`{"action":`, 10_000),
	} {
		record := whole
		record.Document = document
		record.Detections = []Detection{{"p", "huge", 1}}
		rendered(t, Config{Passes: true, Region: true}, record)
	}
	rendered(t, Config{})
	unknown := review("forbid")
	if found := named(rendered(t, Config{}, unknown)); found[1] != "decision/forbid error" {
		t.Error(found)
	}
}

func TestLongTextIsBounded(t *testing.T) {
	record := review("ask")
	record.Document = strings.ReplaceAll(record.Document, "it cannot be had back", strings.Repeat("ü", 100_000))
	result := rendered(t, Config{}, record).Runs[0].Results[0]
	if len(result.Message.Text) > mostText+8 || !strings.HasSuffix(result.Message.Text, "…") {
		t.Error(len(result.Message.Text))
	}
}
