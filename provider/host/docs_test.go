package host_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/provider/host"
)

func TestTheDocumentListsEveryState(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "hosts.md"))
	require.NoError(t, err)
	var want, got []string
	for _, row := range host.Table() {
		want = append(want, string(row.State))
	}
	for _, m := range regexp.MustCompile(`(?m)^### (\w+)$`).FindAllStringSubmatch(string(text), -1) {
		got = append(got, m[1])
	}
	require.Equal(t, want, got)
}
