package replay

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TraceOptions say how the rows of a trace become pods.
type TraceOptions struct {
	// From and Until bound the arrivals that are taken, in the trace's time; Until 0 is no bound.
	From, Until time.Duration
	// Lenient leaves bad rows out and counts them.
	Lenient bool
	// GPU says which resource a pod asks for.
	GPU GPU
	// Tolerations every pod gets, and those that only pods get that ask for an extended resource, by its name.
	Tolerations []corev1.Toleration
	Devices     map[corev1.ResourceName][]corev1.Toleration
}

// Trace is a Load read from a CSV file, row by row. docs/replay.md describes the columns.
type Trace struct {
	file    string
	csv     *csv.Reader
	columns []string
	options TraceOptions
	last    time.Duration

	// Skipped counts the rows that were left out because they are bad, Ignored the values of columns that have no
	// counterpart here, by column.
	Skipped int
	Ignored map[string]int
}

// The columns of a trace. The first four must be there.
var traceColumns = []string{
	"arrival_s", "cpu_milli", "memory_mib", "name",
	"wait_s", "duration_s", "end_s", "gpu_count", "gpu_milli", "gpu_model", "qos", "group", "state",
	"node_selector", "max_per_node", "exclusive", "disk_mib", "nic_pct",
}

const traceRequired = 4

// RowError is a row, or a header, that cannot be used.
type RowError struct {
	File   string
	Line   int
	Column string
	Value  string
	Want   string // what is accepted
}

func (e *RowError) Error() string {
	if e.Column == "" {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Want)
	}
	return fmt.Sprintf("%s:%d: %s %q: use %s", e.File, e.Line, e.Column, clip(e.Value), e.Want)
}

// clip keeps what is quoted in a message short.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// NewTrace reads the header. file is for messages; gzip is known by its first bytes.
func NewTrace(file string, r io.Reader, o TraceOptions) (*Trace, error) {
	plain, err := unzip(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	t := &Trace{file: file, csv: newCSV(plain), options: o, Ignored: map[string]int{}}
	t.columns, err = header(file, t.csv, traceColumns, traceRequired)
	return t, err
}

func unzip(r io.Reader) (io.Reader, error) {
	buffered := bufio.NewReaderSize(r, 64<<10)
	magic, err := buffered.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return buffered, nil
	}
	return gzip.NewReader(buffered)
}

func newCSV(r io.Reader) *csv.Reader {
	c := csv.NewReader(r)
	c.ReuseRecord = true
	c.FieldsPerRecord = -1 // told by us, with the line
	return c
}

// header reads the first row: every name is known and none is given twice, and the first few known ones are there.
func header(file string, c *csv.Reader, known []string, required int) ([]string, error) {
	row, err := c.Read()
	if errors.Is(err, io.EOF) {
		return nil, &RowError{File: file, Line: 1, Want: "empty, it must begin with the columns' names"}
	}
	if err != nil {
		return nil, csvError(file, err)
	}
	columns := slices.Clone(row)
	columns[0] = strings.TrimPrefix(columns[0], "\ufeff")
	for i, name := range columns {
		if !slices.Contains(known, name) || slices.Contains(columns[:i], name) {
			return nil, &RowError{File: file, Line: 1, Column: "column", Value: name, Want: "each once of " + strings.Join(known, ", ")}
		}
	}
	for _, name := range known[:required] {
		if !slices.Contains(columns, name) {
			return nil, &RowError{File: file, Line: 1, Want: "column " + name + " is missing"}
		}
	}
	return columns, nil
}

func csvError(file string, err error) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return &RowError{File: file, Line: parse.Line, Want: "no CSV: " + parse.Err.Error()}
	}
	return fmt.Errorf("%s: %w", file, err)
}

// Next returns the next pod that arrives within the bounds.
func (t *Trace) Next() (Arrival, error) {
	for {
		a, err := t.read()
		var bad *RowError
		switch {
		case errors.As(err, &bad) && t.options.Lenient:
			t.Skipped++
		case err != nil:
			return Arrival{}, err
		case a.At < t.options.From:
		case t.options.Until > 0 && a.At >= t.options.Until:
			return Arrival{}, io.EOF
		default:
			return a, nil
		}
	}
}

func (t *Trace) read() (Arrival, error) {
	row, err := t.csv.Read()
	if errors.Is(err, io.EOF) {
		return Arrival{}, io.EOF
	}
	if err != nil {
		return Arrival{}, csvError(t.file, err)
	}
	line, _ := t.csv.FieldPos(0)
	if len(row) != len(t.columns) {
		return Arrival{}, &RowError{File: t.file, Line: line,
			Want: fmt.Sprintf("%d values, the header names %d columns", len(row), len(t.columns))}
	}
	r := newRow(t.file, line, t.columns, row)
	a := t.arrival(r)
	if r.err == nil && a.At < t.last {
		r.bad("arrival_s", "a time that is not before that of the row above, "+seconds(t.last))
	}
	if r.err != nil {
		return Arrival{}, r.err
	}
	t.last = a.At
	for _, name := range []string{"max_per_node", "exclusive", "nic_pct"} {
		if v := r.text(name); v != "" && v != "0" {
			t.Ignored[name]++
		}
	}
	return a, nil
}

func seconds(d time.Duration) string { return fmt.Sprintf("%g s", d.Seconds()) }
