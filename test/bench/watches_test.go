package bench

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/test/bench/measure"
)

func TestEvents(t *testing.T) {
	long := strings.Repeat("x", 40<<10)
	tests := map[string]struct {
		media, stream string
		want          []string
	}{
		"JSON":     {measure.JSON, "{}\n" + long + "\n{\"a\":1}\n", []string{"{}\n", long + "\n", "{\"a\":1}\n"}},
		"protobuf": {measure.Protobuf, "\x00\x00\x00\x02ab\x00\x00\x00\x00\x00\x00\xa0\x00" + long, []string{"ab", "", long}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for events := newEvents(strings.NewReader(test.stream), test.media); ; {
				event, err := events.next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, string(event))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %d events, want %d", len(got), len(test.want))
			}
		})
	}
}

func TestContinueToken(t *testing.T) {
	tests := map[string]string{
		`{"metadata":{"resourceVersion":"1","continue":"abc"},"items":[]}`: "abc",
		`{"items":[],"metadata":{"continue":"","resourceVersion":"1"}}`:    "",
		`{"items":[],"metadata":{"resourceVersion":"1"}}`:                  "",
	}
	for list, want := range tests {
		if got, err := continueToken([]byte(list)); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", list, got, err, want)
		}
	}
}

func TestConcurrently(t *testing.T) {
	responses, err := concurrently(100, 8,
		func(_, i int) (measure.Response, error) { return measure.Response{Bytes: int64(i)}, nil })
	if err != nil || len(responses) != 100 || responses[99].Bytes != 99 {
		t.Errorf("got %d responses, %v", len(responses), err)
	}
	failure := errors.New("refused")
	if _, err := concurrently(100, 8, func(_, i int) (measure.Response, error) {
		if i == 50 {
			return measure.Response{}, failure
		}
		return measure.Response{}, nil
	}); !errors.Is(err, failure) {
		t.Errorf("got %v, want the error of a request", err)
	}
}
