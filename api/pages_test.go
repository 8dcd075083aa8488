package api_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// link finds the target of every link in a page.
var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestPagesLinkToWhatIsThere(t *testing.T) {
	pages, err := filepath.Glob("../docs/*.md")
	require.NoError(t, err)
	root, err := filepath.Glob("../*.md")
	require.NoError(t, err)
	links := 0
	for _, page := range append(root, pages...) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			links++
			_, err := os.Stat(filepath.Join(filepath.Dir(page), target))
			require.NoErrorf(t, err, "%s links to %s", page, m[1])
		}
	}
	require.Greater(t, links, 5)
}

// A page that nobody finds from the front was written for nobody.
func TestTheFrontPageNamesEveryPage(t *testing.T) {
	front, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	pages, err := filepath.Glob("../docs/*.md")
	require.NoError(t, err)
	for _, page := range pages {
		require.Contains(t, string(front), "](docs/"+filepath.Base(page)+")")
	}
}
