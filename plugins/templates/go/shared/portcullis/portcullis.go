// Package portcullis has what a plugin in Go needs most: its settings checked, and what an action touches.
package portcullis

import (
	"errors"
	"fmt"
	"path"
	"runtime"
	"strings"

	types "example.com/plugin/bindings/imports/portcullis_plugin_types"
	wit "go.bytecodealliance.org/pkg/wit/types"
)

// Refused says that a setting cannot be used, and what would be right.
type Refused struct {
	Key, Reason string
}

func (refused Refused) Error() string {
	return refused.Key + ": " + refused.Reason
}

// Unknown refuses a setting that the plugin does not know.
func Unknown(setting types.Setting, known ...string) error {
	names := "none"
	if len(known) > 0 {
		names = "`" + strings.Join(known, "`, `") + "`"
	}
	return Refused{setting.Key, "unknown; this plugin knows " + names}
}

// Texts is the setting's value, a list of texts.
func Texts(setting types.Setting) ([]string, error) {
	if setting.Value.Tag() != types.SettingValue_Texts {
		return nil, Refused{setting.Key, "should be a list of texts"}
	}
	return setting.Value.Texts(), nil
}

// Integer is the setting's value, from least to most.
func Integer(setting types.Setting, least, most int64) (int64, error) {
	if setting.Value.Tag() != types.SettingValue_Integer {
		return 0, Refused{setting.Key, "should be an integer"}
	}
	value := setting.Value.Integer()
	if value < least || value > most {
		return 0, Refused{setting.Key, fmt.Sprintf("should be from %d to %d", least, most)}
	}
	return value, nil
}

// Touched is a path that an action touches, and what is done to it: `types.EffectKind_FileModify`, ...
type Touched struct {
	Effect uint8
	Path   types.Path
}

// Paths has every path that the action touches.
func Paths(action types.Action) []Touched {
	var touched []Touched
	for _, effect := range action.Facts.Effects {
		if effect.Path.IsSome() {
			touched = append(touched, Touched{effect.Kind.Tag(), action.Facts.Paths[effect.Path.Some()]})
		}
	}
	return touched
}

// Attribute is the value of an attribute; false if the host has none of that name, as older ones may.
func Attribute(attributes []types.Attribute, name string) (string, bool) {
	for _, attribute := range attributes {
		if attribute.Name == name {
			return attribute.Value, true
		}
	}
	return "", false
}

// Because is a point in favour of a finding, as the only one of a list.
func Because(kind, value string) []types.Evidence {
	return []types.Evidence{{Kind: kind, Value: value}}
}

// Result is what the bindings want in place of Go's two results. A panic is an error too: by itself it ends the call
// with a trace for which no log has room.
func Result[T any](call func() (T, error)) (result wit.Result[T, types.Error]) {
	defer func() {
		if reason := recover(); reason != nil {
			result = wit.Err[T](types.MakeErrorFailed(fmt.Sprintf("panic: %v%s", reason, place())))
		}
	}()
	value, err := call()
	var refused Refused
	switch {
	case err == nil:
		return wit.Ok[T, types.Error](value)
	case errors.As(err, &refused):
		return wit.Err[T](types.MakeErrorInvalidSetting(types.SettingError{Key: refused.Key, Reason: refused.Reason}))
	default:
		return wit.Err[T](types.MakeErrorFailed(err.Error()))
	}
}

// Where in the package check it came to a panic: `, at check.go:47 (liesIn)`.
func place() string {
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(0, callers)])
	for {
		frame, more := frames.Next()
		if name, own := strings.CutPrefix(frame.Function, "example.com/plugin/check."); own {
			return fmt.Sprintf(", at %s:%d (%s)", path.Base(frame.File), frame.Line, name)
		}
		if !more {
			return ""
		}
	}
}
