// Command prose counts noun clauses in the comments of Go code: clauses that begin with a pronoun, such as "what", and
// stand for a noun that the sentence does not name. It fails if an area, such as pkg/apiserver, has more than limit of
// them per 1,000 comment lines, unless ceilings.txt grants the area more. It is run at the root of the repository.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// limit is the highest number of noun clauses per 1,000 comment lines of an area.
const limit = 15

// ceilingsFile lists the areas above the limit, with their present ceilings.
const ceilingsFile = "hack/prose/ceilings.txt"

func main() {
	list := flag.Bool("l", false, "list the lines instead of counting them")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "prose [-l] [PATH...]: count the noun clauses in the comments of Go files below paths")
		flag.PrintDefaults()
	}
	flag.Parse()
	if err := run(os.Stdout, *list, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(1)
	}
}

// run counts or lists the noun clauses below paths. It compares only a count of all areas with the ceilings.
func run(out io.Writer, list bool, paths []string) error {
	files, err := goFiles(paths)
	if err != nil {
		return err
	}
	areas, err := count(files)
	if err != nil {
		return err
	}
	if list {
		for _, name := range names(areas) {
			for _, c := range areas[name].clauses {
				fmt.Fprintf(out, "%s:%d: %s\n", c.file, c.line, c.text)
			}
		}
		return nil
	}
	for _, name := range names(areas) {
		a := areas[name]
		fmt.Fprintf(out, "%-28s %5d comment lines, %3d noun clauses per 1,000\n", name, a.lines, a.rate())
	}
	if len(paths) > 0 {
		return nil
	}
	text, err := os.ReadFile(ceilingsFile)
	if err != nil {
		return fmt.Errorf("reading the ceilings: %w", err)
	}
	ceilings, err := parseCeilings(string(text))
	if err != nil {
		return err
	}
	return errors.Join(compare(areas, ceilings)...)
}

// goFiles returns the Go files below paths that are tracked, or new and not ignored.
func goFiles(paths []string) ([]string, error) {
	args := append([]string{"ls-files", "--cached", "--others", "--exclude-standard", "--"}, paths...)
	out, err := exec.Command("git", args...).Output()
	if err != nil {
		return nil, fmt.Errorf("listing the files of the checkout: %w", err)
	}
	files := slices.DeleteFunc(strings.Fields(string(out)), func(file string) bool {
		_, err := os.Stat(file)
		return filepath.Ext(file) != ".go" || err != nil
	})
	slices.Sort(files)
	return slices.Compact(files), nil
}
