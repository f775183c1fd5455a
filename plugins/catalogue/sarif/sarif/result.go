package sarif

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Config are the operator's settings.
type Config struct {
	// Root is the folder that paths are relative to; empty for the one in which each action ran.
	Root string `json:"root"`
	// Passes makes allowed actions results, too.
	Passes bool `json:"passes"`
	// Region gives each file its first line as region.
	Region bool `json:"region"`
}

// Verdicts from the mildest to the strictest, each with a result's level.
var verdicts = []struct{ name, level string }{
	{"allow", "none"}, {"warn", "note"}, {"modify", "warning"}, {"ask", "warning"}, {"block", "error"},
}

var severities = map[string]string{"low": "note", "medium": "warning", "high": "error", "critical": "error"}

// Builder builds the log of a batch.
type Builder struct {
	config  Config
	records []Record
	bases   bases
	rules   []Rule
}

// Render writes a batch of records as a log on one line.
func Render(config Config, records []Record) ([]byte, error) {
	builder := Builder{config: config, records: records, bases: bases{}, rules: []Rule{}}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	// The log is no part of a page.
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(builder.log())
	return text.Bytes(), err
}

func (builder *Builder) log() Log {
	records := builder.records
	results := []Result{}
	invocation := Invocation{Successful: true}
	for at, record := range records {
		results = append(results, builder.results(at)...)
		for _, fault := range record.Faults {
			invocation.Successful = false
			invocation.Notifications = append(invocation.Notifications, notification(record, fault))
		}
		if at == 0 {
			invocation.Start = instant(record.At)
		}
		invocation.End = instant(record.At)
	}
	run := Run{
		Tool:              Tool{Driver{Name: "Portcullis", Rules: builder.rules}},
		Invocations:       []Invocation{invocation},
		AutomationDetails: AutomationDetails{ID: "portcullis/"},
		Bases:             builder.bases.all(),
		Results:           results,
		ColumnKind:        "unicodeCodePoints",
	}
	if len(records) > 0 {
		run.Properties = map[string]any{"firstSequence": records[0].Sequence, "lastSequence": records[len(records)-1].Sequence}
	}
	return Log{Schema: Schema, Version: Version, Runs: []Run{run}}
}

// Returns what a record has of results: one for each objection and each detection, one for an action that no
// objection explains, and one for what was not reviewed and for what was answered.
func (builder *Builder) results(at int) []Result {
	record := builder.records[at]
	isAllowed := record.Decision == nil || (rankOf(record.Decision.Verdict) == 0 && !builder.config.Passes)
	if isAllowed && len(record.Detections) == 0 && record.Kind != "unreviewed" && record.Kind != "intervention" {
		return nil
	}
	read := readDocument(record.Document)
	if read.folder == "" {
		read.folder = builder.folderBefore(at)
	}
	if builder.config.Root != "" {
		read.folder = builder.config.Root
	}
	var found []Result
	if record.Decision != nil {
		found = builder.decided(record, read)
	}
	for _, detection := range record.Detections {
		found = append(found, builder.detected(record, read, detection))
	}
	switch record.Kind {
	case "unreviewed":
		found = append(found, builder.result(record, read, "unreviewed", "An action was not reviewed.", "warning", "it was not reviewed", nil))
	case "intervention":
		answer := read.answer
		text := fmt.Sprintf("%s was answered", orElse(answer.issue, "an issue"))
		rule := "intervention/" + orElse(answer.kind, record.Subject)
		found = append(found, builder.result(record, read, rule, "An issue of a session was answered.", "note", text, nil))
	}
	return found
}

// Returns the folder of the session's action before a record: an outcome does not hold it.
func (builder *Builder) folderBefore(at int) string {
	for _, record := range slices.Backward(builder.records[:at]) {
		if record.Session == builder.records[at].Session && record.Decision != nil {
			return value(record.Document).at("action", "cwd").text()
		}
	}
	return ""
}

func (builder *Builder) decided(record Record, read document) []Result {
	decision := record.Decision
	verdict := rankOf(decision.Verdict)
	paths := read.paths
	if verdict == 0 {
		if !builder.config.Passes {
			return nil
		}
		result := builder.result(record, read, "decision/allow", "An action was allowed.", "none", "it was allowed", paths)
		result.Kind = "pass"
		return []Result{result}
	}
	var found []Result
	strictest := 0
	for _, objection := range objectionsOf(decision, read) {
		strictest = max(strictest, objection.rank)
		// What was decided in the end counts where an exception made it milder.
		level := verdicts[min(objection.rank, verdict)].level
		if level == "none" {
			level = "note"
		}
		description := fmt.Sprintf("A rule objected to an action: %s.", objection.id)
		text := orElse(objection.reason, strings.Join(decision.Reasons, "; "))
		found = append(found, builder.result(record, read, objection.id, description, level, text, paths))
	}
	if strictest < verdict {
		// No rule accounts for the verdict: scores do, or a fault.
		level := verdicts[verdict].level
		text := orElse(strings.Join(decision.Reasons, "; "), "no reason is given")
		description := "An action was objected to by its scores or a fault."
		found = append(found, builder.result(record, read, "decision/"+decision.Verdict, description, level, text, paths))
	}
	return found
}

// An objection of a rule, with its verdict's rank.
type objection struct {
	id, reason string
	rank       int
}

// Returns the objections as the record names them, with what its document tells of each.
func objectionsOf(decision *Decision, read document) []objection {
	var found []objection
	for _, source := range decision.Sources {
		one := objection{id: source, rank: rankOf(decision.Verdict)}
		for _, known := range read.objections {
			if known.source == source {
				one.reason = known.reason
				if known.verdict != "" {
					one.rank = rankOf(known.verdict)
				}
				break
			}
		}
		if !slices.ContainsFunc(found, func(other objection) bool { return other.id == one.id }) {
			found = append(found, one)
		}
	}
	return found
}

func (builder *Builder) detected(record Record, read document, detection Detection) Result {
	text, paths := fmt.Sprintf("%s was seen", detection.Pattern), []string(nil)
	for _, finding := range read.detections {
		if finding.pattern == detection.Pattern {
			text, paths = orElse(finding.summary, text), finding.paths
			break
		}
	}
	level := orElse(severities[detection.Severity], "warning")
	description := fmt.Sprintf("A pattern was seen in a session: %s.", detection.Pattern)
	result := builder.result(record, read, "pattern/"+detection.Pattern, description, level, text, paths)
	result.Properties["severity"] = detection.Severity
	result.Properties["confidence"] = share(detection.Confidence)
	return result
}

func (builder *Builder) result(record Record, read document, rule, description, level, text string, paths []string) Result {
	rule = cut(rule, 256)
	builder.describe(rule, description, level)
	if record.Summary != "" && !strings.Contains(text, record.Summary) {
		text = fmt.Sprintf("%s — %s", text, record.Summary)
	}
	return Result{
		RuleID:       rule,
		Kind:         "fail",
		Level:        level,
		Message:      message(text),
		Locations:    builder.locations(record, read.folder, paths),
		GUID:         guid(record.ID, rule),
		Fingerprints: map[string]string{"portcullisAction/v1": actionPrint(record, read, rule, paths)},
		Properties:   properties(record, read),
	}
}

// Returns the same fingerprint for the same finding about the same action, whenever it comes up.
func actionPrint(record Record, read document, rule string, paths []string) string {
	if read.identity != "" {
		return fingerprint(rule, read.identity)
	}
	return fingerprint(append([]string{rule, record.Subject, record.Summary}, paths...)...)
}

func (builder *Builder) describe(id, description, level string) {
	if level == "none" {
		level = "note"
	}
	if !slices.ContainsFunc(builder.rules, func(rule Rule) bool { return rule.ID == id }) {
		builder.rules = append(builder.rules, Rule{id, message(description), Configuration{level}})
	}
}

func (builder *Builder) locations(record Record, folder string, paths []string) []Location {
	var found []Location
	for _, path := range paths {
		if !strings.HasPrefix(path, "/") || len(found) == mostLocations {
			continue
		}
		place := PhysicalLocation{Artifact: builder.bases.address(path, folder)}
		if builder.config.Region {
			place.Region = &Region{1}
		}
		found = append(found, Location{Physical: &place})
	}
	if len(found) == 0 && record.Subject != "" {
		found = append(found, Location{Logical: []LogicalLocation{{Name: cut(record.Subject, 256), Kind: "function"}}})
	}
	return found
}

func properties(record Record, read document) map[string]any {
	all := map[string]any{
		"sequence": record.Sequence,
		"record":   record.ID,
		"hash":     record.Hash,
		"at":       instant(record.At),
		"session":  record.Session,
		"tool":     record.Subject,
	}
	optional := map[string]string{"agent": record.Agent, "client": read.client, "mode": read.mode, "journal": record.Journal}
	for name, value := range optional {
		if value != "" {
			all[name] = value
		}
	}
	if decision := record.Decision; decision != nil {
		all["verdict"] = decision.Verdict
		all["risk"] = share(decision.Risk)
		if decision.Rationality != nil {
			all["rationality"] = share(*decision.Rationality)
		}
	}
	return all
}

func notification(record Record, fault Fault) Notification {
	return Notification{
		Descriptor: Reference{"fault/" + cut(fault.Name, 256)},
		Level:      "warning",
		Message:    message(fmt.Sprintf("%s: %s: %s", fault.Source, fault.Name, fault.Detail)),
		Time:       instant(record.At),
		Properties: map[string]any{"sequence": record.Sequence, "record": record.ID},
	}
}

// Returns the place of a verdict among them; the strictest for one that this version does not know.
func rankOf(name string) int {
	for rank, verdict := range verdicts {
		if verdict.name == name {
			return rank
		}
	}
	return len(verdicts) - 1
}

func share(thousandths uint16) float64 {
	return float64(thousandths) / 1000
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
