package gate

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// columns are the acts of each column of the table in docs/gate.md.
var columns = [][]Act{{Delete}, {Stop}, {PowerOff}, {DeleteNode}, {Evict, DeletePod}, {Preempt}, {HandOver}}

func TestTheTableForPeopleIsTheTableOfTheGate(t *testing.T) {
	page, err := os.ReadFile("../../docs/gate.md")
	require.NoError(t, err)
	rows := map[string][]string{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) == len(columns)+1 {
			rows[strings.TrimSpace(cells[0])] = cells[1:]
		}
	}
	for _, c := range clauses {
		cells, found := rows[c.name]
		require.True(t, found, "clause %q has no row", c.name)
		for i, acts := range columns {
			for _, act := range acts {
				require.Equal(t, slices.Contains(c.acts, act), strings.TrimSpace(cells[i]) == "x", "%s: %s", c.name, act)
			}
		}
		require.Contains(t, string(page), "\n| "+c.reason+" |", "the reason of %q is not explained", c.name)
	}
}
