package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
)

// Layer is a tree of files. Paths may be absolute or relative to the root.
type Layer struct{ entries map[string]*entry }

type entry struct {
	header tar.Header
	data   []byte
}

// merged are the top-level directories that Debian replaces with symbolic links into /usr.
// Packages may still contain files at the old paths.
var merged = []string{"bin", "sbin", "lib", "lib32", "lib64", "libx32"}

// NewLayer returns a layer with the standard directories of a root file system.
func NewLayer() *Layer {
	l := &Layer{entries: map[string]*entry{}}
	for _, dir := range []string{"dev", "etc", "proc", "run", "sys", "usr", "var"} {
		l.AddDirectory(dir, 0o755)
	}
	l.AddDirectory("tmp", 0o1777)
	l.AddDirectory("root", 0o700)
	return l
}

// MergeUsr links /bin, /lib and so on into /usr, as on every current Debian.
func (l *Layer) MergeUsr() {
	for _, name := range merged {
		l.AddDirectory("usr/"+name, 0o755)
		l.AddSymlink(name, "usr/"+name)
	}
	l.AddSymlink("var/run", "/run")
}

// AddDirectory adds a directory, or changes the mode of an existing one.
func (l *Layer) AddDirectory(name string, mode int64) {
	l.put(name, &entry{header: tar.Header{Typeflag: tar.TypeDir, Mode: mode}})
}

// AddFile adds or replaces a file owned by root.
func (l *Layer) AddFile(name string, mode int64, data []byte) {
	l.put(name, &entry{header: tar.Header{Typeflag: tar.TypeReg, Mode: mode}, data: data})
}

// AddSymlink adds or replaces a symbolic link.
func (l *Layer) AddSymlink(name, target string) {
	l.put(name, &entry{header: tar.Header{Typeflag: tar.TypeSymlink, Mode: 0o777, Linkname: target}})
}

// AddTar adds the entries of an archive for which skip returns false. skip receives paths
// without a leading slash.
func (l *Layer) AddTar(r io.Reader, skip func(name string) bool) error {
	reader := tar.NewReader(r)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading an archive for an image: %w", err)
		}
		name := clean(header.Name)
		if name == "" || skip(name) {
			continue
		}
		e := &entry{header: tar.Header{Typeflag: header.Typeflag, Mode: header.Mode & 0o7777, Uid: header.Uid,
			Gid: header.Gid, Linkname: header.Linkname}}
		switch header.Typeflag {
		case tar.TypeReg:
			if e.data, err = io.ReadAll(reader); err != nil {
				return fmt.Errorf("reading %s from an archive for an image: %w", name, err)
			}
		case tar.TypeLink:
			// Copy the data: Write sorts the entries, so a hard link could precede its target.
			if target := l.entries[l.resolve(header.Linkname)]; target != nil {
				e.header.Typeflag, e.header.Linkname, e.data = tar.TypeReg, "", target.data
			} else {
				return fmt.Errorf("%s in an archive for an image is a link to %s, which is missing", name, header.Linkname)
			}
		case tar.TypeDir:
			if old := l.entries[l.resolve(name)]; old != nil {
				continue // a directory, or a link to one
			}
		case tar.TypeSymlink:
		default:
			continue // devices and the like, which the runtime creates
		}
		l.put(name, e)
	}
}

func clean(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

// resolve follows only the links of MergeUsr.
func (l *Layer) resolve(name string) string {
	name = clean(name)
	top, rest, below := strings.Cut(name, "/")
	if e := l.entries[top]; below && e != nil && e.header.Typeflag == tar.TypeSymlink && slices.Contains(merged, top) {
		return "usr/" + top + "/" + rest
	}
	return name
}

// put adds an entry, and its parent directories if they are missing.
func (l *Layer) put(name string, e *entry) {
	name = l.resolve(name)
	if parent := path.Dir(name); parent != "." && l.entries[parent] == nil {
		l.AddDirectory(parent, 0o755)
	}
	e.header.Name, e.header.ModTime, e.header.Size = name, epoch, int64(len(e.data))
	if e.header.Typeflag == tar.TypeDir {
		e.header.Name += "/"
	}
	l.entries[name] = e
}

// Write writes the layer as a tar archive. It sorts the entries, so that directories come
// before their contents, and equal layers result in equal archives.
func (l *Layer) Write(w io.Writer) error {
	out := tar.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(l.entries)) {
		e := l.entries[name]
		if err := out.WriteHeader(&e.header); err != nil {
			return fmt.Errorf("writing %s into an image: %w", name, err)
		}
		if _, err := out.Write(e.data); err != nil {
			return fmt.Errorf("writing %s into an image: %w", name, err)
		}
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("writing an image's layer: %w", err)
	}
	return nil
}
