// Command draw prints patches that each change one covered statement of pkg/, in an order derived
// from the seed: candidates for test/mutants. It is run at the root of the repository.
package main

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"regexp"
	"slices"
)

func main() {
	profile := flag.String("profile", "", "a coverage profile in the format of -coverprofile")
	seed := flag.Uint64("seed", 1, "the seed of the order")
	count := flag.Int("count", 60, "the number of draws")
	full := flag.String("full", "^$", "a regular expression of packages whose draws are left out")
	flag.Parse()
	if err := draw(*profile, *seed, *count, *full); err != nil {
		fmt.Fprintf(os.Stderr, "draw: %v\n", err)
		os.Exit(1)
	}
}

func draw(profile string, seed uint64, count int, full string) error {
	left, err := regexp.Compile(full)
	if err != nil {
		return fmt.Errorf("--full: %w", err)
	}
	blocks, err := readProfile(profile)
	if err != nil {
		return err
	}
	var drawn []mutation
	for _, name := range slices.Sorted(maps.Keys(blocks)) {
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		found, err := mutations(name, string(source), blocks[name])
		if err != nil {
			return err
		}
		drawn = append(drawn, found...)
	}
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(drawn), func(i, j int) { drawn[i], drawn[j] = drawn[j], drawn[i] })
	for i, m := range drawn[:min(count, len(drawn))] {
		if !left.MatchString(path.Dir(m.file)) {
			fmt.Printf("draw %d of %d\nOrigin: drawn with seed %d (%s)\n\n%s\n", i+1, len(drawn), seed, m.kind, m.patch())
		}
	}
	return nil
}
