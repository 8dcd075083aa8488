package extender

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/muster-sh/muster/capacity"
)

// placer answers for place mode.
type placer struct {
	core Core
	now  func() time.Time
	log  *slog.Logger
}

// filter offers the one node on which the pod's room is now held, or a reason for each.
func (p placer) filter(ctx context.Context, c call, answer []byte) ([]byte, error) {
	pod, r, err := readRequest(c.body, p.compile)
	if err != nil {
		return nil, err
	}
	c.seen.sees(pod.UID, len(r.names))
	placed, err := p.core.Place(ctx, capacity.Call{Number: c.number, Pod: pod, Nodes: r.names, Now: p.now()})
	var odd *capacity.OfferError
	if errors.As(err, &odd) {
		return nil, bad(r.field(), "%v", odd)
	}
	if err != nil {
		return nil, err
	}
	if p.log.Enabled(ctx, slog.LevelDebug) {
		p.log.DebugContext(ctx, "filter call answered", "pod", pod.Key(), "uid", pod.UID, "call", c.number,
			"node", placed.Node, "offered", len(r.names))
	}
	var passed []int
	if i := slices.Index(r.names, placed.Node); i >= 0 {
		passed = []int{i}
	}
	c.seen.answers(placed.Node, len(passed), placed.Refused)
	return appendFiltered(answer, r, passed, placed.Refused), nil
}

// compile reads a pod, unless the core knows this very version of it from its watch: decoding one takes longer than
// placing it.
func (p placer) compile(raw []byte) (*capacity.Pod, error) {
	if uid, version := identity(raw); version != "" {
		if known := p.core.Known(uid, version); known != nil {
			return known, nil
		}
	}
	pod, err := readPod(raw)
	if err != nil {
		return nil, err
	}
	return p.core.Compile(pod), nil
}
