// Package export_portcullis_plugin_assessor gives the bindings what the package check does.
package export_portcullis_plugin_assessor

import (
	assessor "example.com/plugin/bindings/imports/portcullis_plugin_assessor"
	types "example.com/plugin/bindings/imports/portcullis_plugin_types"
	"example.com/plugin/check"
	"example.com/plugin/portcullis"
	wit "go.bytecodealliance.org/pkg/wit/types"
)

func Prepare(settings []types.Setting) wit.Result[[]uint8, types.Error] {
	return portcullis.Result(func() ([]byte, error) { return check.Prepare(settings) })
}

func Assess(prepared []uint8, action types.Action, context types.Context) wit.Result[assessor.Assessment, types.Error] {
	return portcullis.Result(func() (assessor.Assessment, error) { return check.Assess(prepared, action, context) })
}
