package lifecycle_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/lifecycle"
	"github.com/muster-sh/muster/provider"
)

// sick is a claim whose node is not ready, and for which a restart was asked a moment ago.
func sick() *scene {
	s := in(v1alpha1.ClaimReady)
	setReady(s.seen.Node, false)
	s.claim.Spec.Restart = &v1alpha1.Restart{Since: *ago(s.now, time.Second)}
	s.seen.Asked = s.now.Add(-time.Minute)
	return s
}

// at is a restart that came to a step so long ago.
func (s *scene) at(step v1alpha1.RestartStep, since time.Duration) {
	s.claim.Status.Restart = &v1alpha1.RestartStatus{Since: s.claim.Spec.Restart.Since, Step: step, At: *ago(s.now, since)}
}

func TestARestart(t *testing.T) {
	const timeout = 5 * time.Minute // of newClaim
	for name, c := range map[string]struct {
		build func(*scene)
		step  v1alpha1.RestartStep
		does  []string
	}{
		"its step is on record with the first call": {func(*scene) {}, v1alpha1.RestartStopping, []string{"stop machine vm-1"}},
		"a node that came back meanwhile is left alone": {func(s *scene) { setReady(s.seen.Node, true) },
			v1alpha1.RestartRecovered, nil},
		"one that was carried out is not begun again": {func(s *scene) { s.at(v1alpha1.RestartInVain, time.Minute) },
			v1alpha1.RestartInVain, []string{"look for the machine"}},
		"after a crash it is stopped once more": {func(s *scene) { s.at(v1alpha1.RestartStopping, time.Minute); s.unseen() },
			v1alpha1.RestartStopping, []string{"stop machine vm-1"}},
		"what was seen before is no proof of off": {func(s *scene) {
			s.at(v1alpha1.RestartStopping, time.Minute)
			s.machine(provider.StatePending)
			s.seen.Machine.At, s.seen.Asked = s.now.Add(-2*time.Minute), s.now.Add(-2*time.Minute)
		}, v1alpha1.RestartStopping, []string{"stop machine vm-1"}},
		"off is followed by on": {func(s *scene) {
			s.at(v1alpha1.RestartStopping, time.Minute)
			s.machine(provider.StatePending)
			s.seen.Asked = s.now.Add(-time.Minute)
		}, v1alpha1.RestartStarting, []string{"create std-000 attempt 1"}},
		"a node that is ready again before its power was taken keeps it": {func(s *scene) {
			s.at(v1alpha1.RestartStopping, time.Minute)
			s.machine(provider.StateRunning)
			setReady(s.seen.Node, true)
		}, v1alpha1.RestartRecovered, nil},
		"a provider that cannot": {func(s *scene) {
			s.at(v1alpha1.RestartStopping, time.Minute)
			s.answer(lifecycle.VerbStop, fmt.Errorf("no BMC: %w", provider.ErrRefused))
		}, v1alpha1.RestartImpossible, nil},
		"a provider that does not answer is asked again later": {func(s *scene) {
			s.at(v1alpha1.RestartStopping, time.Minute)
			s.answer(lifecycle.VerbStop, provider.ErrUnknown)
		}, v1alpha1.RestartStopping, nil},
		"a machine that stays on": {func(s *scene) { s.at(v1alpha1.RestartStopping, timeout) },
			v1alpha1.RestartInVain, []string{"look for the machine"}},
		"the moment before that": {func(s *scene) { s.at(v1alpha1.RestartStopping, timeout-1) },
			v1alpha1.RestartStopping, []string{"stop machine vm-1"}},
		"a machine that comes on is looked at": {func(s *scene) {
			s.at(v1alpha1.RestartStarting, time.Minute)
			s.machine(provider.StateCreating)
			s.seen.Asked = s.now.Add(-time.Minute)
		}, v1alpha1.RestartStarting, []string{"look for the machine"}},
		"it is started although its node is gone": {func(s *scene) {
			s.at(v1alpha1.RestartStarting, time.Minute)
			s.unseen()
			s.seen.Node = nil
		}, v1alpha1.RestartStarting, []string{"create std-000 attempt 1"}},
		"a machine that runs again has the time of a boot": {func(s *scene) {
			s.at(v1alpha1.RestartStarting, time.Minute)
			s.machine(provider.StateRunning)
		}, v1alpha1.RestartBooting, nil},
		"a machine that does not start": {func(s *scene) {
			s.at(v1alpha1.RestartStarting, time.Minute)
			s.answer(lifecycle.VerbCreate, fmt.Errorf("no host: %w", provider.ErrNoCapacity))
		}, v1alpha1.RestartInVain, nil},
		"it boots": {func(s *scene) { s.at(v1alpha1.RestartBooting, timeout-1) }, v1alpha1.RestartBooting, []string{"look for the machine"}},
		"it did not help": {func(s *scene) { s.at(v1alpha1.RestartBooting, timeout) },
			v1alpha1.RestartInVain, []string{"look for the machine"}},
		"it helped": {func(s *scene) { s.at(v1alpha1.RestartBooting, time.Minute); setReady(s.seen.Node, true) },
			v1alpha1.RestartRecovered, nil},
		"it helped at the last moment": {func(s *scene) { s.at(v1alpha1.RestartBooting, timeout); setReady(s.seen.Node, true) },
			v1alpha1.RestartRecovered, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := sick()
			c.build(s)
			r := lifecycle.Step(s.claim, s.seen, s.now)
			require.NoError(t, r.Err)
			require.Equal(t, v1alpha1.ClaimReady, r.Claim.Status.State)
			require.Equal(t, c.step, r.Claim.Status.Restart.Step, r.Claim.Status.Message)
			require.Equal(t, s.claim.Spec.Restart.Since.UTC(), r.Claim.Status.Restart.Since.UTC())
			require.Equal(t, c.does, calls(r))
			if before := s.claim.Status.Restart; before == nil || before.Step != c.step {
				shown := meta.FindStatusCondition(r.Claim.Status.Conditions, v1alpha1.ConditionRestarting)
				require.Equal(t, string(c.step), shown.Reason)
				require.Equal(t, !r.Claim.Status.Restart.Over(), shown.Status == metav1.ConditionTrue)
			}
		})
	}
}

// calls are the calls to the provider that a step asks for.
func calls(r lifecycle.Result) (texts []string) {
	for _, e := range r.Effects {
		switch e.(type) {
		case lifecycle.Create, lifecycle.Look, lifecycle.Delete, lifecycle.Stop:
			texts = append(texts, e.String())
		}
	}
	return texts
}

// A later time is another restart; an earlier one, out of a cache that lags, is none.
func TestARestartIsNamedByItsTime(t *testing.T) {
	for name, c := range map[string]struct {
		asked time.Duration
		again bool
	}{"the same": {time.Hour, false}, "an earlier one": {2 * time.Hour, false}, "a later one": {time.Minute, true}} {
		t.Run(name, func(t *testing.T) {
			s := sick()
			s.claim.Status.Restart = &v1alpha1.RestartStatus{Since: *ago(s.now, time.Hour), Step: v1alpha1.RestartRecovered, At: *ago(s.now, time.Hour)}
			s.claim.Spec.Restart.Since = *ago(s.now, c.asked)
			r := lifecycle.Step(s.claim, s.seen, s.now)
			require.Equal(t, c.again, r.Claim.Status.Restart.Step == v1alpha1.RestartStopping)
		})
	}
}

// A machine that is lost while it is restarted goes the way of any other, and so does one that is to be released.
func TestAnythingElseComesBeforeARestart(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*scene)
		to     v1alpha1.ClaimState
	}{
		"its machine is gone":   {func(s *scene) { s.absent() }, v1alpha1.ClaimReleasing},
		"its machine failed":    {func(s *scene) { s.machine(provider.StateFailed) }, v1alpha1.ClaimReleasing},
		"it is to be released":  {func(s *scene) { s.claim.Spec.Release = &v1alpha1.Release{Reason: "Unhealthy", Since: *ago(s.now, 0)} }, v1alpha1.ClaimDraining},
		"the claim was deleted": {func(s *scene) { s.claim.DeletionTimestamp = &metav1.Time{Time: s.now} }, v1alpha1.ClaimDraining},
	} {
		t.Run(name, func(t *testing.T) {
			s := sick()
			s.at(v1alpha1.RestartStarting, time.Minute)
			c.change(s)
			require.Equal(t, c.to, lifecycle.Step(s.claim, s.seen, s.now).Claim.Status.State)
		})
	}
}
