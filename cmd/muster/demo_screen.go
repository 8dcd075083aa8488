package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/replay"
)

// screen shows a story while it happens: a picture that is redrawn on a terminal, lines elsewhere.
type screen struct {
	w     io.Writer
	tty   *os.File // nil when nobody looks
	speed float64
	lines int // of the picture on the screen
	notes []shownNote
}

func newScreen(w io.Writer, speed float64) *screen {
	s := &screen{w: w, speed: speed}
	if isTerminal(w) && speed > 0 {
		s.tty, _ = w.(*os.File)
		fmt.Fprint(w, hideCursor)
	}
	return s
}

// shownNote is a note, and how many alike came right after it.
type shownNote struct {
	replay.Note
	more int
}

// What terminals understand.
const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	eraseBelow = "\x1b[J"
	eraseLine  = "\x1b[K"
)

// keptNotes is how many of the last events the picture shows.
const keptNotes = 8

// note takes in what happened. Of a machine the steps of its claim are shown, and what went wrong; its events say the same
// once more, and to each of its pods.
func (s *screen) note(n replay.Note) {
	if !shown[n.Kind][n.Reason] && !(n.Kind == "NodeClaim" && n.Warning) {
		return
	}
	if s.tty == nil {
		fmt.Fprintln(s.w, textOf(shownNote{Note: n}))
		return
	}
	s.keep(n)
}

// keep adds a note to the last few. A workload's pods do the same things at the same time, so they share a line.
func (s *screen) keep(n replay.Note) {
	if len(s.notes) > 0 {
		last := &s.notes[len(s.notes)-1]
		if n.Kind == "Pod" && last.Kind == n.Kind && last.Reason == n.Reason && last.Message == n.Message &&
			workloadOf(last.Name) == workloadOf(n.Name) {
			last.more++
			return
		}
	}
	s.notes = append(s.notes, shownNote{Note: n})
	if len(s.notes) > keptNotes {
		s.notes = s.notes[len(s.notes)-keptNotes:]
	}
}

// workloadOf is a pod's name without its number.
func workloadOf(pod string) string { return pod[:max(strings.LastIndexByte(pod, '-'), 0)] }

func textOf(n shownNote) string {
	name := n.Name
	if n.more > 0 {
		name = fmt.Sprintf("%s, %d more", name, n.more)
	}
	text := fmt.Sprintf("%7s  %-8s %-18s %-14s %s", clock(n.At), kindName(n.Kind), name, n.Reason, n.Message)
	return strings.TrimRight(text, " ")
}

// shown are the steps of the story.
var shown = map[string]map[string]bool{
	"Pod": {
		replay.NoteArrived: true, replay.NoteBound: true, replay.NoteFinished: true, replay.NoteDeleted: true,
		control.ReasonOrdered: true,
	},
	"NodeClaim": {
		string(v1alpha1.ClaimLaunching): true, string(v1alpha1.ClaimJoining): true, string(v1alpha1.ClaimStarting): true,
		string(v1alpha1.ClaimReady): true, string(v1alpha1.ClaimDraining): true, string(v1alpha1.ClaimReleasing): true,
		string(v1alpha1.ClaimFailed): true, replay.NoteGone: true,
	},
}

func kindName(kind string) string {
	if kind == "NodeClaim" {
		return "machine"
	}
	return strings.ToLower(kind)
}

// clock is the story's time as minutes and seconds.
func clock(t time.Time) string {
	d := t.Sub(replay.Zero)
	return fmt.Sprintf("%02d:%04.1f", int(d.Minutes()), d.Seconds()-60*float64(int(d.Minutes())))
}

// draw redraws the picture where it stands.
func (s *screen) draw(w *replay.World) {
	if s.tty == nil {
		return
	}
	width, height, err := term.GetSize(int(s.tty.Fd())) //nolint:gosec // a file descriptor is small
	if err != nil || width < 20 || height < 8 {
		width, height = 80, 24
	}
	lines := s.picture(w, width)
	if len(lines) > height-1 {
		lines = lines[:height-1]
	}
	var b strings.Builder
	if s.lines > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", s.lines)
	}
	b.WriteString("\r")
	for _, l := range lines {
		b.WriteString(cutTo(l, width-1) + eraseLine + "\n")
	}
	b.WriteString(eraseBelow)
	s.lines = len(lines)
	fmt.Fprint(s.w, b.String())
}

// close draws the last picture and gives the cursor back.
func (s *screen) close(w *replay.World) {
	if s.tty == nil {
		return
	}
	s.draw(w)
	fmt.Fprint(s.w, showCursor)
}

func (s *screen) picture(w *replay.World, width int) []string {
	st := w.Status()
	machines := w.Machines()
	lines := []string{
		fmt.Sprintf("muster demo   %s   %gx   pods: %d waiting, %d placed, %d ended   machines: %d", clock(w.Now()), s.speed,
			st.Waiting, st.Running, st.Finished, len(machines)),
		"",
	}
	for _, m := range machines {
		lines = append(lines, laneOf(m, width))
	}
	if len(machines) == 0 {
		lines = append(lines, "  no machine")
	}
	lines = append(lines, "")
	for _, n := range s.notes {
		lines = append(lines, textOf(n))
	}
	return lines
}

// barWidth is how many characters show how full a node is.
const barWidth = 20

// laneOf is one machine: its name and shape, where it stands, how full it is, and a mark for every pod.
func laneOf(m replay.NodeStatus, width int) string {
	head := fmt.Sprintf("  %-12s %-6s %-10s ", m.Claim, m.Shape, m.State)
	if m.State == v1alpha1.ClaimLaunching || m.State == v1alpha1.ClaimJoining || m.State == v1alpha1.ClaimPending {
		return head + strings.Repeat(".", barWidth)
	}
	full := min(int(m.CPU*barWidth+0.5), barWidth)
	bar := strings.Repeat("#", full) + strings.Repeat("-", barWidth-full)
	lane := fmt.Sprintf("%s%s %3.0f%% cpu  ", head, bar, m.CPU*100)
	pods := strings.Join(m.Pods, " ")
	if room := width - utf8.RuneCountInString(lane) - 1; utf8.RuneCountInString(pods) > room {
		pods = fmt.Sprintf("%d pods", len(m.Pods))
	}
	return lane + pods
}

// cutTo keeps a line on one line.
func cutTo(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:width])
}
