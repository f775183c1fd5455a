// Package check has the agent stop, look back at what was asked for, and say what it will do.
//
// The host has decided already that an answer is due; this one words it.
package check

import (
	intervener "example.com/plugin/bindings/imports/portcullis_plugin_intervener"
	types "example.com/plugin/bindings/imports/portcullis_plugin_types"
	"example.com/plugin/portcullis"
)

// Prepare knows no settings.
func Prepare(settings []types.Setting) ([]byte, error) {
	for _, setting := range settings {
		return nil, portcullis.Unknown(setting)
	}
	return nil, nil
}

// Intervene answers one issue.
func Intervene(_ []byte, issue intervener.Issue, _ intervener.Situation, context types.Context) (intervener.Response, error) {
	guidance := intervener.Guidance{
		Messages: []string{issue.Summary + ". Stop here, and say in a sentence what you will do next and why."},
	}
	// The newest is the most important.
	if last := len(context.Goals) - 1; last >= 0 {
		request := intervener.Background{Title: "original request", Text: context.Goals[last].Text, Emphasised: true}
		guidance.Background = []intervener.Background{request}
	}
	return intervener.MakeResponseGuide(guidance), nil
}
