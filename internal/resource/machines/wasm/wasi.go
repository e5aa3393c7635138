package wasm

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"math"
	"time"

	"ql/internal/engine"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"
)

// wasiFunc does what a function of WASI does, with the arguments that it has.
type wasiFunc func(ctx context.Context, p *process, a []uint64) errno

// wasiCall is a function of WASI preview 1.
type wasiCall struct {
	params string // i for 32 bits, I for 64
	do     wasiFunc
}

// wasiCalls are all functions of WASI preview 1. They are written here, and not wazero's, since
// all that a module can have the host hold is to be bounded: open files, long names, long lists.
var wasiCalls = map[string]wasiCall{
	"args_get":                {"ii", argsGet},
	"args_sizes_get":          {"ii", argsSizes},
	"environ_get":             {"ii", environGet},
	"environ_sizes_get":       {"ii", environSizes},
	"clock_res_get":           {"ii", clockResolution},
	"clock_time_get":          {"iIi", clockTime},
	"fd_advise":               {"iIIi", withFile(nothing)},
	"fd_allocate":             {"iII", refused(eNOTSUP)},
	"fd_close":                {"i", withFile(fdClose)},
	"fd_datasync":             {"i", withFile(fdSync)},
	"fd_fdstat_get":           {"ii", withFile(fdStat)},
	"fd_fdstat_set_flags":     {"ii", withFile(fdSetFlags)},
	"fd_fdstat_set_rights":    {"iII", refused(eNOSYS)},
	"fd_filestat_get":         {"ii", withFile(fdFileStat)},
	"fd_filestat_set_size":    {"iI", withFile(fdSetSize)},
	"fd_filestat_set_times":   {"iIIi", withFile(nothing)},
	"fd_pread":                {"iiiIi", atPlace(func(d *descriptor) bool { return d.read }, (*volume).readAt)},
	"fd_prestat_get":          {"ii", withFile(prestat)},
	"fd_prestat_dir_name":     {"iii", withFile(prestatName)},
	"fd_pwrite":               {"iiiIi", atPlace(func(d *descriptor) bool { return d.write }, (*volume).writeAt)},
	"fd_read":                 {"iiii", withFile(fdRead)},
	"fd_readdir":              {"iiiIi", withFile(fdReaddir)},
	"fd_renumber":             {"ii", withFile(fdRenumber)},
	"fd_seek":                 {"iIii", withFile(fdSeek)},
	"fd_sync":                 {"i", withFile(fdSync)},
	"fd_tell":                 {"ii", withFile(fdTell)},
	"fd_write":                {"iiii", withFile(fdWrite)},
	"path_create_directory":   {"iii", withPath((*volume).makeFolder)},
	"path_filestat_get":       {"iiiii", pathFileStat},
	"path_filestat_set_times": {"iiiiIIi", refused(success)},
	"path_link":               {"iiiiiii", refused(ePERM)},
	"path_open":               {"iiiiiIIii", pathOpen},
	"path_readlink":           {"iiiiii", refused(eINVAL)},
	"path_remove_directory":   {"iii", withPath((*volume).removeFolder)},
	"path_rename":             {"iiiiii", pathRename},
	"path_symlink":            {"iiiii", refused(ePERM)},
	"path_unlink_file":        {"iii", withPath((*volume).unlink)},
	"poll_oneoff":             {"iiii", poll},
	"proc_exit":               {"i", procExit},
	"proc_raise":              {"i", refused(eNOSYS)},
	"random_get":              {"ii", randomGet},
	"sched_yield":             {"", func(ctx context.Context, p *process, _ []uint64) errno { p.turn(ctx); return success }},
	"sock_accept":             {"iii", refused(eNOTSOCK)},
	"sock_recv":               {"iiiiii", refused(eNOTSOCK)},
	"sock_send":               {"iiiii", refused(eNOTSOCK)},
	"sock_shutdown":           {"ii", refused(eNOTSOCK)},
}

// refused is a call that does nothing.
func refused(e errno) wasiFunc {
	return func(context.Context, *process, []uint64) errno { return e }
}

// withFile is a call on an open file.
func withFile(do func(context.Context, *process, *descriptor, []uint64) errno) wasiFunc {
	return func(ctx context.Context, p *process, a []uint64) errno {
		d, e := p.descriptor(a[0])
		if e != success {
			return e
		}
		return do(ctx, p, d, a)
	}
}

// nothing is done to an open file.
func nothing(context.Context, *process, *descriptor, []uint64) errno { return success }

// instantiateHost makes what modules import.
func instantiateHost(ctx context.Context, r wazero.Runtime) error {
	wasi := r.NewHostModuleBuilder(wasiModule)
	for name, call := range wasiCalls {
		params := make([]api.ValueType, len(call.params))
		for i, c := range call.params {
			params[i] = api.ValueTypeI32
			if c == 'I' {
				params[i] = api.ValueTypeI64
			}
		}
		do := func(ctx context.Context, m api.Module, stack []uint64) {
			for i, kind := range params {
				if kind == api.ValueTypeI32 {
					stack[i] = uint64(api.DecodeU32(stack[i])) // what is above is garbage
				}
			}
			p := processOf(ctx)
			p.memory = m.Memory()
			e := call.do(ctx, p, stack)
			p.memory = nil
			stack[0] = uint64(e)
			p.turnIfDue(ctx)
		}
		results := []api.ValueType{api.ValueTypeI32}
		if name == "proc_exit" {
			results = nil
		}
		wasi.NewFunctionBuilder().WithGoModuleFunction(guarded(do), params, results).Export(name)
	}
	if _, err := wasi.Instantiate(ctx); err != nil {
		return err
	}
	i64 := []api.ValueType{api.ValueTypeI64}
	host := r.NewHostModuleBuilder(hostModule)
	host.NewFunctionBuilder().WithGoModuleFunction(guarded(func(ctx context.Context, _ api.Module, stack []uint64) {
		if int64(stack[0]) < 0 {
			processOf(ctx).turn(ctx)
			stack[0] = fuelPerTurn
		}
	}), i64, i64).Export(hookNames[hookTurn])
	host.NewFunctionBuilder().WithGoModuleFunction(guarded(func(ctx context.Context, _ api.Module, stack []uint64) {
		if shortage := int64(stack[0]); shortage < 0 {
			stack[0] = uint64(processOf(ctx).deeper(shortage))
		}
	}), i64, i64).Export(hookNames[hookDeeper])
	_, err := host.Instantiate(ctx)
	return err
}

// guarded turns a stop into the end of the module, with its cause in the process.
func guarded(do func(context.Context, api.Module, []uint64)) api.GoModuleFunc {
	return func(ctx context.Context, m api.Module, stack []uint64) {
		defer func() {
			switch r := recover().(type) {
			case nil:
			case stop:
				processOf(ctx).end(r.cause)
			default:
				panic(r)
			}
		}()
		do(ctx, m, stack)
	}
}

// stoppedCode is the exit code of a module that was stopped; the cause is in the process.
const stoppedCode = math.MaxUint32

// The layout of memory: all numbers are little endian.

func (p *process) bytes(at, n uint64) ([]byte, bool) {
	if p.memory == nil || at > math.MaxUint32 || n > math.MaxUint32 {
		return nil, false
	}
	return p.memory.Read(uint32(at), uint32(n))
}

func (p *process) put32(at uint64, n uint32) errno {
	b, ok := p.bytes(at&math.MaxUint32, 4)
	if !ok {
		return eFAULT
	}
	binary.LittleEndian.PutUint32(b, n)
	return success
}

func (p *process) put64(at, n uint64) errno {
	b, ok := p.bytes(at&math.MaxUint32, 8)
	if !ok {
		return eFAULT
	}
	binary.LittleEndian.PutUint64(b, n)
	return success
}

// putTexts writes texts that end with a zero, and their places.
func (p *process) putTexts(texts []string, places, at uint64) errno {
	for _, text := range texts {
		if e := p.put32(places, uint32(at)); e != success {
			return e
		}
		b, ok := p.bytes(at, uint64(len(text))+1)
		if !ok {
			return eFAULT
		}
		copy(b, text)
		b[len(text)] = 0
		places += 4
		at += uint64(len(text)) + 1
	}
	return success
}

func (p *process) putSizes(texts []string, count, bytes uint64) errno {
	size := 0
	for _, text := range texts {
		size += len(text) + 1
	}
	return firstOf(p.put32(count, uint32(len(texts))), p.put32(bytes, uint32(size)))
}

func argsGet(_ context.Context, p *process, a []uint64) errno { return p.putTexts(p.args, a[0], a[1]) }
func argsSizes(_ context.Context, p *process, a []uint64) errno {
	return p.putSizes(p.args, a[0], a[1])
}
func environGet(_ context.Context, p *process, a []uint64) errno {
	return p.putTexts(p.env, a[0], a[1])
}
func environSizes(_ context.Context, p *process, a []uint64) errno {
	return p.putSizes(p.env, a[0], a[1])
}

// clockStep is how fine a module sees time: no finer than needed.
const clockStep = time.Millisecond

func clockResolution(_ context.Context, p *process, a []uint64) errno {
	if uint32(a[0]) > 3 {
		return eINVAL
	}
	return p.put64(a[1], uint64(clockStep))
}

// The clocks.
const (
	clockReal = iota
	clockMonotonic
)

// now returns what a clock shows. Those of the processor's time show how long the module runs.
func (p *process) now(clock uint32) uint64 {
	if clock == clockReal {
		return uint64(time.Now().Truncate(clockStep).UnixNano())
	}
	return uint64(time.Since(p.began).Truncate(clockStep) + clockStep)
}

func clockTime(_ context.Context, p *process, a []uint64) errno {
	if uint32(a[0]) > 3 {
		return eINVAL
	}
	return p.put64(a[2], p.now(uint32(a[0])))
}

func procExit(_ context.Context, p *process, a []uint64) errno {
	p.exited = true
	p.code = uint32(a[0])
	panic(sys.NewExitError(p.code))
}

func randomGet(ctx context.Context, p *process, a []uint64) errno {
	b, ok := p.bytes(a[0], a[1])
	if !ok {
		return eFAULT
	}
	for len(b) > 0 {
		n := min(len(b), 64<<10)
		if _, err := rand.Read(b[:n]); err != nil {
			return eIO
		}
		b = b[n:]
		p.turn(ctx)
	}
	return success
}

// The sizes and places of what poll takes and gives.
const (
	subscriptionSize = 48
	eventSize        = 32
	maxSubscriptions = 1024
)

// poll waits for a clock, or for files, which are always ready.
func poll(ctx context.Context, p *process, a []uint64) errno {
	n := a[2] & math.MaxUint32
	if n == 0 || n > maxSubscriptions {
		return eINVAL
	}
	in, ok := p.bytes(a[0], n*subscriptionSize)
	out, fits := p.bytes(a[1], n*eventSize)
	if !ok || !fits {
		return eFAULT
	}
	count := 0
	event := func(userdata uint64, e errno, kind byte) {
		b := out[count*eventSize:][:eventSize]
		clear(b)
		binary.LittleEndian.PutUint64(b, userdata)
		binary.LittleEndian.PutUint16(b[8:], uint16(e))
		b[10] = kind
		count++
	}
	// Each subscription is read before its event may be written over it.
	type clock struct {
		userdata uint64
		wait     time.Duration
	}
	var first *clock
	subscriptions := append([]byte(nil), in...)
	for ; len(subscriptions) > 0; subscriptions = subscriptions[subscriptionSize:] {
		s := subscriptions[:subscriptionSize]
		userdata := binary.LittleEndian.Uint64(s)
		switch kind := s[8]; kind {
		case 0:
			id := binary.LittleEndian.Uint32(s[16:])
			timeout := binary.LittleEndian.Uint64(s[24:])
			if id > clockMonotonic {
				event(userdata, eINVAL, kind)
				continue
			}
			if binary.LittleEndian.Uint16(s[40:])&1 != 0 { // a moment, not a while
				if now := p.now(id); timeout > now {
					timeout -= now
				} else {
					timeout = 0
				}
			}
			wait := time.Duration(min(timeout, math.MaxInt64))
			if first == nil || wait < first.wait {
				first = &clock{userdata, wait}
			}
		case 1, 2:
			_, e := p.descriptor(uint64(binary.LittleEndian.Uint32(s[16:])))
			event(userdata, e, kind)
		default:
			return eINVAL
		}
	}
	if count == 0 {
		p.sleep(ctx, first.wait)
		event(first.userdata, success, 0)
	}
	return p.put32(a[3], uint32(count))
}

// sleep waits, and holds no slot meanwhile.
func (p *process) sleep(ctx context.Context, d time.Duration) {
	if d > 0 {
		engine.Yield(ctx)
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	p.turn(ctx)
}
