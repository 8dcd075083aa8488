package provider

import (
	"errors"
	"strings"
)

// Errors to act on; a backend wraps them with what it was doing. Whoever reads another error treats it as ErrUnknown.
var (
	// ErrNotFound means absent, after a complete look.
	ErrNotFound = errors.New("machine not found")
	// ErrNoCapacity means the backend refused to make the machine and made nothing.
	ErrNoCapacity = errors.New("no capacity")
	// ErrBusy means nothing was done because of other work; the same call may be made again later.
	ErrBusy = errors.New("busy")
	// ErrRefused means the backend will never do this as asked.
	ErrRefused = errors.New("refused")
	// ErrMisconfigured means nothing was done because an operator has to change something first: a permission, a
	// template, a credential.
	ErrMisconfigured = errors.New("misconfigured")
	// ErrUnknown means that the call may or may not have been carried out, or that a look was not complete.
	ErrUnknown = errors.New("outcome unknown")
)

// Kinds lists the errors to act on.
var Kinds = []error{ErrNotFound, ErrNoCapacity, ErrBusy, ErrRefused, ErrMisconfigured, ErrUnknown}

// KindOf returns which of Kinds an error is; ErrUnknown when it is none, nil for no error.
func KindOf(err error) error {
	if err == nil {
		return nil
	}
	for _, kind := range Kinds {
		if errors.Is(err, kind) {
			return kind
		}
	}
	return ErrUnknown
}

// Error is one of Kinds with what was being done and what an operator can do about it.
type Error struct {
	// Op is what was being done, for example "clone template 9000 to 1005 on host pve2".
	Op string
	// Kind is one of Kinds.
	Kind error
	// Hint says what an operator can do; empty when there is nothing to do.
	Hint string
	// Err is what the backend said; may be nil. It holds no secret.
	Err error
}

// Error is one line: operation, kind, cause, hint.
func (e *Error) Error() string {
	var parts []string
	if e.Op != "" {
		parts = append(parts, e.Op)
	}
	parts = append(parts, e.Kind.Error())
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	text := strings.Join(parts, ": ")
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

// Unwrap gives the kind only: the kinds that a cause may wrap are not what this error means.
func (e *Error) Unwrap() error { return e.Kind }

// HintOf returns the hint of an error, or nothing.
func HintOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}

// Finding is one thing that Check looked at.
type Finding struct {
	// Subject is what was looked at, for example "permission VM.Clone on /vms/9000".
	Subject string
	// Level is how it stands.
	Level Level
	// Message is what was found, and Hint what to do about it.
	Message string
	Hint    string
}

// Level is how bad a Finding is.
type Level string

// The levels. Machines cannot be made, or not be given back, while something is LevelError.
const (
	LevelOK      Level = "ok"
	LevelWarning Level = "warning"
	LevelError   Level = "error"
)
