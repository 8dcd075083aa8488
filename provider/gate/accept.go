package gate

import (
	"errors"
	"fmt"
	"strings"
)

// ErrContradicted means that a reading contradicts a person's word, or that the word is about another machine or attempt. It is over
// with: what is read later does not make it true.
var ErrContradicted = errors.New("a person's word is contradicted")

// Accept says whether a person's word that a machine is gone may stand for the readings that cannot be had: on a burnt BMC, a dead
// hypervisor, a Provider that will not come back. It names the machine and its attempt, so it is good for this one alone. It is
// refused while a reading says that the machine is on, and while a Node that could be the machine is Ready or cannot be read. On is
// what the provider says; not to know is what the word is for.
func Accept(value string, s Subject, on Reading[bool], nodes Reading[[]Node]) (Word, error) {
	w, err := ParseWord(value)
	if err != nil {
		return Word{}, fmt.Errorf("%w: %w", ErrContradicted, err)
	}
	var why []string
	if w.Machine != s.Machine || w.Attempt != s.Attempt {
		why = append(why, fmt.Sprintf("it is about machine %s of attempt %d, and the claim has machine %s of attempt %d", w.Machine, w.Attempt, s.Machine, s.Attempt))
	}
	if on.known && on.value {
		why = append(why, "the provider says that the machine is on")
	}
	for _, n := range nodes.value {
		if n.Ready {
			why = append(why, fmt.Sprintf("Node %s is Ready (%s)", n.Name, n.Why))
		}
	}
	if len(why) > 0 {
		return Word{}, fmt.Errorf("%w: the word of %s that machine %s is gone is not taken: %s", ErrContradicted, w.User, w.Machine, strings.Join(why, "; "))
	}
	if not := unread(nodes, "the Nodes"); not != "" {
		return Word{}, fmt.Errorf("the word of %s that machine %s is gone is not taken yet: %s", w.User, w.Machine, not)
	}
	return w, nil
}
