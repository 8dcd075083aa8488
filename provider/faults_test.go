package provider_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// homes are where the tests are that a page names without a package.
var homes = map[string]string{"providers.md": "provider/proxmox", "hosts.md": "provider/host", "proxmox.md": "provider/proxmox"}

var (
	testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	// mentioned are `package: TestName`, `package`, and TestName.
	mentioned = regexp.MustCompile("`([a-z][a-z/0-9]*): (Test\\w+)`|`([a-z][a-z/0-9]*)`|(Test[A-Z]\\w+)")
	// caseOf is a case of the contract: in brackets behind a test, or behind the suite's name.
	caseOf = regexp.MustCompile("Test\\w+` \\(([a-z' ]+)\\)|`providertest: ([a-z' ]+)`")
)

// tests are the folders of every test in the tree, by its name.
func tests(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range testFunc.FindAllStringSubmatch(string(text), -1) {
			all[m[1]] = append(all[m[1]], filepath.ToSlash(filepath.Dir(path)))
		}
		return err
	}))
	return all
}

func TestEveryTestThatTheTablesOfFaultsNameIsThere(t *testing.T) {
	all, suite := tests(t), contract(t)
	checked := map[string]int{}
	for page, home := range homes {
		text, err := os.ReadFile(filepath.Join("..", "docs", page))
		require.NoError(t, err)
		table := false
		for n, line := range strings.Split(string(text), "\n") {
			where := fmt.Sprintf("docs/%s:%d", page, n+1)
			table = strings.HasPrefix(line, "| fault ") || table && strings.HasPrefix(line, "|")
			cell := line
			if table {
				cell = lastCell(t, line, where)
			}
			found := lookUp(t, all, cell, home, where)
			for _, m := range caseOf.FindAllStringSubmatch(cell, -1) {
				require.Contains(t, suite, `"`+m[1]+m[2], where)
			}
			require.True(t, !table || found > 0 || cell == "test" || cell == "---" || strings.HasPrefix(cell, "`providertest"), "%s names no test", where)
			checked[page] += found
		}
	}
	require.Greater(t, checked["providers.md"], 40)
	require.Greater(t, checked["hosts.md"], 40)
}

func lastCell(t *testing.T, row, where string) string {
	t.Helper()
	cells := strings.Split(strings.Trim(row, "|"), "|")
	require.Len(t, cells, 3, where)
	return strings.TrimSpace(cells[2])
}

// lookUp finds every test in the packages that stand before it, and returns how many there are.
func lookUp(t *testing.T, all map[string][]string, cell, home, where string) (n int) {
	t.Helper()
	packages, used := []string{home}, true
	for _, m := range mentioned.FindAllStringSubmatch(cell, -1) {
		name, in := m[4], packages
		switch {
		case m[3] != "" && used:
			packages, used = []string{m[3]}, false
			continue
		case m[3] != "":
			packages = append(packages, m[3])
			continue
		case m[2] != "":
			name, in = m[2], []string{m[1]}
		}
		used = true
		for _, folder := range in {
			isThere(t, all, name, folder, where)
			n++
		}
	}
	return n
}

func isThere(t *testing.T, all map[string][]string, name, folder, where string) {
	t.Helper()
	if folder == "e2e" {
		folder = "test/e2e/stories"
	}
	found := slices.ContainsFunc(all[name], func(have string) bool { return strings.HasSuffix(have, "/"+folder) })
	require.True(t, found, "%s: test %s is not in %s, but in %v", where, name, folder, all[name])
}

// contract is the text of the suite that every backend passes.
func contract(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("providertest", "*.go"))
	require.NoError(t, err)
	var all []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all = append(all, string(text))
	}
	return strings.Join(all, "\n")
}
