// Package export_portcullis_plugin_intervener gives the bindings what the package check does.
package export_portcullis_plugin_intervener

import (
	intervener "example.com/plugin/bindings/imports/portcullis_plugin_intervener"
	types "example.com/plugin/bindings/imports/portcullis_plugin_types"
	"example.com/plugin/check"
	"example.com/plugin/portcullis"
	wit "go.bytecodealliance.org/pkg/wit/types"
)

func Prepare(settings []types.Setting) wit.Result[[]uint8, types.Error] {
	return portcullis.Result(func() ([]byte, error) { return check.Prepare(settings) })
}

func Intervene(prepared []uint8, issue intervener.Issue, situation intervener.Situation, context types.Context) wit.Result[intervener.Response, types.Error] {
	return portcullis.Result(func() (intervener.Response, error) { return check.Intervene(prepared, issue, situation, context) })
}
