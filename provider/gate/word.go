package gate

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Word is a person's word that a machine is gone: the value of v1alpha1.ConfirmGoneAnnotation, "<machine>/<attempt> <user>". It replaces
// readings that cannot be had any more, for this machine of this attempt and for one act.
type Word struct {
	// Machine is the provider's ID of the machine, as in the claim's status.
	Machine string
	// Attempt is the claim's status.attempts.
	Attempt int32
	// User is the person who gives the word.
	User string
}

// mostUser bounds a user's name, in bytes.
const mostUser = 256

// ParseWord reads a Word, exactly as String writes it.
func ParseWord(value string) (Word, error) {
	subject, user, found := strings.Cut(value, " ")
	slash := strings.LastIndexByte(subject, '/')
	if !found || slash < 0 {
		return Word{}, fmt.Errorf("%q: use the machine's ID, a slash, the attempt, a space and the user, as in 101/1 alice", value)
	}
	attempt, err := strconv.ParseInt(subject[slash+1:], 10, 32)
	if err != nil || strconv.FormatInt(attempt, 10) != subject[slash+1:] {
		return Word{}, fmt.Errorf("%q: attempt %q: use a whole number, as in status.attempts of the claim", value, subject[slash+1:])
	}
	w := Word{Machine: subject[:slash], Attempt: int32(attempt), User: user}
	if err := w.Validate(); err != nil {
		return Word{}, fmt.Errorf("%q: %w", value, err)
	}
	return w, nil
}

// Validate says which field cannot be written.
func (w Word) Validate() error {
	switch {
	case w.Machine == "":
		return errors.New("machine is empty: use the machine's ID, as in status.machineID of the claim")
	case strings.ContainsFunc(w.Machine, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }):
		return fmt.Errorf("machine %q: the ID of a machine has no spaces and no control characters", w.Machine)
	case w.Attempt < 1:
		return fmt.Errorf("attempt %d: must be at least 1: without an attempt there was no machine", w.Attempt)
	case w.User == "":
		return errors.New("user is empty: name the person who knows that the machine is gone")
	case w.User != strings.TrimSpace(w.User) || strings.ContainsFunc(w.User, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("user %q: must not begin or end with a space, nor have control characters", w.User)
	case len(w.User) > mostUser:
		return fmt.Errorf("user: must have at most %d bytes, not %d", mostUser, len(w.User))
	}
	return nil
}

func (w Word) String() string { return fmt.Sprintf("%s/%d %s", w.Machine, w.Attempt, w.User) }
