// Package export_portcullis_plugin_exporter gives the bindings what the package check does.
package export_portcullis_plugin_exporter

import (
	exporter "example.com/plugin/bindings/imports/portcullis_plugin_exporter"
	types "example.com/plugin/bindings/imports/portcullis_plugin_types"
	"example.com/plugin/check"
	"example.com/plugin/portcullis"
	wit "go.bytecodealliance.org/pkg/wit/types"
)

func Prepare(settings []types.Setting) wit.Result[[]uint8, types.Error] {
	return portcullis.Result(func() ([]byte, error) { return check.Prepare(settings) })
}

func Render(prepared []uint8, records []exporter.AuditRecord, first bool) wit.Result[exporter.Rendered, types.Error] {
	return portcullis.Result(func() (exporter.Rendered, error) { return check.Render(prepared, records, first) })
}
