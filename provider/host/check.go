package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
)

// checksAtOnce bounds how many BMCs Check reads at a time.
const checksAtOnce = 8

// Check reads every host once.
func (p *Provider) Check(ctx context.Context) []provider.Finding {
	hosts, err := p.hosts(ctx)
	if err != nil {
		return []provider.Finding{{Subject: "hosts", Level: provider.LevelError, Message: err.Error(),
			Hint: "Muster needs the rights to list hosts and to update hosts/status: apply deploy/rbac"}}
	}
	if len(hosts) == 0 {
		return []provider.Finding{{Subject: "hosts", Level: provider.LevelError, Message: "no Host has spec.provider " + p.name,
			Hint: "create Hosts; muster hosts probe prints one from what a BMC says"}}
	}
	findings := make([]provider.Finding, len(hosts))
	slots := make(chan struct{}, checksAtOnce)
	var all sync.WaitGroup
	for i, h := range hosts {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			findings[i] = p.checkOne(ctx, h)
		})
	}
	all.Wait()
	return findings
}

func (p *Provider) checkOne(ctx context.Context, h *v1alpha1.Host) provider.Finding {
	f := provider.Finding{Subject: "host " + h.Name, Level: provider.LevelOK}
	s, err := p.switches.Switch(ctx, h)
	var r Reading
	if err == nil {
		r, err = s.Read(ctx)
	}
	switch {
	case err != nil:
		f.Level, f.Message, f.Hint = provider.LevelError, err.Error(), provider.HintOf(err)
	case h.Spec.SystemUUID == "" && h.Spec.ProviderID == "" && r.SystemUUID == "":
		f.Level, f.Message = provider.LevelError, "nothing tells which Node is this host"
		f.Hint = "set spec.systemUUID to what `cat /sys/class/dmi/id/product_uuid` says there"
	case h.Spec.SystemUUID != "" && len(r.UUIDs) > 0 && !slices.ContainsFunc(r.UUIDs, func(u string) bool { return SameUUID(u, h.Spec.SystemUUID) }):
		f.Level = provider.LevelWarning
		f.Message = fmt.Sprintf("spec.systemUUID is %s and the BMC's GUID, in whatever byte order, is another one: %s",
			h.Spec.SystemUUID, strings.Join(r.UUIDs, ", or "))
		f.Hint = "see that the address is this host's BMC; some BMCs tell a GUID of their own, and then nothing is wrong"
	case h.Spec.SystemUUID != "" && r.SystemUUID != "" && !SameUUID(h.Spec.SystemUUID, r.SystemUUID):
		f.Level = provider.LevelWarning
		f.Message = fmt.Sprintf("spec.systemUUID is %s and the BMC says %s", h.Spec.SystemUUID, r.SystemUUID)
		f.Hint = "see that the address is this host's BMC, and spec.systemUUID what its kubelet reports"
	case state(h) == v1alpha1.HostQuarantined:
		f.Level, f.Message = provider.LevelWarning, "quarantined: "+h.Status.Message
		f.Hint = "repair it, then set a new value of the annotation " + v1alpha1.ReturnHostAnnotation
	case r.Power == On && h.Status.Claim == nil:
		f.Level, f.Message = provider.LevelWarning, "on, and not claimed"
		f.Hint = "Muster does not touch what it did not switch on: shut it down, or leave it out"
	default:
		f.Message = fmt.Sprintf("answers, power %s, state %s", r.Power, state(h))
	}
	return f
}
