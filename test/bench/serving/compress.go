package serving

import (
	"bytes"
	"compress/gzip"
	"fmt"
)

// compress compresses a file as its author would.
func compress(content string) ([]byte, error) {
	var compressed bytes.Buffer
	w, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("compressing a file: %w", err)
	}
	if _, err := w.Write([]byte(content)); err != nil {
		return nil, fmt.Errorf("compressing a file: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compressing a file: %w", err)
	}
	return compressed.Bytes(), nil
}
