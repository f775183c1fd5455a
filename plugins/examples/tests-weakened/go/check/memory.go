package check

import (
	"fmt"
	"strconv"
	"strings"
)

// How much is kept of what a test run showed.
const mostShown = 2048

// The newest test run that failed: the plugin's own state.
type memory struct {
	step  uint64
	shown string
}

// What the state tells of it.
func remembered(state []byte) *memory {
	rest, known := strings.CutPrefix(string(state), "1 ")
	digits, shown, whole := strings.Cut(rest, "\n")
	step, err := strconv.ParseUint(digits, 10, 64)
	if !known || !whole || err != nil {
		return nil
	}
	return &memory{step, shown}
}

// The state that tells of it.
func stateOf(step uint64, failure, output string) []byte {
	shown := failure + "\n" + output
	return fmt.Appendf(nil, "1 %d\n%s", step, shown[:min(len(shown), mostShown)])
}
