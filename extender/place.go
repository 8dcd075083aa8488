package extender

import (
	"context"
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
	r, err := readRequest(c.body)
	if err != nil {
		return nil, err
	}
	placed, err := p.core.Place(ctx, capacity.Call{Number: c.number, Pod: r.pod, Nodes: r.names, Now: p.now()})
	if err != nil {
		return nil, err
	}
	if p.log.Enabled(ctx, slog.LevelDebug) {
		p.log.DebugContext(ctx, "filter call answered", "pod", r.pod.Namespace+"/"+r.pod.Name, "uid", r.pod.UID, "call", c.number,
			"node", placed.Node, "offered", len(r.names))
	}
	var passed []int
	if i := slices.Index(r.names, placed.Node); i >= 0 {
		passed = []int{i}
	}
	return appendFiltered(answer, r, passed, func(i int) capacity.Reason { return placed.Refused[r.names[i]] }), nil
}
