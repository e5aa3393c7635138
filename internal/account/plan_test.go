package account

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ql/lang/value"
	"ql/lang/vm"
)

// TestMachineLimits checks what the plans come to for the machine.
func TestMachineLimits(t *testing.T) {
	for plan, want := range map[Plan]vm.Limits{
		Free: {
			Bounds: value.Bounds{Text: 1 << 20, Elements: 100_000, Nesting: 64, Pattern: 256, PatternCost: 1e7},
			Fuel:   100e6, Memory: 16 << 20, CallDepth: 200, Output: 256 << 10, TraceFirst: 100, TraceLast: 100,
		},
		Standard: {
			Bounds: value.Bounds{Text: 8 << 20, Elements: 1_000_000, Nesting: 200, Pattern: 1 << 10, PatternCost: 1e8},
			Fuel:   500e6, Memory: 64 << 20, CallDepth: 2_000, Output: 8 << 20, TraceFirst: 500, TraceLast: 500,
		},
		Unlimited: {
			Bounds: value.Bounds{Text: 64 << 20, Elements: 10_000_000, Nesting: 1_000, Pattern: 4 << 10, PatternCost: 1e9},
			Fuel:   6_000e6, Memory: 512 << 20, CallDepth: 20_000, Output: 256 << 20, TraceFirst: 5_000, TraceLast: 5_000,
		},
	} {
		if diff := cmp.Diff(want, plan.Limits().SyncMachine()); diff != "" {
			t.Errorf("%s: %s", plan, diff)
		}
	}
	got := Standard.Limits().AsyncMachine()
	if got.Fuel != 30_000_000_000 || got.Output != 32<<20 {
		t.Errorf("async: got fuel %d and output %d, want 300 s of fuel and 32 MiB", got.Fuel, got.Output)
	}
}

// TestPlansGrow checks that no plan allows less than the one below it, where
// zero is no limit, and that nothing is forgotten.
func TestPlansGrow(t *testing.T) {
	limitless := map[string]bool{"Rate": true, "RateBurst": true, "OriginRate": true, "SiteRate": true, "SiteBodyBytes": true, "StorageBytes": true, "FileBytes": true, "Files": true,
		"RecordsBytes": true, "Listeners": true, "Suspended": true, "SuspendedBytes": true}
	monthly := map[string]bool{"CallsPerMonth": true, "RunningPerMonth": true, "EgressPerMonth": true, "MachinePerMonth": true} // for free alone
	nothingFree := map[string]bool{"Fetches": true, "FetchesAtOnce": true, "FetchTime": true, "FetchBytes": true, "FetchRatio": true}
	free, standard, unlimited := reflect.ValueOf(Free.Limits()), reflect.ValueOf(Standard.Limits()), reflect.ValueOf(Unlimited.Limits())
	for i := range free.NumField() {
		name := free.Type().Field(i).Name
		if free.Field(i).Kind() == reflect.Bool {
			continue
		}
		f, s, u := free.Field(i).Int(), standard.Field(i).Int(), unlimited.Field(i).Int()
		switch {
		case monthly[name]:
			if f <= 0 || s != 0 || u != 0 {
				t.Errorf("%s is %d, %d, %d", name, f, s, u)
			}
		case limitless[name] && u != 0:
			t.Errorf("%s of unlimited is %d, want none", name, u)
		case !limitless[name] && u < s, s < f:
			t.Errorf("%s shrinks: %d, %d, %d", name, f, s, u)
		case s <= 0 || f <= 0 && !nothingFree[name] || f != 0 && nothingFree[name]:
			t.Errorf("%s is %d, %d, %d", name, f, s, u)
		}
	}
}

func TestPlanNumbers(t *testing.T) {
	f, s, u := Free.Limits(), Standard.Limits(), Unlimited.Limits()
	type row struct{ f, s, u any }
	for name, test := range map[string]struct{ got, want row }{
		"script":          {row{f.ScriptBytes, s.ScriptBytes, u.ScriptBytes}, row{64 << 10, 256 << 10, 1 << 20}},
		"body":            {row{f.BodyBytes, s.BodyBytes, u.BodyBytes}, row{256 << 10, 1 << 20, 16 << 20}},
		"sync":            {row{f.SyncTime, s.SyncTime, u.SyncTime}, row{5 * time.Second, 30 * time.Second, 2 * time.Minute}},
		"async":           {row{f.AsyncTime, s.AsyncTime, u.AsyncTime}, row{time.Minute, 15 * time.Minute, 24 * time.Hour}},
		"pause":           {row{f.Pause, s.Pause, u.Pause}, row{time.Hour, 168 * time.Hour, 2160 * time.Hour}},
		"concurrent":      {row{f.Concurrent, s.Concurrent, u.Concurrent}, row{2, 10, 200}},
		"queued":          {row{f.Queued, s.Queued, u.Queued}, row{20, 1_000, 100_000}},
		"suspended":       {row{f.Suspended, s.Suspended, u.Suspended}, row{100, 10_000, 0}},
		"suspended bytes": {row{f.SuspendedBytes, s.SuspendedBytes, u.SuspendedBytes}, row{int64(32 << 20), int64(1 << 30), int64(0)}},
		"sessions":        {row{f.Sessions, s.Sessions, u.Sessions}, row{1_000, 10_000, 100_000}},
		"session":         {row{f.SessionBytes, s.SessionBytes, u.SessionBytes}, row{4 << 10, 64 << 10, 1 << 20}},
		"fields":          {row{f.FieldBytes, s.FieldBytes, u.FieldBytes}, row{16 << 10, 64 << 10, 1 << 20}},
		"json":            {row{f.JSONDepth, s.JSONDepth, u.JSONDepth}, row{16, 32, 64}},
		"snapshot":        {row{f.SnapshotBytes, s.SnapshotBytes, u.SnapshotBytes}, row{2 << 20, 16 << 20, 128 << 20}},
		"rate":            {row{f.Rate, s.Rate, u.Rate}, row{60, 600, 0}},
		"storage":         {row{f.StorageBytes, s.StorageBytes, u.StorageBytes}, row{int64(100 << 20), int64(10 << 30), int64(0)}},
		"file":            {row{f.FileBytes, s.FileBytes, u.FileBytes}, row{int64(10 << 20), int64(2 << 30), int64(0)}},
		"databases":       {row{f.Databases, s.Databases, u.Databases}, row{10, 1_000, 10_000}},
		"records":         {row{f.RecordsBytes, s.RecordsBytes, u.RecordsBytes}, row{int64(100 << 20), int64(10 << 30), int64(0)}},
		"kept":            {row{f.JobRetention, s.JobRetention, u.JobRetention}, row{168 * time.Hour, 720 * time.Hour, 2160 * time.Hour}},
	} {
		if test.got != test.want {
			t.Errorf("%s: got %v, want %v", name, test.got, test.want)
		}
	}
}

// TestZeroLimits: a plan has 0 only where the limit says what that means.
func TestZeroLimits(t *testing.T) {
	for _, p := range plans {
		v := reflect.ValueOf(p.Limits())
		for i := range v.NumField() {
			field := v.Type().Field(i)
			meaning, takesZero := field.Tag.Lookup("zero")
			if takesZero != (meaning != "") {
				t.Errorf("%s does not say what 0 means", field.Name)
			}
			if field.Type.Kind() != reflect.Bool && v.Field(i).IsZero() && !takesZero {
				t.Errorf("%s of %s is 0, which means nothing", field.Name, p)
			}
		}
	}
}

func TestParsePlan(t *testing.T) {
	for _, p := range plans {
		if got, err := ParsePlan(string(p), Plans()); err != nil || got != p {
			t.Errorf("%s: got %s, %v", p, got, err)
		}
	}
	_, err := ParsePlan("gold", Plans())
	if want := `there is no plan "gold": plans are free, standard and unlimited`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if Plan("gold").Limits() != Free.Limits() {
		t.Error("an unknown plan has more than free")
	}
}
