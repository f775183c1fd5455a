package sarif

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// The most files of a result.
const mostLocations = 10

// Effects in the order in which their paths are told: what is lost, what is changed, what is read.
var ranks = []string{"file-delete", "discard", "file-modify", "file-create"}

// The names of the folders that paths of a run are relative to.
type bases map[string]string

// Returns the address of a path: relative to the folder where it lies in it.
func (known bases) address(path, folder string) ArtifactLocation {
	root := strings.TrimSuffix(folder, "/") + "/"
	below, inside := strings.CutPrefix(path, root)
	if folder == "" || !inside || below == "" {
		return ArtifactLocation{URI: (&url.URL{Scheme: "file", Path: path}).String()}
	}
	name, named := known[root]
	if !named {
		name = SourceRoot
		if len(known) > 0 {
			name = fmt.Sprintf("ROOT%d", len(known)+1)
		}
		known[root] = name
	}
	return ArtifactLocation{URI: (&url.URL{Path: below}).String(), Base: name}
}

// Returns the folders as a run names them.
func (known bases) all() map[string]ArtifactLocation {
	all := map[string]ArtifactLocation{}
	for root, name := range known {
		all[name] = ArtifactLocation{URI: (&url.URL{Scheme: "file", Path: root}).String()}
	}
	return all
}

// Returns the paths that an action touches, those that it changes first.
func touchedPaths(facts value) []string {
	type path struct {
		text string
		rank int
	}
	var paths []path
	facts.at("paths").items(func(item value) {
		text := item.at("text").text()
		if item.at("glob").isTrue() {
			text = ""
		}
		paths = append(paths, path{text, len(ranks)})
	})
	facts.at("effects").items(func(effect value) {
		own, at := slices.Index(ranks, effect.at("kind").text()), effect.at("path").index()
		if own >= 0 && at >= 0 && at < len(paths) {
			paths[at].rank = min(paths[at].rank, own)
		}
	})
	slices.SortStableFunc(paths, func(one, other path) int { return one.rank - other.rank })
	var found []string
	for _, path := range paths {
		if path.text != "" {
			found = append(found, path.text)
		}
	}
	return found
}
