package recording

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxLine is the longest line that is read, in bytes: an object of an API server has at most 1.5 MiB.
const maxLine = 4 << 20

// Damage is where a file could not be read any further. What came before it is sound.
type Damage struct {
	File string
	Line int // the first that could not be read
	Err  error
}

func (d Damage) Error() string { return fmt.Sprintf("%s:%d: %v", d.File, d.Line, d.Err) }

// Unwrap gives the cause.
func (d Damage) Unwrap() error { return d.Err }

// Read reads a folder of files, or one file, in order. See is told of every file's header and of every entry; when it
// returns an error, reading ends with that. A file that is damaged or was cut off is read up to there, and told as damage;
// the next one goes on. An error means that nothing more could be read.
func Read(path string, header func(file string, h Header) error, see func(Entry) error) (damages []Damage, err error) {
	names, err := list(path)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: no file of a recording (*%s) in it", path, suffix)
	}
	for _, name := range names {
		err := readFile(name, header, see)
		var damage Damage
		switch {
		case errors.As(err, &damage):
			damages = append(damages, damage)
		case err != nil:
			return damages, err
		}
	}
	return damages, nil
}

func readFile(name string, header func(string, Header) error, see func(Entry) error) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		return Damage{name, 1, err}
	}
	return readLines(name, zip, header, see)
}

// readLines tells a broken line from a broken end: a line that ends and is no JSON is damage as well.
func readLines(name string, r io.Reader, header func(string, Header) error, see func(Entry) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	line := 0
	for lines.Scan() {
		line++
		if line == 1 {
			var h Header
			if err := json.Unmarshal(lines.Bytes(), &h); err != nil {
				return Damage{name, line, err}
			}
			if h.Schema != Schema {
				return fmt.Errorf("%s: schema %q is not read here, %s is", name, h.Schema, Schema)
			}
			if err := header(name, h); err != nil {
				return err
			}
			continue
		}
		var e Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return Damage{name, line, err}
		}
		if err := see(e); err != nil {
			return fmt.Errorf("%s:%d: %w", name, line, err)
		}
	}
	if err := lines.Err(); err != nil {
		return Damage{name, line + 1, err}
	}
	if line == 0 {
		return Damage{name, 1, io.ErrUnexpectedEOF}
	}
	return nil
}
