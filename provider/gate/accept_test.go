package gate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPersonsWordReplacesReadingsThatCannotBeHad(t *testing.T) {
	s := Subject{Machine: "101", ClaimUID: "u1", Attempt: 2}
	silent := Read([]Node{{Name: "std-000", Why: "it has the machine's provider ID"}})
	ready := Read([]Node{{Name: "std-000", Ready: true, Why: "it has the machine's provider ID"}})
	for name, c := range map[string]struct {
		word  string
		on    Reading[bool]
		nodes Reading[[]Node]
		not   string
	}{
		"the provider cannot be asked":             {"101/2 ann", Unread[bool](errAway), silent, ""},
		"the provider says that it is off":         {"101/2 ann", Read(false), silent, ""},
		"its Node is gone":                         {"101/2 ann", Unread[bool](errAway), Read([]Node(nil)), ""},
		"a reading says that it is on":             {"101/2 ann", Read(true), silent, "the provider says that the machine is on"},
		"its Node is Ready":                        {"101/2 ann", Unread[bool](errAway), ready, "Node std-000 is Ready"},
		"the Nodes cannot be read":                 {"101/2 ann", Unread[bool](errAway), Unread[[]Node](errAway), "the Nodes could not be read"},
		"it is about another machine":              {"102/2 ann", Unread[bool](errAway), silent, "it is about machine 102"},
		"it was given for an attempt that is over": {"101/1 ann", Unread[bool](errAway), silent, "of attempt 1"},
		"it names no person":                       {"101/2 ", Unread[bool](errAway), silent, "user is empty"},
		"it is rubbish":                            {"yes", Unread[bool](errAway), silent, "use the machine's ID"},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := Accept(c.word, s, c.on, c.nodes)
			if c.not != "" {
				require.ErrorContains(t, err, c.not)
				return
			}
			require.NoError(t, err)
			require.Equal(t, "ann", w.User)
		})
	}
}
