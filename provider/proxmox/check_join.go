package proxmox

import (
	"context"
	"fmt"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/seed"
)

// checkJoin renders the templates with made-up facts, and tries what else joining needs.
func (p *Provider) checkJoin(ctx context.Context, v *view, spec *v1alpha1.Proxmox) []provider.Finding {
	j := spec.Join
	if j == nil {
		return nil
	}
	var found []provider.Finding
	say := func(subject, good string, err error) {
		if err != nil {
			found = append(found, problem(subject, err))
			return
		}
		found = append(found, fine(subject, good))
	}
	say("join templates", "rendered for a trial", p.tryTemplates(ctx, j))
	if j.Token != nil {
		err := p.config.Tokens.Try(ctx)
		if err != nil {
			err = kubeError("try a bootstrap token", err, tokenHint)
		}
		say("bootstrap tokens", "may be made and deleted", err)
	}
	var err error
	if !takes(v, j.Storage, "iso") {
		err = &provider.Error{Kind: provider.ErrMisconfigured, Err: fmt.Errorf("no storage of this name takes ISO images"),
			Hint: "pvesm set " + j.Storage + " --content iso, and give the token Datastore.Audit on it"}
	}
	say("join storage "+j.Storage, "takes ISO images", err)
	return found
}

func (p *Provider) tryTemplates(ctx context.Context, j *v1alpha1.ProxmoxJoin) error {
	const op = "render the templates"
	templates, err := p.config.Templates(ctx, j.Templates)
	if err != nil {
		return kubeError(op, err, "let Muster read the Secret of join.templates; see docs/proxmox.md")
	}
	facts := seed.Facts{Provider: p.config.Name, Region: p.spec.Region, Pool: "pool", Shape: "shape", Claim: "pool-000", Node: "pool-000",
		Machine: "100", Host: "host", Zone: "host", ProviderID: "proxmox://region/100", UUID: uuidOf("trial", 1), Attempt: 1, CPU: 1,
		Memory: 1 << 30, Token: "abcdef.0123456789abcdef", TokenID: "abcdef", TokenSecret: "0123456789abcdef"}
	if _, err := seed.Render(templates, seed.Format(j.Format), facts); err != nil {
		return &provider.Error{Op: op, Kind: provider.ErrMisconfigured, Err: err, Hint: "see the Secret of join.templates"}
	}
	return nil
}
