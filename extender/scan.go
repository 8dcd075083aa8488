package extender

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// maxDepth is how deep a body may nest. A pod, its affinity terms and managed fields included, stays under 30.
const maxDepth = 100

// What is wrong with a body before its fields are looked at.
var (
	errTruncated = errors.New("truncated: it ends in the middle of a value")
	errDeep      = fmt.Errorf("nested deeper than %d levels", maxDepth)
	errTrailing  = errors.New("not JSON: something follows the last value")
)

// scanner finds where values begin and end without reading them. encoding/json would pass four times over the node
// names, which are nearly all of a body. What it finds is not yet valid JSON: whoever reads a value checks it.
type scanner struct {
	data []byte
	pos  int
}

// next skips white space and returns the byte there, 0 at the end.
func (s *scanner) next() byte {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// take skips white space and one given byte.
func (s *scanner) take(c byte) error {
	switch got := s.next(); {
	case got == c:
		s.pos++
		return nil
	case s.pos >= len(s.data):
		return errTruncated
	default:
		return fmt.Errorf("not JSON: %q at byte %d where %q belongs", got, s.pos, c)
	}
}

// value returns the extent of the value that comes next.
func (s *scanner) value() ([]byte, error) {
	c := s.next()
	start := s.pos
	var err error
	switch {
	case s.pos >= len(s.data):
		return nil, errTruncated
	case c == '"':
		err = s.skipText()
	case c == '{' || c == '[':
		err = s.skipNested()
	default:
		err = s.skipWord()
	}
	return s.data[start:s.pos], err
}

// skipText passes a string, its opening quote being next.
func (s *scanner) skipText() error {
	s.pos++
	for {
		rest := s.data[s.pos:]
		end := bytes.IndexByte(rest, '"')
		if end < 0 {
			return errTruncated
		}
		escape := bytes.IndexByte(rest[:end], '\\')
		if escape < 0 {
			s.pos += end + 1
			return nil
		}
		if s.pos += escape + 2; s.pos > len(s.data) {
			return errTruncated
		}
	}
}

func (s *scanner) skipNested() error {
	for depth := 0; s.pos < len(s.data); {
		switch s.data[s.pos] {
		case '"':
			if err := s.skipText(); err != nil {
				return err
			}
			continue
		case '{', '[':
			if depth++; depth > maxDepth {
				return errDeep
			}
		case '}', ']':
			depth--
		}
		if s.pos++; depth == 0 {
			return nil
		}
	}
	return errTruncated
}

// skipWord passes a number or a literal.
func (s *scanner) skipWord() error {
	start := s.pos
	for s.pos < len(s.data) && bytes.IndexByte([]byte(",:]}[{\" \t\r\n"), s.data[s.pos]) < 0 {
		s.pos++
	}
	if s.pos == start {
		return fmt.Errorf("not JSON: %q at byte %d where a value belongs", s.data[s.pos], s.pos)
	}
	return nil
}

// list calls each for every element of an array.
func (s *scanner) list(each func(raw []byte) error) error {
	if err := s.take('['); err != nil {
		return err
	}
	return s.rest(']', func() error {
		raw, err := s.value()
		if err != nil {
			return err
		}
		return each(raw)
	})
}

// object calls each for every member of an object.
func (s *scanner) object(each func(key string, raw []byte) error) error {
	if err := s.take('{'); err != nil {
		return err
	}
	return s.rest('}', func() error {
		key, err := s.key()
		if err != nil {
			return err
		}
		raw, err := s.value()
		if err != nil {
			return err
		}
		return each(key, raw)
	})
}

// rest reads what remains of an array or object after its opening.
func (s *scanner) rest(closing byte, element func() error) error {
	if s.next() == closing {
		s.pos++
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		if s.next() == closing {
			s.pos++
			return nil
		}
		if err := s.take(','); err != nil {
			return err
		}
	}
}

func (s *scanner) key() (string, error) {
	if s.next() != '"' {
		return "", s.take('"')
	}
	raw, err := s.value()
	if err != nil {
		return "", err
	}
	var key string
	if err := json.Unmarshal(raw, &key); err != nil {
		return "", fmt.Errorf("not JSON: %w", err)
	}
	return key, s.take(':')
}

// end checks that nothing follows.
func (s *scanner) end() error {
	if s.next(); s.pos < len(s.data) {
		return errTrailing
	}
	return nil
}
