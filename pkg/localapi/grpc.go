package localapi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	sidecardv1 "github.com/sidecard/sidecard/api/sidecard/v1"
)

// Register adds sidecard.v1.DecisionService to a server whose codec takes the messages of protobuf.
func (s *Service) Register(server grpc.ServiceRegistrar) {
	sidecardv1.RegisterDecisionServiceServer(server, grpcService{s: s})
}

// grpcService turns messages into queries, and faults into statuses.
type grpcService struct {
	sidecardv1.UnimplementedDecisionServiceServer
	s *Service
}

// Decide implements sidecardv1.DecisionServiceServer.
func (g grpcService) Decide(ctx context.Context, m *sidecardv1.Query) (*sidecardv1.Decision, error) {
	return g.one(ctx, m, false)
}

// Acquire implements sidecardv1.DecisionServiceServer.
func (g grpcService) Acquire(ctx context.Context, m *sidecardv1.Query) (*sidecardv1.Decision, error) {
	return g.one(ctx, m, true)
}

func (g grpcService) one(ctx context.Context, m *sidecardv1.Query, begin bool) (*sidecardv1.Decision, error) {
	q, err := queryOf(m, "")
	if err != nil {
		return nil, g.status(err)
	}
	d, err := g.s.one(ctx, &g.s.cfg.Counters.GRPC, &q, begin)
	if err != nil {
		return nil, g.status(err)
	}
	return d, nil
}

// Complete implements sidecardv1.DecisionServiceServer.
func (g grpcService) Complete(_ context.Context, m *sidecardv1.CompleteRequest) (*sidecardv1.CompleteResponse, error) {
	e := end{failed: m.GetError(), aborted: m.GetAborted()}
	if err := e.setToken(m.GetToken()); err != nil {
		return nil, g.status(&fault{"token", -1, err.Error()})
	}
	if m.RtMs != nil {
		if err := e.setRT(m.GetRtMs()); err != nil {
			return nil, g.status(&fault{"rt_ms", -1, err.Error()})
		}
	}
	if !g.s.complete(e) {
		return nil, g.status(errNoCall)
	}
	return &sidecardv1.CompleteResponse{}, nil
}

// Batch implements sidecardv1.DecisionServiceServer.
func (g grpcService) Batch(ctx context.Context, m *sidecardv1.BatchRequest) (*sidecardv1.BatchResponse, error) {
	if n := len(m.GetItems()); n > maxItems {
		return nil, g.status(&fault{"items", -1, fmt.Sprintf("%d items; a batch holds at most %d", n, maxItems)})
	}
	queries := make([]query, len(m.GetItems()))
	for i, item := range m.GetItems() {
		var err error
		if queries[i], err = queryOf(item, fmt.Sprintf("items[%d].", i)); err != nil {
			return nil, g.status(err)
		}
	}
	out, err := g.s.several(ctx, &g.s.cfg.Counters.GRPC, queries, m.GetAtomic())
	if err != nil {
		return nil, g.status(err)
	}
	return out, nil
}

// Watch implements sidecardv1.DecisionServiceServer.
func (g grpcService) Watch(m *sidecardv1.WatchRequest, stream grpc.ServerStreamingServer[sidecardv1.Statistics]) error {
	if err := g.s.watch(stream.Context(), m.GetResource(), stream.Send); err != nil {
		return g.status(err)
	}
	return nil
}

// queryOf reads a message; at is its path, with the dot behind it, if it is one of several.
func queryOf(m *sidecardv1.Query, at string) (query, error) {
	q := newQuery()
	q.setDomain(m.GetDomain())
	q.resource, q.peek, q.tell = m.GetResource(), m.GetPeek(), m.GetTellWait()
	if m.Hits != nil {
		if err := q.setHits(m.GetHits()); err != nil {
			return q, &fault{at + "hits", -1, err.Error()}
		}
	}
	if m.MaxWaitMs != nil {
		if err := q.setMaxWait(m.GetMaxWaitMs()); err != nil {
			return q, &fault{at + "max_wait_ms", -1, err.Error()}
		}
	}
	if n := len(m.GetArgs()); n > maxArgs {
		return q, &fault{at + "args", -1, fmt.Sprintf("%d arguments; a call has at most %d", n, maxArgs)}
	}
	// In an order that is the same each time: where a mapping gives two keys one meaning, the first counts.
	for _, key := range slices.Sorted(maps.Keys(m.GetAttributes())) {
		q.attrs = append(q.attrs, attribute{key, m.GetAttributes()[key], -1})
	}
	for i, arg := range m.GetArgs() {
		q.addArg(i, arg, -1)
	}
	return q, nil
}

// status returns the gRPC error that says what err says, and counts a malformed request.
func (g grpcService) status(err error) error {
	var f *fault
	switch {
	case errors.As(err, &f):
		g.s.cfg.Counters.Invalid.Add(1)
		return status.Error(codes.InvalidArgument, err.Error())
	case errors.Is(err, errNoRules):
		return status.Error(codes.Unavailable, err.Error())
	case errors.Is(err, errWatched):
		return status.Error(codes.ResourceExhausted, err.Error())
	case errors.Is(err, errNoCall):
		return status.Error(codes.FailedPrecondition, err.Error())
	}
	if _, ok := status.FromError(err); ok {
		return err // of a stream
	}
	return status.FromContextError(err).Err()
}
