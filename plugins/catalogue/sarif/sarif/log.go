// Package sarif builds logs of the Static Analysis Results Interchange Format 2.1.0 from records of a journal.
//
// It knows nothing of the plugin's interface, so that it can be tested without it.
package sarif

// Schema is the address of the schema that a log follows, and Version the standard's version.
const (
	Schema  = "https://json.schemastore.org/sarif-2.1.0.json"
	Version = "2.1.0"
)

// SourceRoot is the name of the folder that paths are relative to, as other tools call it.
const SourceRoot = "%SRCROOT%"

// Log is a document of the standard.
type Log struct {
	Schema  string `json:"$schema"`
	Version string `json:"version"`
	Runs    []Run  `json:"runs"`
}

// Run is what a tool found at once; here, in one batch of records.
type Run struct {
	Tool              Tool                        `json:"tool"`
	Invocations       []Invocation                `json:"invocations"`
	AutomationDetails AutomationDetails           `json:"automationDetails"`
	Bases             map[string]ArtifactLocation `json:"originalUriBaseIds,omitempty"`
	Results           []Result                    `json:"results"`
	ColumnKind        string                      `json:"columnKind"`
	Properties        map[string]any              `json:"properties,omitempty"`
}

// Tool is the program that found it.
type Tool struct {
	Driver Driver `json:"driver"`
}

// Driver is the part of the tool that has the rules.
type Driver struct {
	Name  string `json:"name"`
	Rules []Rule `json:"rules"`
}

// Rule describes what a result was found by.
type Rule struct {
	ID               string        `json:"id"`
	ShortDescription Message       `json:"shortDescription"`
	Configuration    Configuration `json:"defaultConfiguration"`
}

// Configuration is a rule's level where a result has none.
type Configuration struct {
	Level string `json:"level"`
}

// Invocation is the time in which the records were made, and the faults in them.
type Invocation struct {
	Start         string         `json:"startTimeUtc,omitempty"`
	End           string         `json:"endTimeUtc,omitempty"`
	Successful    bool           `json:"executionSuccessful"`
	Notifications []Notification `json:"toolExecutionNotifications,omitempty"`
}

// Notification is a fault of a plugin or of the host.
type Notification struct {
	Descriptor Reference      `json:"descriptor"`
	Level      string         `json:"level"`
	Message    Message        `json:"message"`
	Time       string         `json:"timeUtc,omitempty"`
	Properties map[string]any `json:"properties,omitempty"`
}

// Reference names a descriptor.
type Reference struct {
	ID string `json:"id"`
}

// AutomationDetails says which runs belong together.
type AutomationDetails struct {
	ID string `json:"id"`
}

// Result is one thing that was found.
type Result struct {
	RuleID       string            `json:"ruleId"`
	Kind         string            `json:"kind"`
	Level        string            `json:"level"`
	Message      Message           `json:"message"`
	Locations    []Location        `json:"locations,omitempty"`
	GUID         string            `json:"guid"`
	Fingerprints map[string]string `json:"partialFingerprints"`
	Properties   map[string]any    `json:"properties"`
}

// Message is text for a person.
type Message struct {
	Text string `json:"text"`
}

// Location is a file, or, where there is none, the tool that acted.
type Location struct {
	Physical *PhysicalLocation `json:"physicalLocation,omitempty"`
	Logical  []LogicalLocation `json:"logicalLocations,omitempty"`
}

// PhysicalLocation is a file, perhaps with a place in it.
type PhysicalLocation struct {
	Artifact ArtifactLocation `json:"artifactLocation"`
	Region   *Region          `json:"region,omitempty"`
}

// ArtifactLocation is the address of a file or folder.
type ArtifactLocation struct {
	URI  string `json:"uri"`
	Base string `json:"uriBaseId,omitempty"`
}

// Region is a place in a file.
type Region struct {
	StartLine int `json:"startLine"`
}

// LogicalLocation is something that is no file.
type LogicalLocation struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}
