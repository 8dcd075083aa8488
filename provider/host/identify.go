package host

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/identity"
)

// Reasons of the condition Identified.
const (
	reasonIdentified = "Identified"
	reasonNoProof    = "NoProof"
)

// identify takes over which machine answered. The first reading that tells it is kept for good; a later one that confirms all of it
// may add what was not known then. What a Host declares stands in for what its interface does not tell.
func (s *step) identify(r Reading) {
	st := s.st()
	st.Met = nil
	id := r.Identity
	told := id.Serial != "" || identity.UUID(id.SystemUUID) != ""
	s.identified(told)
	if st.Identity != nil {
		if identity.Unproven(*st.Identity, id) == "" {
			fill(&st.Identity.SystemUUID, id.SystemUUID)
			fill(&st.Identity.Serial, id.Serial)
			fill(&st.Identity.System, id.System)
		}
		return
	}
	fill(&id.SystemUUID, known(s.h.Spec.SystemUUID))
	if identity.Unproven(id, id) == "" {
		st.Identity = &id
	}
}

func fill(known *string, said string) {
	if *known == "" {
		*known = said
	}
}

// identified tells the operator when the host is added, and not at its first release, that there will be no proof.
func (s *step) identified(told bool) {
	c := meta.FindStatusCondition(s.st().Conditions, v1alpha1.ConditionIdentified)
	switch {
	case told:
		s.condition(v1alpha1.ConditionIdentified, metav1.ConditionTrue, reasonIdentified, "")
	case c == nil || c.Reason == FaultIdentity:
		message := noProof(s.h)
		s.condition(v1alpha1.ConditionIdentified, metav1.ConditionFalse, reasonNoProof, message)
		s.warn(reasonNoProof, message)
	}
}

// noProof says what is missing, and what stands in for it.
func noProof(h *v1alpha1.Host) string {
	if h.Spec.Power.Interface == v1alpha1.PowerWoL {
		return "Wake-on-LAN reads nothing back: the host is switched off through its Node only, while that reports the host's systemUUID"
	}
	text := "the BMC tells neither a system UUID nor a serial number: that it is this host's only its Node can witness"
	if h.Spec.SystemUUID == "" {
		return text + "; set spec.systemUUID, or its power is never taken away"
	}
	return text + ", so a host whose node did not join stays on until a person says that it is off"
}

func (s *step) condition(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&s.st().Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: cut(message),
		ObservedGeneration: s.h.Generation, LastTransitionTime: metav1.NewTime(s.now)})
}

// meet takes in that another machine answered: nothing of what it says is the host's.
func (s *step) meet(a *Another) {
	st := s.st()
	st.Power = string(Unknown)
	if st.Met != nil && *st.Met == a.Met {
		return
	}
	st.Met = &a.Met
	message := fmt.Sprintf("another machine answers: %s; recorded is %s; nothing is switched", describe(a.Met), describe(*st.Identity))
	s.condition(v1alpha1.ConditionIdentified, metav1.ConditionFalse, FaultIdentity, message)
	s.warn(FaultIdentity, message)
}

// describe is an identity in one line.
func describe(id v1alpha1.MachineIdentity) string {
	var parts []string
	for _, f := range []struct{ name, value string }{
		{"BMC", id.Address}, {"system", id.System}, {"UUID", id.SystemUUID}, {"serial", id.Serial}, {"MAC", id.MAC},
	} {
		if f.value != "" {
			parts = append(parts, fmt.Sprintf("%s %q", f.name, f.value))
		}
	}
	if len(parts) == 0 {
		return "a machine that tells nothing of itself"
	}
	return strings.Join(parts, ", ")
}

// doubt is why it is not known which machine the switch is of, and the fault that it makes; both empty where it is.
func (s *step) doubt() (fault, why string) {
	switch {
	case s.st().Met != nil:
		return FaultIdentity, "another machine answers: " + identity.Contradiction(*s.st().Identity, *s.st().Met)
	case len(s.o.Twins) > 0:
		return FaultAmbiguous, "cannot be told apart from " + strings.Join(s.o.Twins, ", ")
	}
	return "", ""
}
