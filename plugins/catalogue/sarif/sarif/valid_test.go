package sarif

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The rules of the standard and its schema for everything that a log of this package has: what an object must have,
// what it may have, and what its values are.
type shape struct {
	required, optional []string
}

var shapes = map[string]shape{
	"log":              {[]string{"version", "runs"}, []string{"$schema"}},
	"run":              {[]string{"tool"}, []string{"invocations", "automationDetails", "originalUriBaseIds", "results", "columnKind", "properties"}},
	"tool":             {[]string{"driver"}, nil},
	"driver":           {[]string{"name"}, []string{"rules"}},
	"rule":             {[]string{"id"}, []string{"shortDescription", "defaultConfiguration"}},
	"configuration":    {nil, []string{"level"}},
	"invocation":       {[]string{"executionSuccessful"}, []string{"startTimeUtc", "endTimeUtc", "toolExecutionNotifications"}},
	"notification":     {[]string{"message"}, []string{"descriptor", "level", "timeUtc", "properties"}},
	"descriptor":       {nil, []string{"id"}},
	"automation":       {nil, []string{"id"}},
	"result":           {[]string{"message"}, []string{"ruleId", "kind", "level", "locations", "guid", "partialFingerprints", "properties"}},
	"message":          {nil, []string{"text"}},
	"location":         {nil, []string{"physicalLocation", "logicalLocations"}},
	"physicalLocation": {[]string{"artifactLocation"}, []string{"region"}},
	"artifactLocation": {nil, []string{"uri", "uriBaseId"}},
	"region":           {nil, []string{"startLine"}},
	"logicalLocation":  {nil, []string{"name", "kind"}},
}

var (
	levels = []string{"none", "note", "warning", "error"}
	kinds  = []string{"notApplicable", "pass", "fail", "review", "open", "informational"}
	guids  = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-5][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$`)
	uris   = regexp.MustCompile(`^(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-F]{2})*$`)
)

type object = map[string]any

// Collects what is wrong with a log.
type validator struct {
	wrong []string
}

// Returns what is wrong with a text that should be a log.
func problems(text []byte) []string {
	var log object
	if err := json.Unmarshal(text, &log); err != nil {
		return []string{err.Error()}
	}
	var check validator
	check.log(log)
	return check.wrong
}

func (check *validator) fail(format string, values ...any) {
	check.wrong = append(check.wrong, fmt.Sprintf(format, values...))
}

func (check *validator) shape(name string, found object) {
	known := shapes[name]
	for _, key := range known.required {
		if _, has := found[key]; !has {
			check.fail("%s has no %s", name, key)
		}
	}
	for key := range found {
		if !slices.Contains(known.required, key) && !slices.Contains(known.optional, key) {
			check.fail("%s has %s", name, key)
		}
	}
}

func (check *validator) log(log object) {
	check.shape("log", log)
	if log["version"] != "2.1.0" {
		check.fail("version %v", log["version"])
	}
	for _, run := range objects(log["runs"]) {
		check.run(run)
	}
}

func (check *validator) run(run object) {
	check.shape("run", run)
	tool, _ := run["tool"].(object)
	check.shape("tool", tool)
	driver, _ := tool["driver"].(object)
	check.shape("driver", driver)
	var ids []string
	for _, rule := range objects(driver["rules"]) {
		check.shape("rule", rule)
		check.message(rule["shortDescription"])
		configuration, _ := rule["defaultConfiguration"].(object)
		check.shape("configuration", configuration)
		check.oneOf(configuration["level"], levels)
		id, _ := rule["id"].(string)
		if id == "" || slices.Contains(ids, id) {
			check.fail("the rule %q is empty or there twice", id)
		}
		ids = append(ids, id)
	}
	for _, invocation := range objects(run["invocations"]) {
		check.invocation(invocation)
	}
	automation, _ := run["automationDetails"].(object)
	check.shape("automation", automation)
	check.oneOf(run["columnKind"], []string{"utf16CodeUnits", "unicodeCodePoints"})
	bases, _ := run["originalUriBaseIds"].(object)
	for name, base := range bases {
		location, _ := base.(object)
		check.artifact(location, nil)
		if uri, _ := location["uri"].(string); !strings.HasSuffix(uri, "/") {
			check.fail("the base %s does not end with a slash: %s", name, uri)
		}
	}
	if _, is := run["results"].([]any); !is {
		check.fail("results are no list")
	}
	for _, result := range objects(run["results"]) {
		check.result(result, ids, bases)
	}
}

func (check *validator) invocation(invocation object) {
	check.shape("invocation", invocation)
	if _, is := invocation["executionSuccessful"].(bool); !is {
		check.fail("executionSuccessful is %v", invocation["executionSuccessful"])
	}
	check.time(invocation["startTimeUtc"])
	check.time(invocation["endTimeUtc"])
	for _, notification := range objects(invocation["toolExecutionNotifications"]) {
		check.shape("notification", notification)
		check.message(notification["message"])
		check.oneOf(notification["level"], levels)
		check.time(notification["timeUtc"])
		descriptor, _ := notification["descriptor"].(object)
		check.shape("descriptor", descriptor)
	}
}

func (check *validator) result(result object, rules []string, bases object) {
	check.shape("result", result)
	check.message(result["message"])
	check.oneOf(result["level"], levels)
	check.oneOf(result["kind"], kinds)
	if (result["kind"] == "fail") == (result["level"] == "none") {
		check.fail("the kind %v has the level %v", result["kind"], result["level"])
	}
	if id, _ := result["ruleId"].(string); !slices.Contains(rules, id) {
		check.fail("there is no rule %q", id)
	}
	if id, _ := result["guid"].(string); !guids.MatchString(id) {
		check.fail("the guid %q", id)
	}
	prints, _ := result["partialFingerprints"].(object)
	for name, value := range prints {
		if text, is := value.(string); !is || text == "" {
			check.fail("the fingerprint %s is %v", name, value)
		}
	}
	for _, location := range objects(result["locations"]) {
		check.location(location, bases)
	}
}

func (check *validator) location(location, bases object) {
	check.shape("location", location)
	if physical, is := location["physicalLocation"].(object); is {
		check.shape("physicalLocation", physical)
		artifact, _ := physical["artifactLocation"].(object)
		check.artifact(artifact, bases)
		if region, is := physical["region"].(object); is {
			check.shape("region", region)
			if line, _ := region["startLine"].(float64); line < 1 {
				check.fail("the line %v", line)
			}
		}
	}
	for _, logical := range objects(location["logicalLocations"]) {
		check.shape("logicalLocation", logical)
	}
}

// An address is absolute, or relative to a base of the run and not out of it.
func (check *validator) artifact(artifact, bases object) {
	check.shape("artifactLocation", artifact)
	text, _ := artifact["uri"].(string)
	uri, err := url.Parse(text)
	if err != nil || !uris.MatchString(text) || text == "" {
		check.fail("the address %q", text)
		return
	}
	base, based := artifact["uriBaseId"].(string)
	if uri.IsAbs() == based {
		check.fail("the address %q has the base %q", text, base)
	}
	if _, known := bases[base]; based && !known {
		check.fail("there is no base %q", base)
	}
	if based && (strings.HasPrefix(text, "/") || slices.Contains(strings.Split(text, "/"), "..")) {
		check.fail("the address %q leads out of its base", text)
	}
}

// A message has text, in which what has a meaning is escaped.
func (check *validator) message(value any) {
	message, _ := value.(object)
	check.shape("message", message)
	text, _ := message["text"].(string)
	if text == "" {
		check.fail("a message without text")
	}
	rest := strings.NewReplacer(`\\`, "", `\[`, "", `\]`, "", "{{", "", "}}", "").Replace(text)
	if strings.ContainsAny(rest, `\[]{}`) {
		check.fail("an unescaped message: %s", text)
	}
}

func (check *validator) time(value any) {
	text, is := value.(string)
	if value == nil {
		return
	}
	if _, err := time.Parse("2006-01-02T15:04:05.000Z", text); !is || err != nil {
		check.fail("the time %v", value)
	}
}

func (check *validator) oneOf(value any, known []string) {
	if text, _ := value.(string); !slices.Contains(known, text) {
		check.fail("%v is none of %v", value, known)
	}
}

func objects(value any) []object {
	list, _ := value.([]any)
	var found []object
	for _, item := range list {
		one, _ := item.(object)
		found = append(found, one)
	}
	return found
}
