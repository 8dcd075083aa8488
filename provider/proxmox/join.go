package proxmox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/dial"
	"github.com/muster-sh/muster/provider/seed"
)

// Tokens keeps bootstrap tokens in the cluster that machines join.
type Tokens interface {
	// Create writes a token, over one with its ID.
	Create(ctx context.Context, t seed.Token) error
	// Delete removes a token; one that is not there is no error.
	Delete(ctx context.Context, id string) error
	// Try says whether both would be allowed, and does neither.
	Try(ctx context.Context) error
}

func checkJoin(j *v1alpha1.ProxmoxJoin) error {
	if j.Storage == "" || j.Templates.Name == "" || j.Templates.Namespace == "" {
		return fmt.Errorf("proxmox.join: storage and templates must be set")
	}
	if j.Token != nil {
		if ttl := tokenTTL(j.Token); ttl < time.Minute || ttl > seed.MaxTTL {
			return fmt.Errorf("proxmox.join.token.ttl %s: must be at least 1m and at most %s", ttl, seed.MaxTTL)
		}
	}
	return nil
}

func tokenTTL(t *v1alpha1.ProxmoxJoinToken) time.Duration {
	if t.TTL == nil {
		return 20 * time.Minute
	}
	return t.TTL.Duration
}

// imageName is that of the image that an attempt joins with.
func imageName(uid types.UID, attempt int32) string { return "muster-" + uuidOf(uid, attempt) + ".iso" }

func tokenID(uid types.UID, attempt int32) string { return seed.TokenID(uuidOf(uid, attempt)) }

// withSeed writes down what a machine will be given, before it is made.
func (m mark) withSeed(j *v1alpha1.ProxmoxJoin) mark {
	m.Seed, m.Token = "", ""
	if j == nil {
		return m
	}
	m.Seed = j.Storage + ":iso/" + imageName(m.UID, m.Attempt)
	if j.Token != nil {
		m.Token = tokenID(m.UID, m.Attempt)
	}
	return m
}

func (m mark) seeded() bool { return m.Seed != "" || m.Token != "" }

// driveOf is the device that has a volume; empty when none has.
func (c *vmConfig) driveOf(volume string) string {
	for name, value := range c.all {
		if first, _, _ := strings.Cut(value, ","); volume != "" && first == volume {
			return name
		}
	}
	return ""
}

// cloudInitDrive is the device of the drive that Proxmox VE itself fills; empty when there is none.
func (c *vmConfig) cloudInitDrive() string {
	for name, value := range c.all {
		if volume, _, _ := strings.Cut(value, ","); strings.HasSuffix(volume, ":cloudinit") || strings.Contains(volume, "-cloudinit") {
			return name
		}
	}
	return ""
}

// equip gives a machine that does not run what it joins with: first the image where it belongs, then into its drive. Who
// forgot that the image is there makes another one, with another token.
func (p *Provider) equip(ctx context.Context, r provider.Request, f *found, spec *v1alpha1.Proxmox) (provider.Machine, error) {
	if spec.Join == nil { // it was taken back meanwhile
		err := p.discard(ctx, f)
		return p.machine(f), err
	}
	p.mu.Lock()
	there := p.uploaded[f.row.vmid()] == owner{f.mark.UID, f.mark.Attempt}
	p.mu.Unlock()
	if there {
		return p.machine(f), p.insert(ctx, f, spec.Join)
	}
	op := fmt.Sprintf("upload what VM %d joins with to storage %s", f.row.vmid(), spec.Join.Storage)
	image, err := p.image(ctx, op, r, f, spec)
	if err != nil {
		return provider.Machine{}, err
	}
	w := &work{owner: owner{f.mark.UID, f.mark.Attempt}, what: "upload", vmid: f.row.vmid(), claim: f.mark.Claim, asked: p.now(), host: f.row.Node}
	if w.id, err = p.client.upload(ctx, op, f.row.Node, spec.Join.Storage, imageName(f.mark.UID, f.mark.Attempt), image); err != nil {
		return provider.Machine{}, err
	}
	f.work = w
	p.begin(w)
	return p.machine(f), nil
}

// image renders what a machine joins with; a token of its own is made for it.
func (p *Provider) image(ctx context.Context, op string, r provider.Request, f *found, spec *v1alpha1.Proxmox) ([]byte, error) {
	templates, err := p.config.Templates(ctx, spec.Join.Templates)
	if err != nil {
		return nil, kubeError(op, err, "let Muster read the Secret of join.templates; see docs/proxmox.md")
	}
	facts, err := p.facts(r, f)
	if err != nil {
		return nil, err
	}
	var token seed.Token
	if t := spec.Join.Token; t != nil {
		secret, err := seed.NewSecret()
		if err != nil {
			return nil, typed(op, err)
		}
		token = seed.Token{ID: f.mark.Token, Secret: secret, Expires: p.now().Add(tokenTTL(t)), Groups: t.Groups, For: f.mark.Claim}
		facts.TokenID, facts.TokenSecret = token.ID, secret.Reveal()
		facts.Token = facts.TokenID + "." + facts.TokenSecret
	}
	files, err := seed.Render(templates, seed.Format(spec.Join.Format), facts)
	if err != nil {
		return nil, &provider.Error{Op: op, Kind: provider.ErrMisconfigured, Err: err, Hint: "see the Secret of join.templates"}
	}
	if token.ID != "" {
		if err := p.config.Tokens.Create(ctx, token); err != nil {
			failed := kubeError(op, err, tokenHint)
			failed.Err = errors.New(dial.Redact(err.Error(), token.Secret))
			return nil, failed
		}
	}
	return seed.Image(files), nil
}

const tokenHint = "let Muster keep bootstrap tokens: deploy/components/join"

// kubeError: what is forbidden or missing is the operator's; nobody knows about the rest.
func kubeError(op string, err error, hint string) *provider.Error {
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return &provider.Error{Op: op, Kind: provider.ErrMisconfigured, Err: err, Hint: hint}
	}
	return &provider.Error{Op: op, Kind: provider.ErrUnknown, Err: err, Hint: hint}
}

func (p *Provider) facts(r provider.Request, f *found) (seed.Facts, error) {
	cores, megabytes, err := sizeOf(r)
	m := p.machine(f)
	return seed.Facts{Provider: p.config.Name, Region: p.spec.Region, Pool: r.Pool, Shape: r.Shape, Claim: r.Claim, Node: m.NodeName,
		Machine: string(m.ID), Host: m.Host, Zone: m.Zone, ProviderID: m.ProviderID, UUID: m.SystemUUID, Attempt: r.Attempt, CPU: cores,
		Memory: megabytes * mebi}, err
}

// insert puts the image into its drive. Another cloud-init drive would have the same label, so it goes.
func (p *Provider) insert(ctx context.Context, f *found, j *v1alpha1.ProxmoxJoin) error {
	drive, other := j.Device, f.config.cloudInitDrive()
	if drive == "" {
		drive = other
	}
	if drive == "" {
		drive = "ide2"
	}
	s := map[string]any{drive: f.mark.Seed + ",media=cdrom"}
	if other != "" && other != drive {
		s["delete"] = other
	}
	return p.write(ctx, "give VM %d on host %s what it joins with", f, s)
}

// write changes a machine's configuration, unless somebody else has changed it since it was read.
func (p *Provider) write(ctx context.Context, op string, f *found, s map[string]any) error {
	if f.config.Digest != "" {
		s["digest"] = f.config.Digest
	}
	defer p.changes.Add(1)
	_, err := p.patient(ctx, func() (upid, error) {
		return upid{}, p.client.put(ctx, fmt.Sprintf(op, f.row.vmid(), f.row.Node), qemu(f.row.Node, f.row.vmid())+"/config", s)
	})
	return err
}
