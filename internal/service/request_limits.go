package service

import (
	"time"

	"ql/internal/account"
	"ql/internal/wire"
)

// LongestCall returns how long the longest call may take: waiting for its turn,
// running, and being recorded.
func (s *Service) LongestCall() time.Duration {
	const before = 10 * time.Second
	var longest time.Duration
	for _, p := range s.o.Plans {
		longest = max(longest, s.o.Limits(p).SyncTime)
	}
	return before + longest + recordTime
}

// LargestRequest returns the limits under which a request is read before it is
// known whose it is: of each, that of the plan which has most. Settings may make
// any plan that one.
func (s *Service) LargestRequest() wire.Limits { return s.largest }

func largestRequest(plans []account.Plan, limits func(account.Plan) account.Limits) (most wire.Limits) {
	for _, p := range plans {
		l := wireLimits(limits(p))
		most = wire.Limits{
			Body: max(most.Body, l.Body), Script: max(most.Script, l.Script),
			Depth: max(most.Depth, l.Depth), Nodes: max(most.Nodes, l.Nodes), Keys: max(most.Keys, l.Keys),
			Fields: max(most.Fields, l.Fields), FieldKeys: max(most.FieldKeys, l.FieldKeys),
		}
	}
	return most
}

func wireLimits(l account.Limits) wire.Limits {
	return wire.Limits{
		Body: l.BodyBytes, Script: l.ScriptBytes,
		Depth: l.JSONDepth, Nodes: l.JSONNodes, Keys: l.JSONKeys,
		Fields: l.FieldBytes, FieldKeys: l.FieldKeys,
	}
}
