// Package export_portcullis_plugin_detector gives the bindings what the package check does.
package export_portcullis_plugin_detector

import (
	detector "example.com/plugin/bindings/imports/portcullis_plugin_detector"
	types "example.com/plugin/bindings/imports/portcullis_plugin_types"
	"example.com/plugin/check"
	"example.com/plugin/portcullis"
	wit "go.bytecodealliance.org/pkg/wit/types"
)

func Prepare(settings []types.Setting) wit.Result[[]uint8, types.Error] {
	return portcullis.Result(func() ([]byte, error) { return check.Prepare(settings) })
}

func Detect(prepared, state []uint8, totals types.Totals, action types.Action, context types.Context) wit.Result[detector.Report, types.Error] {
	return portcullis.Result(func() (detector.Report, error) { return check.Detect(prepared, state, totals, action, context) })
}
