package sarif

// Record is a record of the journal, as far as a log has places for it.
type Record struct {
	Sequence   uint64
	ID         string
	At         uint64
	Kind       string
	Session    string
	Agent      string
	Subject    string
	Summary    string
	Hash       string
	Journal    string
	Decision   *Decision
	Detections []Detection
	Faults     []Fault
	// Document is the whole record as JSON.
	Document string
}

// Decision is what was decided about an action. Scores are thousandths.
type Decision struct {
	Verdict     string
	Risk        uint16
	Rationality *uint16
	Reasons     []string
	// Sources are `PLUGIN/RULE` of each objection.
	Sources []string
}

// Detection is a pattern that was seen.
type Detection struct {
	Pattern    string
	Severity   string
	Confidence uint16
}

// Fault is a fault that was counted.
type Fault struct {
	Source string
	Name   string
	Detail string
}

// What of a document a log has places for: a record's fields do not have it.
type document struct {
	mode, client string
	// The fingerprint of the exact action, as it is written; empty where there is none.
	identity   string
	folder     string
	paths      []string
	objections []recordedObjection
	detections []recordedDetection
	answer     recordedAnswer
}

type recordedObjection struct {
	source, verdict, reason string
}

type recordedDetection struct {
	pattern, summary string
	paths            []string
}

type recordedAnswer struct {
	kind, issue string
}

// Reads a document; what cannot be read is empty, since a later version may write it in another form.
func readDocument(text string) document {
	var read document
	value(text).fields(func(name string, field value) {
		switch name {
		case "mode":
			read.mode = field.text()
		case "client":
			read.client = field.text()
		case "action":
			read.readAction(field)
		case "findings":
			field.at("objections").items(func(item value) {
				source := item.at("source").text() + "/" + item.at("rule").text()
				objection := recordedObjection{source, item.at("verdict").text(), item.at("reason").text()}
				read.objections = append(read.objections, objection)
			})
		case "detections":
			field.items(func(item value) { read.detections = append(read.detections, readDetection(item.at("finding"))) })
		case "intervention":
			read.answer = recordedAnswer{field.at("kind").text(), field.at("issue").text()}
		}
	})
	return read
}

func (read *document) readAction(action value) {
	action.fields(func(name string, field value) {
		switch name {
		case "cwd":
			read.folder = field.text()
		case "facts":
			read.paths = touchedPaths(field)
			if identity := field.at("identity").trimmed(); identity != "null" {
				read.identity = identity
			}
		}
	})
}

func readDetection(finding value) recordedDetection {
	read := recordedDetection{pattern: finding.at("pattern").text(), summary: finding.at("summary").text()}
	finding.at("evidence").items(func(item value) {
		if item.at("kind").text() == "path" {
			read.paths = append(read.paths, item.at("value").text())
		}
	})
	return read
}
