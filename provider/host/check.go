package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/identity"
)

// checksAtOnce bounds how many BMCs Check reads at a time.
const checksAtOnce = 8

// Check reads every host once.
func (p *Provider) Check(ctx context.Context) []provider.Finding {
	all, err := p.all(ctx)
	hosts, twins := of(p.name, all), identity.HostTwins(all)
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
	var reading sync.WaitGroup
	for i, h := range hosts {
		reading.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			findings[i] = p.checkOne(ctx, h, twins[h.Name])
		})
	}
	reading.Wait()
	return findings
}

func (p *Provider) checkOne(ctx context.Context, h *v1alpha1.Host, twins []string) provider.Finding {
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
	case Bind(h, p.now).Same(r.Identity) != nil:
		f.Level, f.Message = provider.LevelError, Bind(h, p.now).Same(r.Identity).Error()
		f.Hint = "see that power.address and power.system are this host's; if it was replaced, set a new value of the annotation " +
			v1alpha1.ReturnHostAnnotation + " while no claim has it"
	case len(twins) > 0:
		f.Level, f.Message = provider.LevelError, "cannot be told apart from "+strings.Join(twins, ", ")
		f.Hint = "delete one of the Hosts, or set power.address and power.system of each to its own"
	case identity.UUID(r.Identity.SystemUUID) == "" && r.Identity.Serial == "" && h.Spec.Power.Interface != v1alpha1.PowerWoL:
		f.Level, f.Message, f.Hint = provider.LevelWarning, noProof(h), "see docs/hosts.md, What proves what"
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

var _ provider.PoolChecker = (*Provider)(nil)

// CheckPool says of each shape of a pool how many hosts could serve it, in use or not, and why the others cannot.
func (p *Provider) CheckPool(ctx context.Context, pool *v1alpha1.NodePool) []provider.Finding {
	hosts, err := p.hosts(ctx)
	if err != nil {
		return nil // Check says so
	}
	picked, err := pool.Spec.Template.Hosts.Selector()
	if err != nil {
		return []provider.Finding{{Subject: "template.hosts", Level: provider.LevelError, Message: err.Error(), Hint: "see docs/hosts.md"}}
	}
	shapes := pool.Spec.Template.Shapes
	if r := pool.Spec.Template.Range; r != nil {
		shapes = []v1alpha1.Shape{{Name: "of the smallest size", Resources: corev1.ResourceList{corev1.ResourceCPU: r.CPU.Min, corev1.ResourceMemory: r.Memory.Min}}}
	}
	var found []provider.Finding
	for _, s := range shapes {
		request := provider.Request{Pool: pool.Name, Hosts: pool.Spec.Template.Hosts, Resources: s.Resources}
		serve, reasons := 0, map[string]int{}
		for _, h := range hosts {
			idle := h.DeepCopy()
			idle.Status = v1alpha1.HostStatus{}
			why := unfit(request, picked, idle)
			if why == "" {
				serve++
				continue
			}
			reasons[why]++
		}
		f := provider.Finding{Subject: "shape " + s.Name, Level: provider.LevelOK, Message: fmt.Sprintf("%d of %d hosts can serve it", serve, len(hosts))}
		if serve == 0 {
			f.Level, f.Message = provider.LevelError, "no host can ever serve it: "+told(reasons)
			f.Hint = "see template.hosts of the pool, and labels, pools and resources of the Hosts"
		}
		found = append(found, f)
	}
	return found
}
