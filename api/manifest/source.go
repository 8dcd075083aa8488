package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"
)

// source is the text of one file.
type source struct {
	file string
	text []byte
}

// open reads all files, which may have limit bytes together.
func open(paths []string, limit int64) ([]source, error) {
	if len(paths) == 0 {
		return nil, errors.New("no file was named")
	}
	sources := make([]source, 0, len(paths))
	seen := make(map[string]bool, len(paths))
	left := limit
	for _, path := range paths {
		if seen[path] {
			return nil, fmt.Errorf("%s: named twice", path)
		}
		seen[path] = true
		s, err := slurp(path, left)
		if err != nil {
			return nil, err
		}
		if int64(len(s.text)) > left {
			return nil, fmt.Errorf("%s: too large: at most %d MiB are read", s.file, limit>>20)
		}
		left -= int64(len(s.text))
		sources = append(sources, s)
	}
	return sources, nil
}

// slurp reads at most one byte more than limit.
func slurp(path string, limit int64) (source, error) {
	if path == "-" {
		text, err := io.ReadAll(io.LimitReader(os.Stdin, limit+1))
		if err != nil {
			return source{}, fmt.Errorf("read standard input: %w", err)
		}
		return source{file: "<stdin>", text: text}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return source{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return source{}, err
	}
	return source{file: path, text: text}, nil
}

// objects lists the objects of the file; what could not be read is in the errors.
func (s source) objects() ([]object, Errors) {
	text := bytes.TrimPrefix(s.text, []byte("\xef\xbb\xbf"))
	if line, ok := invalidUTF8(text); ok {
		return nil, Errors{{File: s.file, Line: line, Problem: "not UTF-8"}}
	}
	if looksLikeJSON(text) {
		if found, errs, ok := readJSON(s.file, text); ok {
			return found, errs
		}
	}
	return readYAML(s.file, text)
}

// invalidUTF8 says in which line the first byte stands that is not UTF-8.
func invalidUTF8(text []byte) (line int, found bool) {
	if utf8.Valid(text) {
		return 0, false
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return 1 + bytes.Count(text[:i], []byte("\n")), true
		}
		i += size
	}
	return 0, false
}

func looksLikeJSON(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && text[0] == '{'
}
