package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// logger writes a line of JSON for each message, and the last error to a file.
type logger struct {
	out io.Writer
	// errorFile is "" if there is none.
	errorFile string
}

func (l *logger) info(message string, pairs ...any) {
	l.write(map[string]any{"level": 0, "msg": message}, pairs)
}

// error also replaces the error file.
func (l *logger) error(err error, message string, pairs ...any) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	l.write(map[string]any{"msg": message, "error": text}, pairs)
	if l.errorFile == "" {
		return
	}
	args := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		args[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	content, err := json.Marshal(map[string]any{"Msg": message, "Err": text, "Args": args})
	if err == nil {
		err = replaceFile(l.errorFile, content)
	}
	if err != nil {
		l.write(map[string]any{"msg": "can't write the error-file", "error": err.Error()}, nil)
	}
}

// succeeded removes the error file.
func (l *logger) succeeded() {
	if l.errorFile == "" {
		return
	}
	if err := os.Remove(l.errorFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.write(map[string]any{"msg": "can't delete the error-file", "error": err.Error()}, nil)
	}
}

func (l *logger) write(line map[string]any, pairs []any) {
	line["logger"], line["ts"] = "", time.Now().UTC().Format("2006-01-02 15:04:05.000000")
	for i := 0; i+1 < len(pairs); i += 2 {
		line[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	data, err := json.Marshal(line)
	if err != nil {
		data = fmt.Appendf(nil, `{"msg":"a message cannot be encoded","error":%q}`, err)
	}
	_, _ = l.out.Write(append(data, '\n'))
}

func replaceFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o775); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "tmp-err-")
	if err != nil {
		return err
	}
	_, err = temp.Write(content)
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	return errors.Join(os.Rename(temp.Name(), path), os.Chmod(path, 0o644))
}
