package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// TestRecord: one shell runs all commands, and their output follows them.
func TestRecord(t *testing.T) {
	commands := []string{"A=one; cd /", "echo $A; sleep 0.1; pwd >&2", "printf two"}
	lines, err := record(t.Context(), t.TempDir(), os.Environ(), commands)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, l := range lines {
		if i > 0 && l.at < lines[i-1].at {
			t.Errorf("%q is at %v, before the line above it", l.text, l.at)
		}
		got = append(got, l.text)
	}
	if want := "A=one; cd /, echo $A; sleep 0.1; pwd >&2, one, /, printf two, two"; strings.Join(got, ", ") != want {
		t.Errorf("lines = %q, want %q", strings.Join(got, ", "), want)
	}
	if waited := lines[3].at - lines[2].at; waited < 100*time.Millisecond {
		t.Errorf("the second line of output is %v after the first, want the time of the sleep", waited)
	}
}

func TestRecordFails(t *testing.T) {
	for command, want := range map[string]string{"echo no; false": `status "1": no`, "exit 3": "the shell has ended"} {
		_, err := record(t.Context(), t.TempDir(), os.Environ(), []string{command})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", command, err, want)
		}
	}
}

// TestRender: the recording is XML with the text of the session.
func TestRender(t *testing.T) {
	long := strings.Repeat("x", columns+1)
	image := render([]line{{at: time.Second, command: true, text: "curl <&1"}, {at: 2 * time.Second, text: long}})
	var texts []string
	decoder := xml.NewDecoder(strings.NewReader(image))
	inText := false
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			inText = token.Name.Local == "text"
		case xml.EndElement:
			inText = false
		case xml.CharData:
			if inText {
				texts = append(texts, string(token))
			}
		}
	}
	if want := "$ curl <&1," + long[1:] + ",x"; strings.Join(texts, ",") != want {
		t.Errorf("texts = %q, want %q", texts, want)
	}
	if !strings.Contains(image, "animation-delay: 2.0s") {
		t.Error("no line appears after two seconds")
	}
}
