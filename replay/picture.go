package replay

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"time"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// The measures of the picture, in pixels.
const (
	pictureWidth = 1000
	labelWidth   = 110
	chartHeight  = 180
	laneHeight   = 22
	margin       = 30
)

// stateColours are those of claims; every state is named in the legend as well, for whoever sees no colours.
var stateColours = []struct{ State, Colour string }{
	{string(v1alpha1.ClaimLaunching), "#b8c4ce"}, {string(v1alpha1.ClaimJoining), "#8fa3b5"},
	{string(v1alpha1.ClaimStarting), "#5d7fa3"}, {string(v1alpha1.ClaimReady), "#2a9d6f"},
	{string(v1alpha1.ClaimDraining), "#e9a23b"}, {string(v1alpha1.ClaimReleasing), "#d9682b"},
	{string(v1alpha1.ClaimFailed), "#b3262a"},
}

var demand = []struct {
	Name, Colour string
	Of           func(sample) int
}{
	{"pods waiting", "#b3262a", func(s sample) int { return s.waiting }},
	{"pods placed", "#2a9d6f", func(s sample) int { return s.running }},
	{"nodes", "#1d3b5c", func(s sample) int { return s.nodes }},
}

// WritePicture draws demand and machines over time: one HTML file that needs nothing else.
func (r *Record) WritePicture(w io.Writer) error {
	if err := page.Execute(w, r.picture()); err != nil {
		return fmt.Errorf("draw the picture: %w", err)
	}
	return nil
}

// picture holds numbers only; the template places them.
type picture struct {
	Width, Height, Left, Right, ChartTop, ChartBottom int
	Most                                              int
	Ticks                                             []tick
	Lines                                             []line
	Lanes                                             []laneDrawing
	Legend                                            []key
}

type (
	tick struct {
		X    float64
		Text string
	}
	line struct {
		Name, Colour string
		Points       template.HTMLAttr
	}
	laneDrawing struct {
		Claim string
		Y, H  int
		Bars  []bar
	}
	bar struct {
		X, W          float64
		State, Colour string
		Seconds       float64
	}
	key struct {
		X            int
		Name, Colour string
	}
)

func (r *Record) picture() picture {
	p := picture{
		Width: pictureWidth, Left: labelWidth, Right: pictureWidth - margin, ChartTop: margin, ChartBottom: margin + chartHeight,
	}
	begin := r.last
	if len(r.samples) > 0 {
		begin = r.samples[0].at
	}
	span := max(r.last.Sub(begin), time.Second)
	x := func(t time.Time) float64 {
		return round(float64(p.Left) + float64(t.Sub(begin))/float64(span)*float64(p.Right-p.Left))
	}
	p.Ticks = ticks(begin, span, x)
	p.Most = r.most()
	for _, d := range demand {
		p.Lines = append(p.Lines, line{d.Name, d.Colour, r.steps(p, x, d.Of)})
	}
	for i, l := range r.machines() {
		p.Lanes = append(p.Lanes, r.drawLane(l, p.ChartBottom+margin+i*laneHeight, x))
	}
	p.Height = p.ChartBottom + 2*margin + len(p.Lanes)*laneHeight + margin
	for i, s := range stateColours {
		p.Legend = append(p.Legend, key{p.Left + i*115, s.State, s.Colour})
	}
	return p
}

func (r *Record) most() int {
	most := 1
	for _, s := range r.samples {
		for _, d := range demand {
			most = max(most, d.Of(s))
		}
	}
	return most
}

// steps is a line that stays where it is until the next sample.
func (r *Record) steps(p picture, x func(time.Time) float64, of func(sample) int) template.HTMLAttr {
	var b bytes.Buffer
	y := func(v int) float64 {
		return round(float64(p.ChartBottom) - float64(v)/float64(p.Most)*float64(p.ChartBottom-p.ChartTop))
	}
	for i, s := range r.samples {
		if i > 0 {
			fmt.Fprintf(&b, "%g,%g ", x(s.at), y(of(r.samples[i-1])))
		}
		fmt.Fprintf(&b, "%g,%g ", x(s.at), y(of(s)))
	}
	if n := len(r.samples); n > 0 {
		fmt.Fprintf(&b, "%g,%g", x(r.last), y(of(r.samples[n-1])))
	}
	return template.HTMLAttr(`points="` + b.String() + `"`) //nolint:gosec // digits, commas and spaces
}

func (r *Record) drawLane(l *lane, y int, x func(time.Time) float64) laneDrawing {
	d := laneDrawing{Claim: l.claim, Y: y, H: laneHeight - 6}
	for _, s := range l.spans {
		to := s.to
		if to.IsZero() {
			to = r.last
		}
		d.Bars = append(d.Bars, bar{
			X: x(s.from), W: max(x(to)-x(s.from), 0.5), State: s.state, Colour: colourOf(s.state), Seconds: round(to.Sub(s.from).Seconds()),
		})
	}
	return d
}

func colourOf(state string) string {
	for _, s := range stateColours {
		if s.State == state {
			return s.Colour
		}
	}
	return "#000000"
}

// ticks are about eight round moments.
func ticks(begin time.Time, span time.Duration, x func(time.Time) float64) []tick {
	step := 10 * time.Second
	for span/step > 10 {
		step *= 2
	}
	var all []tick
	for d := time.Duration(0); d <= span; d += step {
		all = append(all, tick{x(begin.Add(d)), d.String()})
	}
	return all
}

var page = template.Must(template.New("picture").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>muster: machines and demand over time</title>
<style>body{font:13px system-ui,sans-serif;margin:24px;color:#1c242c;background:#fff}svg{max-width:100%;height:auto}
text{font:12px system-ui,sans-serif;fill:#1c242c}</style></head><body>
<h1>Machines and demand over time</h1>
<svg viewBox="0 0 {{.Width}} {{.Height}}" width="{{.Width}}" role="img" aria-label="pods, nodes and machines over time">
{{$p := .}}{{range .Ticks}}<line x1="{{.X}}" y1="{{$p.ChartTop}}" x2="{{.X}}" y2="{{$p.Height}}" stroke="#e3e8ec"/>` +
	`<text x="{{.X}}" y="{{$p.ChartTop}}" dy="-8" text-anchor="middle">{{.Text}}</text>
{{end}}<text x="{{.Left}}" y="{{.ChartTop}}" dx="-8" dy="4" text-anchor="end">{{.Most}}</text>
<text x="{{.Left}}" y="{{.ChartBottom}}" dx="-8" dy="4" text-anchor="end">0</text>
<line x1="{{.Left}}" y1="{{.ChartBottom}}" x2="{{.Right}}" y2="{{.ChartBottom}}" stroke="#1c242c"/>
{{range .Lines}}<polyline {{.Points}} fill="none" stroke="{{.Colour}}" stroke-width="2"><title>{{.Name}}</title></polyline>
{{end}}{{range .Lanes}}{{$l := .}}<text x="{{$p.Left}}" y="{{.Y}}" dx="-8" dy="13" text-anchor="end">{{.Claim}}</text>
{{range .Bars}}<rect x="{{.X}}" y="{{$l.Y}}" width="{{.W}}" height="{{$l.H}}" fill="{{.Colour}}">` +
	`<title>{{$l.Claim}}: {{.State}}, {{.Seconds}} s</title></rect>
{{end}}{{end}}</svg>
<p>{{range .Lines}}<span style="color:{{.Colour}}">&#9644;</span> {{.Name}} &nbsp; {{end}}</p>
<p>machines: {{range .Legend}}<span style="color:{{.Colour}}">&#9632;</span> {{.Name}} &nbsp; {{end}}</p>
</body></html>
`))
