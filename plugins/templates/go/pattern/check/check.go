// Package check notices when one action after another fails.
//
// An agent that fails at everything lately is better stopped and asked than left to try a tenth way.
package check

import (
	"fmt"
	"slices"
	"strings"

	detector "example.com/plugin/bindings/imports/portcullis_plugin_detector"
	host "example.com/plugin/bindings/imports/portcullis_plugin_host"
	types "example.com/plugin/bindings/imports/portcullis_plugin_types"
	"example.com/plugin/portcullis"
)

// Prepare returns one byte: how many failures are too many.
func Prepare(settings []types.Setting) ([]byte, error) {
	most := int64(3)
	for _, setting := range settings {
		if setting.Key != "most" {
			return nil, portcullis.Unknown(setting, "most")
		}
		var err error
		if most, err = portcullis.Integer(setting, 2, 50); err != nil {
			return nil, err
		}
	}
	return []byte{byte(most)}, nil
}

// Detect looks at the session.
func Detect(prepared, _ []byte, _ types.Totals, action types.Action, _ types.Context) (detector.Report, error) {
	if action.Outcome.IsNone() {
		return detector.Report{}, nil
	}
	most := int(prepared[0])
	// The action itself is the last of them, now that it has ended.
	steps := host.Steps(uint32(most))
	succeeded := func(step types.Step) bool { return step.Status != types.Status_Failed }
	if len(steps) < most || slices.ContainsFunc(steps, succeeded) {
		return detector.Report{}, nil
	}
	line, _, _ := strings.Cut(action.Outcome.Some().Error, "\n")
	return detector.Report{Detections: []detector.Detection{{
		Pattern:    "sample-check",
		Severity:   types.Severity_Medium,
		Confidence: 700,
		Impact:     500,
		FirstStep:  steps[0].Index,
		Summary:    fmt.Sprintf("the last %d actions failed", most),
		Evidence:   portcullis.Because("error", line),
	}}}, nil
}
