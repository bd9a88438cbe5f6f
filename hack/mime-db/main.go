// Command mime-db prints the content types of a release of the npm package mime-db in the format of nginx:
//
//	npm pack mime-db@1.54.0 && tar -xf mime-db-1.54.0.tgz
//	go run ./hack/mime-db package >pkg/controller/website/resources/mime.types
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: mime-db DIRECTORY")
		os.Exit(2)
	}
	if err := write(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "mime-db: %v\n", err)
		os.Exit(1)
	}
}

// entry is a content type of mime-db.
type entry struct {
	Source     string   `json:"source"`
	Extensions []string `json:"extensions"`
}

func write(out io.Writer, dir string) error {
	var release struct {
		Version string `json:"version"`
	}
	if err := read(filepath.Join(dir, "package.json"), &release); err != nil {
		return err
	}
	var types map[string]entry
	if err := read(filepath.Join(dir, "db.json"), &types); err != nil {
		return err
	}
	license, err := os.ReadFile(filepath.Join(dir, "LICENSE"))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "# mime-db %s, printed by hack/mime-db. Do not edit. Its license:\n#\n", release.Version)
	for line := range strings.Lines(strings.TrimSpace(string(license))) {
		fmt.Fprintln(out, strings.TrimSpace("# "+line))
	}
	fmt.Fprintln(out)
	extensions := map[string][]string{}
	for extension, contentType := range byExtension(types) {
		extensions[contentType] = append(extensions[contentType], extension)
	}
	for _, contentType := range slices.Sorted(maps.Keys(extensions)) {
		slices.Sort(extensions[contentType])
		fmt.Fprintf(out, "%s %s;\n", contentType, strings.Join(extensions[contentType], " "))
	}
	return nil
}

// byExtension returns one type for each extension: a registered one where there is any, and of several the one that is
// not of the kind application or of a vendor.
func byExtension(types map[string]entry) map[string]string {
	rank := func(contentType string) int {
		rank := slices.Index([]string{"nginx", "", "apache", "iana"}, types[contentType].Source) * 4
		if !strings.HasPrefix(contentType, "application/") {
			rank += 2
		}
		if !strings.Contains(contentType, "/vnd.") {
			rank++
		}
		return rank
	}
	chosen := map[string]string{}
	for _, contentType := range slices.Sorted(maps.Keys(types)) {
		for _, extension := range types[contentType].Extensions {
			before, known := chosen[extension]
			if !known || rank(contentType) > rank(before) {
				chosen[extension] = contentType
			}
		}
	}
	return chosen
}

func read(file string, into any) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}
