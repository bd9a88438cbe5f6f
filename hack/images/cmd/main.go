// Command images builds the container images of the product, and releases with them: see
// "make images" and "make release".
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/kubesites/website-apiserver/hack/images"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	o := images.Options{}
	var date int64
	var platforms, programs, key string
	var release bool
	flag.StringVar(&o.RepoDir, "repo", "../..", "the checkout")
	flag.StringVar(&o.OutDir, "out", "../../dist", "the directory for archives and SBOMs")
	flag.StringVar(&o.Version, "version", images.Tag, "the version that the programs report")
	flag.StringVar(&o.Commit, "commit", "unknown", "the commit that the programs report")
	flag.StringVar(&o.Tag, "tag", images.Tag, "the tag of the images")
	flag.Int64Var(&date, "date", 0, "the time of the images, in seconds since 1970: the commit's")
	flag.StringVar(&platforms, "platforms", "linux/amd64,linux/arm64", "the platforms of each image")
	flag.StringVar(&programs, "programs", "", "the images to build, by the names of their programs (default: all)")
	flag.StringVar(&o.ProgramDir, "program-dir", "", "the directory with the programs of the only platform "+
		"(default: they are compiled)")
	flag.BoolVar(&release, "release", false,
		"make a release of -version: empty the directory first, add manifests and checksums, and sign them")
	flag.StringVar(&key, "key", "", "the file with the Ed25519 key of the release")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("there is no argument %q, only flags", flag.Args())
	}
	o.Date = time.Unix(date, 0)
	for s := range strings.SplitSeq(platforms, ",") {
		platform, err := images.ParsePlatform(s)
		if err != nil {
			return err
		}
		o.Platforms = append(o.Platforms, platform)
	}
	if o.ProgramDir != "" && (release || len(o.Platforms) != 1) {
		return errors.New("-program-dir has programs of one platform, and not those of a release")
	}
	var err error
	if o.Programs, err = images.ParsePrograms(programs); err != nil {
		return err
	}
	if release {
		return images.Release(ctx, o, key)
	}
	names, err := images.Build(ctx, o)
	for _, name := range names {
		fmt.Println(name)
	}
	return err
}
