package dial

import (
	"log/slog"
	"strings"
)

// Secret is a text that no log, error or document shows.
type Secret string

const hidden = "[redacted]"

// String hides the text; Reveal gives it.
func (Secret) String() string { return hidden }

// GoString hides the text from %#v.
func (Secret) GoString() string { return hidden }

// MarshalText hides the text from encoders.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// LogValue hides the text from structured logs.
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// Reveal is the text itself, for the wire only.
func (s Secret) Reveal() string { return string(s) }

// Redact takes secrets out of a text that somebody else wrote. Secrets of less than four characters are left: they would
// take words apart.
func Redact(text string, secrets ...Secret) string {
	for _, s := range secrets {
		if len(s) >= 4 {
			text = strings.ReplaceAll(text, string(s), hidden)
		}
	}
	return text
}
