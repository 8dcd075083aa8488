package lifecycle_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// docs/states.md has a heading for each row of the table, in its order, and says where each state leads.
func TestTheDocumentMatchesTheTable(t *testing.T) {
	text, err := os.ReadFile("../../docs/states.md")
	require.NoError(t, err)
	var want, got []string
	for _, row := range tableRows() {
		var to []string
		for _, s := range row.To {
			to = append(to, string(s))
		}
		want = append(want, string(row.State)+" -> "+strings.Join(to, ", "))
	}
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		name, _, _ := strings.Cut(section, "\n")
		leads := regexp.MustCompile(`(?m)^Leads to: (.*)\.$`).FindStringSubmatch(section)
		require.NotNil(t, leads, "%s: where does it lead?", name)
		got = append(got, name+" -> "+leads[1])
	}
	require.Equal(t, want, got)
}
