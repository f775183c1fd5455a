// Package check notices tests that are deleted, skipped or loosened while the goal is to make them pass.
//
// ../../README.md says exactly what it does; each file is a section of it.
package check

import (
	"strconv"
	"strings"

	detector "example.com/plugin/bindings/imports/portcullis_plugin_detector"
	types "example.com/plugin/bindings/imports/portcullis_plugin_types"
	"example.com/plugin/portcullis"
	wit "go.bytecodealliance.org/pkg/wit/types"
)

// Prepare returns the names of folders that hold tests, a line each.
func Prepare(settings []types.Setting) ([]byte, error) {
	folders := []string{"test", "tests", "spec", "specs", "__tests__"}
	for _, setting := range settings {
		switch {
		case setting.Key != "folders":
			return nil, portcullis.Refused{Key: setting.Key, Reason: "unknown: the only setting is folders"}
		case setting.Value.Tag() != types.SettingValue_Texts:
			return nil, portcullis.Refused{Key: setting.Key, Reason: "it must be a list of texts"}
		}
		folders = setting.Value.Texts()
	}
	var lines strings.Builder
	for _, folder := range folders {
		lines.WriteString(folder + "\n")
	}
	return []byte(lines.String()), nil
}

// Detect looks at an action before it runs, and at test runs when they have ended.
func Detect(prepared, state []byte, _ types.Totals, action types.Action, context types.Context) (detector.Report, error) {
	if action.Outcome.IsSome() {
		return detector.Report{State: ended(action, action.Outcome.Some())}, nil
	}
	failed := remembered(state)
	wanted := wantTestsToPass(context.Goals)
	if askForIt(context.Goals) || !(wanted || failed != nil) {
		return detector.Report{}, nil
	}
	lines := strings.Split(string(prepared), "\n")
	found := weakeningOf(action, layout{context.Roots, lines[:len(lines)-1]})
	if found == nil {
		return detector.Report{}, nil
	}
	return detector.Report{Detections: []detector.Detection{detection(*found, wanted, failed, action.Step)}}, nil
}

func detection(found weakening, wanted bool, failed *memory, step uint64) detector.Detection {
	why := "after a test run that failed"
	if wanted {
		why = "while the goal is to make the tests pass"
	}
	what := "path"
	if found.kind == leftOut {
		what = "command"
	}
	because := []types.Evidence{evidence(what, found.thing, step)}
	if found.mark != "" {
		because = append(because, evidence("mark", found.mark, step))
	}
	first := step
	if failed != nil {
		first = failed.step
		because = append(because, evidence("step", strconv.FormatUint(first, 10), first))
	}
	return detector.Detection{
		Pattern:    "tests_weakened",
		Severity:   found.kind.severity(),
		Confidence: confidence(found, wanted, failed),
		Impact:     found.kind.impact(),
		FirstStep:  first,
		Summary:    found.summary() + " " + why,
		Evidence:   because,
	}
}

func confidence(found weakening, wanted bool, failed *memory) types.Score {
	switch {
	case failed != nil && found.kind != leftOut && strings.Contains(failed.shown, nameOf(found.thing)):
		return 950
	case failed != nil && wanted:
		return 800
	default:
		return 700
	}
}

func evidence(kind, value string, step uint64) types.Evidence {
	return types.Evidence{Kind: kind, Value: value, Step: wit.Some(step)}
}
