// Package check asks before an applied database migration is changed.
//
// Whoever ran a migration has its old text: changing the file changes nothing for them, and everything for those who
// run it later.
package check

import (
	"slices"
	"strings"

	assessor "example.com/plugin/bindings/imports/portcullis_plugin_assessor"
	types "example.com/plugin/bindings/imports/portcullis_plugin_types"
	"example.com/plugin/portcullis"
)

// Prepare returns the names of the folders, a line each.
func Prepare(settings []types.Setting) ([]byte, error) {
	folders := []string{"migrations"}
	for _, setting := range settings {
		if setting.Key != "folders" {
			return nil, portcullis.Unknown(setting, "folders")
		}
		var err error
		if folders, err = portcullis.Texts(setting); err != nil {
			return nil, err
		}
	}
	return []byte(strings.Join(folders, "\n")), nil
}

// Assess judges one action. What it leaves out of an assessment is absent.
func Assess(prepared []byte, action types.Action, _ types.Context) (assessor.Assessment, error) {
	folders := strings.Split(string(prepared), "\n")
	for _, touched := range portcullis.Paths(action) {
		changes := touched.Effect == types.EffectKind_FileModify || touched.Effect == types.EffectKind_FileDelete
		if changes && liesIn(touched.Path, folders) {
			return assessor.Assessment{Rulings: []assessor.Ruling{refusal(touched.Path)}}, nil
		}
	}
	return assessor.Assessment{}, nil
}

// One of the folders that it is in has one of the names.
func liesIn(path types.Path, folders []string) bool {
	parts := strings.Split(path.Text, "/")
	return slices.ContainsFunc(parts[:len(parts)-1], func(part string) bool { return slices.Contains(folders, part) })
}

func refusal(path types.Path) assessor.Ruling {
	return assessor.Ruling{
		Rule:         "sample-check",
		Objection:    assessor.Objection_Ask,
		Severity:     types.Severity_High,
		Reason:       "an applied migration must stay as it was run",
		Evidence:     portcullis.Because("path", path.Text),
		Alternatives: []string{"write a new migration that makes the change"},
	}
}
