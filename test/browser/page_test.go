package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/replay"
	"github.com/muster-sh/muster/replay/page"
)

// hostile is a policy's name as nobody should give one.
const hostile = `</script><script>alert("idle 4m")</script>`

// drawPage runs the story of the demo under three policies and draws them.
func drawPage(t *testing.T) string {
	t.Helper()
	var outcomes []replay.Outcome
	var lines []*replay.Timeline
	for _, p := range []struct {
		name string
		idle time.Duration
	}{{"idle 20s", 20 * time.Second}, {"idle 1m", time.Minute}, {hostile, 4 * time.Minute}} {
		o, err := replay.Story(0)
		require.NoError(t, err)
		for _, pool := range o.Pools {
			pool.Spec.ScaleDown.IdleAfter = &metav1.Duration{Duration: p.idle}
		}
		o.Timeline = replay.NewTimeline()
		w, err := replay.New(o)
		require.NoError(t, err)
		require.NoError(t, w.Run(t.Context()))
		outcomes, lines = append(outcomes, replay.Outcome{Name: p.name, Summary: w.Summary()}), append(lines, w.Timeline())
	}
	path := filepath.Join(t.TempDir(), "page.html")
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, page.Write(f, "Three policies", replay.Compare(outcomes, replay.WaitMean), lines))
	require.NoError(t, f.Close())
	return "file://" + path
}

func open(t *testing.T) *Tab {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	tab, end, err := Open(ctx, drawPage(t), 1400, 1000)
	require.NoError(t, err)
	t.Cleanup(end)
	t.Cleanup(func() {
		require.Empty(t, tab.Wrongs(), "the page asks nobody for anything, and its script does not fail")
	})
	return tab
}

func run(t *testing.T, tab *Tab, actions ...chromedp.Action) {
	t.Helper()
	require.NoError(t, chromedp.Run(tab, actions...))
}

// eval is a value of the page, as text.
func eval(t *testing.T, tab *Tab, expression string) string {
	t.Helper()
	var text string
	run(t, tab, chromedp.Evaluate("String("+expression+")", &text))
	return text
}

func screenshot(t *testing.T, tab *Tab, name string) {
	t.Helper()
	var picture []byte
	run(t, tab, chromedp.FullScreenshot(&picture, 100))
	require.NoError(t, os.WriteFile(filepath.Join(t.ArtifactDir(), name), picture, 0o600))
}

// spot is a point of an element, by fractions of its width and height, after it was scrolled into sight.
func spot(t *testing.T, tab *Tab, selector string, fx, fy float64) (x, y float64) {
	t.Helper()
	var at [2]float64
	run(t, tab, chromedp.Evaluate(fmt.Sprintf(`(() => {
		const e = document.querySelector(%q);
		e.scrollIntoView({block: "center"});
		const b = e.getBoundingClientRect();
		return [b.left + b.width * %g, b.top + b.height * %g];
	})()`, selector, fx, fy), &at))
	return at[0], at[1]
}

func move(t *testing.T, tab *Tab, x, y float64) {
	t.Helper()
	run(t, tab, chromedp.MouseEvent(input.MouseMoved, x, y))
}

const tipText = `document.getElementById("tip").hidden ? "" : document.getElementById("tip").textContent`

func TestEverythingIsDrawn(t *testing.T) {
	tab := open(t)
	screenshot(t, tab, "page.png")
	require.Equal(t, "3", eval(t, tab, `document.querySelectorAll("#policies tbody tr").length`))
	for _, chart := range []string{"nodes", "waiting", "waits"} {
		require.Equal(t, "3", eval(t, tab, `document.querySelectorAll("#`+chart+` path").length`), chart)
	}
	require.Equal(t, "6", eval(t, tab, `document.querySelectorAll("#cores path").length`), "a line and an area for each")
	require.Equal(t, "3", eval(t, tab, `document.querySelectorAll("#tradeoff circle.policy").length`))
	require.Equal(t, "false", eval(t, tab, `document.querySelectorAll("path").values().some(p => p.getAttribute("d").includes("NaN"))`))
	require.Equal(t, hostile, eval(t, tab, `document.querySelector("#policies tbody tr:last-child td.name").textContent`))
	require.Equal(t, "true", eval(t, tab, inked), "the lanes are drawn")
}

// inked says whether the canvas of the lanes shows anything in the colour of a machine that is ready.
const inked = `(() => {
	const c = document.querySelector("#lanes canvas"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
	for (let i = 0; i < d.length; i += 4) if (d[i] === 0 && d[i + 1] === 158 && d[i + 2] === 115) return true;
	return false;
})()`

func TestHoverTellsWhatIsThere(t *testing.T) {
	tab := open(t)
	x, y := spot(t, tab, "#nodes svg", 0.3, 0.5)
	move(t, tab, x, y)
	tip := eval(t, tab, tipText)
	require.Contains(t, tip, "idle 20s: ")
	require.Contains(t, tip, " nodes")

	x, y = spot(t, tab, "#waits svg", 0.99, 0.5)
	move(t, tab, x, y)
	require.Regexp(t, `within .*\nidle 20s: (99|100)`, eval(t, tab, tipText))

	x, y = spot(t, tab, "#tradeoff circle.policy", 0.5, 0.5)
	move(t, tab, x, y)
	require.Regexp(t, `^idle 20s.*\ncost [0-9.]+\nmean wait .*\n0 pods unserved$`, eval(t, tab, tipText))

	x, y = spot(t, tab, "#lanes", 0.02, 0.025)
	move(t, tab, x, y)
	require.Regexp(t, `^general-000: .* of pool general\nordered for \d+ pods: web-0, web-1`, eval(t, tab, tipText))
	x, y = spot(t, tab, "#lanes", 0.3, 0.025)
	move(t, tab, x, y)
	require.Regexp(t, `\nReady: [0-9msh]+, from`, eval(t, tab, tipText))
	move(t, tab, 1, 1)
	require.Empty(t, eval(t, tab, tipText))
}

func TestZoom(t *testing.T) {
	tab := open(t)
	axis := `[...document.querySelectorAll("#nodes text")].map(e => e.textContent).join(" ")`
	before, lanes := eval(t, tab, axis), eval(t, tab, `document.querySelector("#lanes canvas").toDataURL()`)
	x0, y := spot(t, tab, "#nodes svg", 0.4, 0.5)
	x1, _ := spot(t, tab, "#nodes svg", 0.5, 0.5)
	run(t, tab,
		chromedp.MouseEvent(input.MousePressed, x0, y, chromedp.ButtonLeft),
		chromedp.MouseEvent(input.MouseMoved, (x0+x1)/2, y, chromedp.ButtonLeft),
		chromedp.MouseEvent(input.MouseReleased, x1, y, chromedp.ButtonLeft))
	zoomed := eval(t, tab, axis)
	require.NotEqual(t, before, zoomed)
	require.NotEqual(t, lanes, eval(t, tab, `document.querySelector("#lanes canvas").toDataURL()`), "the lanes follow")
	screenshot(t, tab, "zoomed.png")

	run(t, tab, chromedp.Click("#reset"))
	require.Equal(t, before, eval(t, tab, axis))

	x, y := spot(t, tab, "#waiting svg", 0.5, 0.5)
	run(t, tab, chromedp.ActionFunc(func(ctx context.Context) error {
		return input.DispatchMouseEvent(input.MouseWheel, x, y).WithDeltaX(0).WithDeltaY(-100).Do(ctx)
	}))
	require.NotEqual(t, before, eval(t, tab, axis), "the wheel zooms all charts")
	run(t, tab, chromedp.MouseClickXY(x, y, chromedp.ClickCount(2)))
	require.Equal(t, before, eval(t, tab, axis), "a double click shows all again")
}

func TestMachinesOfAnotherPolicy(t *testing.T) {
	tab := open(t)
	rows := `document.querySelectorAll("#orders tbody tr").length`
	first := eval(t, tab, `document.querySelector("#lanes canvas").toDataURL()`)
	require.NotEqual(t, "0", eval(t, tab, rows))
	run(t, tab, chromedp.Evaluate(`(() => { const s = document.getElementById("lane-policy"); s.value = "2"; s.dispatchEvent(new Event("change")); })()`, nil))
	require.NotEqual(t, first, eval(t, tab, `document.querySelector("#lanes canvas").toDataURL()`))
	require.True(t, strings.HasPrefix(eval(t, tab, `document.querySelector("#orders tbody tr td:last-child").textContent`), "10 pods: web-0"))
}

func TestNarrow(t *testing.T) {
	tab := open(t)
	run(t, tab, chromedp.EmulateViewport(420, 900))
	require.Equal(t, "true", eval(t, tab, `document.body.scrollWidth <= innerWidth`), "nothing but the table's own frame scrolls sideways")
	screenshot(t, tab, "narrow.png")
}

func TestDark(t *testing.T) {
	tab := open(t)
	paper := `getComputedStyle(document.body).backgroundColor`
	light := eval(t, tab, paper)
	dark := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}
	run(t, tab, emulation.SetEmulatedMedia().WithFeatures(dark))
	require.NotEqual(t, light, eval(t, tab, paper))
	require.Equal(t, "true", eval(t, tab, inked), "the lanes are still there")
	screenshot(t, tab, "dark.png")
}
