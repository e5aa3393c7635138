package langtest

import (
	"ql/lang/value"
	"ql/lang/vm"
)

// Limits returns those that cases run under unless they say otherwise, and that
// other tests of the language may use.
func Limits() vm.Limits {
	return vm.Limits{
		Bounds: value.Bounds{Text: 8 << 20, Elements: 1_000_000, Nesting: 200, Pattern: 1 << 10, PatternCost: 1e8},
		Fuel:   500e6, Memory: 64 << 20, CallDepth: 2_000, Output: 8 << 20, TraceFirst: 500, TraceLast: 500,
	}
}

// SmallLimits returns limits that little fits into.
func SmallLimits() vm.Limits {
	return vm.Limits{
		Bounds: value.Bounds{Text: 1 << 20, Elements: 100_000, Nesting: 64, Pattern: 256, PatternCost: 1e7},
		Fuel:   100e6, Memory: 16 << 20, CallDepth: 200, Output: 256 << 10, TraceFirst: 100, TraceLast: 100,
	}
}

// LargeLimits returns limits that much fits into.
func LargeLimits() vm.Limits {
	return vm.Limits{
		Bounds: value.Bounds{Text: 64 << 20, Elements: 10_000_000, Nesting: 1_000, Pattern: 4 << 10, PatternCost: 1e9},
		Fuel:   6_000e6, Memory: 512 << 20, CallDepth: 20_000, Output: 256 << 20, TraceFirst: 500, TraceLast: 500,
	}
}
