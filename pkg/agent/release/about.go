package release

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"unicode"
)

const (
	// aboutDir has a file for each release with what its commit says about itself.
	aboutDir, aboutSuffix = "about", ".json"
	// MaxSubject and MaxAuthor are the most bytes of it that are kept.
	MaxSubject, MaxAuthor = 200, 100
)

// About describes the commit of a release.
type About struct {
	// Subject is the first line of its message.
	Subject string `json:"subject,omitempty"`
	// Author is the name of its author.
	Author string `json:"author,omitempty"`
	// Warnings are the problems of the release.
	Warnings []Warning `json:"warnings,omitempty"`
	// Content identifies the published files.
	Content string `json:"content,omitempty"`
	// Replaced are the commits with the same content whose name the release had before, the last one first.
	Replaced []string `json:"replaced,omitempty"`
}

// maxReplaced is the number of remembered commits with the same content.
const maxReplaced = 10

// Replacing returns the description of a commit that follows another one.
func (a About) Replacing(commit string, before About) About {
	if a.Content != "" && a.Content == before.Content {
		a.Replaced = append([]string{commit}, before.Replaced[:min(len(before.Replaced), maxReplaced-1)]...)
	}
	return a
}

// About returns the description of the commit of a release.
func (s *Store) About(commit string) About {
	var about About
	data, err := os.ReadFile(s.aboutFile(commit))
	if err != nil || json.Unmarshal(data, &about) != nil {
		return About{}
	}
	return about
}

func (s *Store) aboutFile(commit string) string { return s.path(aboutDir, commit+aboutSuffix) }

// keepAbout keeps the description of a commit.
func (s *Store) keepAbout(commit string, about About) error {
	about.Subject, about.Author = Printable(about.Subject, MaxSubject), Printable(about.Author, MaxAuthor)
	data, err := json.Marshal(about)
	if err != nil {
		return fmt.Errorf("encoding the message of commit %s: %w", commit, err)
	}
	if err := os.WriteFile(s.aboutFile(commit), data, 0o600); err != nil {
		return fmt.Errorf("keeping the message of commit %s: %w", commit, err)
	}
	return nil
}

// Printable returns a copy of the beginning of a text without characters that cannot be shown, or that change
// the way it is shown. Every committer can write anything there.
func Printable(text string, limit int) string {
	var kept strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		if unicode.IsSpace(r) {
			r = ' '
		}
		if !unicode.IsPrint(r) {
			continue
		}
		if kept.Len()+len(string(r)) > limit {
			break
		}
		kept.WriteRune(r)
	}
	return strings.TrimSpace(kept.String())
}
