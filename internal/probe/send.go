package probe

import (
	"context"

	commonpb "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"

	"github.com/sidecard/sidecard/internal/explain"
)

// Sender returns a Config.Send that asks over conn as Envoy does, for a request of one descriptor. Hits are from 1 to
// 2^32-1.
func Sender(conn *grpc.ClientConn, q explain.Question) func(context.Context) (bool, error) {
	d := new(commonpb.RateLimitDescriptor)
	for _, a := range q.Attributes {
		d.Entries = append(d.Entries, &commonpb.RateLimitDescriptor_Entry{Key: a.Key, Value: a.Value})
	}
	request := &rlspb.RateLimitRequest{Domain: q.Domain, Descriptors: []*commonpb.RateLimitDescriptor{d}, HitsAddend: uint32(q.Hits)}
	service := rlspb.NewRateLimitServiceClient(conn)
	return func(ctx context.Context) (bool, error) {
		answer, err := service.ShouldRateLimit(ctx, request)
		return answer.GetOverallCode() == rlspb.RateLimitResponse_OK, err
	}
}
