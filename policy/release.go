package policy

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// evictShare is how many nodes in percent may be emptied at once where no budget says.
const evictShare = 10

// ReleaseLimit is how many of a pool's nodes may be on their way out at once for a reason: the smallest of the budgets that
// hold now, and what the pool's defaults say where none is for this reason. why names the budget; it is
// empty where there is no limit. A budget that cannot be read lets none go.
func ReleaseLimit(s *v1alpha1.ScaleDown, reason v1alpha1.ReleaseReason, nodes int, now time.Time) (limit int, why string) {
	limit, spoken := math.MaxInt, false
	for i := range s.Budgets {
		b := &s.Budgets[i]
		if len(b.Reasons) > 0 && !slices.Contains(b.Reasons, reason) {
			continue
		}
		spoken = true
		if most, text := windowLimit(b, nodes, now); text != "" && most < limit {
			limit, why = most, text
		}
	}
	if !spoken && reason != v1alpha1.ReleaseIdle {
		return share100(nodes, evictShare), fmt.Sprintf("nodes %d%% without a budget", evictShare)
	}
	return limit, why
}

// windowLimit is what one budget allows; no text when it does not hold now.
func windowLimit(b *v1alpha1.ReleaseBudget, nodes int, now time.Time) (int, string) {
	text := "nodes " + b.Nodes.String()
	if b.Schedule != "" || b.Duration != nil {
		holds, err := inWindow(b, now)
		switch {
		case err != nil:
			return 0, fmt.Sprintf("%s: schedule %q: %v", text, b.Schedule, err)
		case !holds:
			return 0, ""
		}
		text += fmt.Sprintf(" at %q for %s", b.Schedule, b.Duration.Duration)
	}
	if b.Nodes.Type == intstr.Int {
		return max(b.Nodes.IntValue(), 0), text
	}
	percent, err := strconv.Atoi(strings.TrimSuffix(b.Nodes.StrVal, "%"))
	if err != nil || percent < 0 || !strings.HasSuffix(b.Nodes.StrVal, "%") {
		return 0, text + ": not a share such as 10%"
	}
	return share100(nodes, percent), text
}

// share100 is so many percent of n, rounded up.
func share100(n, percent int) int { return (n*percent + 99) / 100 }

// inWindow says whether a window that the schedule opened is still open: its last opening is at most the duration ago.
func inWindow(b *v1alpha1.ReleaseBudget, now time.Time) (bool, error) {
	if b.Duration == nil || b.Schedule == "" {
		return false, fmt.Errorf("schedule and duration go together")
	}
	if strings.ContainsRune(b.Schedule, '=') {
		return false, fmt.Errorf("times are UTC, no time zone can be given")
	}
	s, err := cron.ParseStandard(b.Schedule)
	if err != nil {
		return false, err
	}
	opened := s.Next(now.UTC().Add(-b.Duration.Duration))
	return !opened.IsZero() && !opened.After(now), nil
}
