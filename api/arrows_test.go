// Package api_test holds the test of the whole tree's shape. It stands in api because api is what everything points to.
package api_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/muster-sh/muster"

// layers names, for each top-level room, the rooms it may import, and why it must not import more. Arrows point one way:
// cmd -> replay -> extender -> capacity -> policy -> api.
var layers = map[string]struct {
	may []string
	why string
}{
	"api":      {[]string{"deploy"}, "the API describes objects; it knows nothing of what is decided about them (manifest reads deploy/crds)"},
	"policy":   {[]string{"api"}, "rules are values an operator chose; they do not know the cluster they are applied to"},
	"provider": {[]string{"api"}, "a backend makes machines; it must not know why they are wanted"},
	"capacity": {[]string{"policy", "provider", "api"}, "decisions must not know who asks (extender, replay, cmd)"},
	"extender": {[]string{"capacity", "policy", "api"}, "a handler decodes, asks the core and encodes; providers are none of its business"},
	"replay":   {[]string{"extender", "capacity", "policy", "provider", "api"}, "a replay is the program in virtual time; cmd wires it, not the reverse"},
	"cmd":      {[]string{"replay", "extender", "capacity", "policy", "provider", "api", "deploy"}, ""},
	"deploy":   {nil, "manifests are read by others and read nobody"},
}

// rooms without Go code of the product.
var otherRooms = []string{"docs", "test", "testdata", "tools", "bin", "my-cluster"}

// backends may be named by those who wire the program, and by nobody else.
var wiring = []string{"cmd", "replay", "provider"}

// contracts are packages under provider that are no backends: what every room may say of machines.
var contracts = []string{"provider/gate", "provider/identity"}

// pure packages decide. What they may not import would let a clock, a network or a log into a decision.
var pure = []string{"policy", "capacity", "capacity/amount", "capacity/housekeeping", "capacity/lifecycle", "capacity/preemption", "capacity/reaper", "capacity/topology", "capacity/volume", "api/v1alpha1", "provider/gate", "provider/identity"}

var impure = []string{"net/http", "os", "log", "log/slog", "k8s.io/client-go", "sigs.k8s.io/controller-runtime", "math/rand"}

// clocks are the packages that may ask what time it is: programs and loops. Everybody else is told.
var clocks = []string{"cmd", "capacity/control", "capacity/kube", "capacity/shadow", "provider/sim", "replay"}

func TestArrowsPointOneWay(t *testing.T) {
	eachFile(t, func(t *testing.T, dir, file string, f *ast.File) {
		from := room(dir)
		layer, known := layers[from]
		require.Truef(t, known, "%s: top-level folder %q is in nobody's list", file, from)
		for _, to := range ownImports(f) {
			if target := room(to); target != from {
				require.Containsf(t, layer.may, target, "%s imports %s: the arrow turns round, since %s", file, to, layer.why)
			}
			backend := strings.HasPrefix(to, "provider/") && !slices.Contains(contracts, to)
			require.Falsef(t, backend && !slices.Contains(wiring, from),
				"%s imports %s: only those who wire the program name a backend; use the types of provider", file, to)
		}
	})
}

func TestDecisionsArePure(t *testing.T) {
	eachFile(t, func(t *testing.T, dir, file string, f *ast.File) {
		if !slices.Contains(pure, dir) {
			return
		}
		for _, imported := range imports(f) {
			for _, bad := range impure {
				require.Falsef(t, imported == bad || strings.HasPrefix(imported, bad+"/"),
					"%s imports %s: a decision has no clock, client or logger; the loop around it has", file, imported)
			}
		}
	})
}

func TestOnlyProgramsAndLoopsAskForTheTime(t *testing.T) {
	eachFile(t, func(t *testing.T, dir, file string, f *ast.File) {
		if slices.ContainsFunc(clocks, func(c string) bool { return dir == c || strings.HasPrefix(dir, c+"/") }) {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := s.X.(*ast.Ident)
			asks := ok && x.Name == "time" && slices.Contains([]string{"Now", "Since", "Until"}, s.Sel.Name)
			require.Falsef(t, asks, "%s asks for the time (time.%s): take now as an argument", file, s.Sel.Name)
			return true
		})
	})
}

func TestEveryRoomHasAReason(t *testing.T) {
	entries, err := os.ReadDir("..")
	require.NoError(t, err)
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		_, known := layers[e.Name()]
		require.Truef(t, known || slices.Contains(otherRooms, e.Name()),
			"top-level folder %s: give its reason in docs/architecture.md and list it here", e.Name())
	}
}

// eachFile visits the product's own Go files; tests may import whom they like, and test/e2e is another module.
func eachFile(t *testing.T, visit func(t *testing.T, dir, file string, f *ast.File)) {
	t.Helper()
	visited := 0
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		dir := filepath.ToSlash(strings.TrimPrefix(name, "../"))
		if d.IsDir() {
			if _, known := layers[room(dir)]; name != ".." && !known {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || !strings.Contains(dir, "/") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		visited++
		visit(t, path.Dir(dir), dir, f)
		return nil
	})
	require.NoError(t, err)
	require.Positive(t, visited)
}

func room(dir string) string {
	first, _, _ := strings.Cut(dir, "/")
	return first
}

func imports(f *ast.File) []string {
	var all []string
	for _, i := range f.Imports {
		all = append(all, strings.Trim(i.Path.Value, `"`))
	}
	return all
}

func ownImports(f *ast.File) []string {
	var own []string
	for _, i := range imports(f) {
		if rest, ok := strings.CutPrefix(i, module+"/"); ok {
			own = append(own, rest)
		}
	}
	return own
}
