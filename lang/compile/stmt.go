package compile

import (
	"ql/lang/bytecode"
	"ql/lang/source"
	"ql/lang/syntax"
)

func (g *fn) stmts(list []syntax.Stmt) {
	for _, s := range list {
		mark := g.next
		g.stmt(s)
		g.free(mark)
	}
}

func (g *fn) block(b *syntax.Block) {
	if b != nil {
		g.stmts(b.Stmts)
	}
}

// terminates reports whether a block never falls through its end.
func terminates(b *syntax.Block) bool {
	if b == nil || len(b.Stmts) == 0 {
		return false
	}
	switch b.Stmts[len(b.Stmts)-1].(type) {
	case *syntax.Return, *syntax.Break, *syntax.Continue, *syntax.Stop, *syntax.Fail:
		return true
	}
	return false
}

func (g *fn) stmt(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.Emit:
		g.begin(s, "EMIT", bytecode.ClassCPU)
		g.emitStmt(s)
	case *syntax.Set:
		g.begin(s, "SET", bytecode.ClassCPU)
		g.set(s.Target, s.Value)
	case *syntax.SetKey:
		g.setKey(s)
	case *syntax.Unset:
		g.begin(s, "UNSET", bytecode.ClassCPU)
		g.unset(s.Target, nil)
	case *syntax.UnsetKey:
		g.unsetKey(s)
	case *syntax.Append:
		g.begin(s, "APPEND", bytecode.ClassCPU)
		g.appendStmt(s)
	case *syntax.If:
		g.ifStmt(s)
	case *syntax.ForIn:
		g.forIn(s)
	case *syntax.ForRange:
		g.forRange(s)
	case *syntax.ForFile:
		g.forFile(s)
	case *syntax.While:
		g.while(s)
	case *syntax.Break:
		g.begin(s, "BREAK", bytecode.ClassCPU)
		g.breakLoop()
	case *syntax.Continue:
		g.begin(s, "CONTINUE", bytecode.ClassCPU)
		g.continueLoop()
	case *syntax.Stop:
		g.begin(s, "STOP", bytecode.ClassCPU)
		g.commitTo(0)
		// The steps stay pending at it: the commit that it may ask for can fail.
		g.emit(bytecode.OpStop, 0, 0, 0, 0)
		g.pending = 0
	case *syntax.Return:
		g.begin(s, "RETURN", bytecode.ClassCPU)
		g.returnStmt(s)
	case *syntax.CallStmt:
		g.begin(s, "CALL", bytecode.ClassCPU)
		if i, ok := g.c.res.Lookup(g.f.File, s.Call.Prefix, s.Call.Name); ok {
			g.callDefined(s.Call, i, g.temp())
		}
	case *syntax.Try:
		g.try(s)
	case *syntax.Fail:
		g.begin(s, "FAIL", bytecode.ClassCPU)
		v := g.operand(s.Value)
		code := uint8(0)
		if s.Code != nil {
			code = g.operand(s.Code)
		}
		g.pos = s.Pos()
		g.emit(bytecode.OpFail, v, code, bytecode.Flag(s.Code != nil), 0)
	case *syntax.Check:
		g.check(s)
	case *syntax.Transaction:
		g.transaction(s)
	default:
		g.effectStmt(s)
	}
}

func (g *fn) emitStmt(s *syntax.Emit) {
	args := s.Args
	if s.JSON {
		mark := g.next
		r := g.operand(args[0])
		g.pos = s.Pos()
		g.emit(bytecode.OpEmitJSON, r, 0, 0, 0)
		g.free(mark)
		return
	}
	for len(args) > maxArgs {
		g.emitArgs(args[:maxArgs], false)
		args = args[maxArgs:]
	}
	g.emitArgs(args, s.Line)
}

func (g *fn) emitArgs(args []syntax.Expr, line bool) {
	mark := g.next
	if len(args) == 1 {
		r := g.operand(args[0])
		g.emit(bytecode.OpEmit, r, 1, bytecode.Flag(line), 0)
		g.free(mark)
		return
	}
	base := g.temp()
	g.args(base, args)
	g.emit(bytecode.OpEmit, base, uint8(len(args)), bytecode.Flag(line), 0)
	g.free(mark)
}

// set compiles SET target AS value.
func (g *fn) set(t *syntax.Target, v syntax.Expr) {
	name := t.Var.Name
	r, inReg := g.variable(name)
	if len(t.Path) == 0 {
		if inReg {
			g.into(v, r)
			return
		}
		x, own := g.held(v)
		g.setSpilled(name, x, own)
		return
	}
	x, own := g.held(v)
	g.path(t, nil, func(root, keys uint8, n int) {
		if n == 1 {
			if key, ok := g.pathName(t, nil); ok {
				g.emit(bytecode.OpSetK, root, x, bytecode.Flag(!own), g.c.text(key))
				return
			}
			g.emit(bytecode.OpSet, root, keys, x, int32(bytecode.Flag(!own)))
			return
		}
		g.emit(bytecode.OpSetPath, root, keys, uint8(n), valueOperand(x, own))
	})
}

// valueOperand packs a value's register and whether it must be shared.
func valueOperand(x uint8, own bool) int32 {
	n := int32(x)
	if !own {
		n |= 1 << 8
	}
	return n
}

// setSpilled stores a register in a spilled variable.
func (g *fn) setSpilled(name string, x uint8, own bool) {
	k := g.temp()
	g.emit(bytecode.OpLoadI, k, 0, 0, int32(g.f.Slot(name)-registerVars))
	g.emit(bytecode.OpSet, spillList, k, x, int32(bytecode.Flag(!own)))
	g.free(int(k))
}

// store puts a temporary register's value into a variable.
func (g *fn) store(v *syntax.Var, x uint8) {
	if v == nil {
		return
	}
	if r, ok := g.variable(v.Name); ok {
		g.emit(bytecode.OpMove, r, x, 0, 0)
		return
	}
	g.setSpilled(v.Name, x, true)
}

// pathName returns the only key of a path where it is a name.
func (g *fn) pathName(t *syntax.Target, key *syntax.Text) (string, bool) {
	if key != nil {
		return textOf(key), plainText(key)
	}
	a := t.Path[0]
	return a.Name, a.Index == nil
}

// path evaluates the keys of a target, and of an OF after it, and calls use
// with the register of the root, that of the first key, and how many keys
// there are. For a spilled variable the root is the list of spilled variables, and its
// place there is the first key. The first key is not evaluated where it is the
// only one and a plain name.
func (g *fn) path(t *syntax.Target, key *syntax.Text, use func(root, keys uint8, n int)) {
	mark := g.next
	root, inReg := g.variable(t.Var.Name)
	n := len(t.Path)
	if key != nil {
		n++
	}
	first := uint8(0)
	nextKey := func() uint8 {
		r := g.temp()
		if first == 0 {
			first = r
		}
		return r
	}
	if !inReg {
		root = spillList
		n++
		g.emit(bytecode.OpLoadI, nextKey(), 0, 0, int32(g.f.Slot(t.Var.Name)-registerVars))
	}
	plain := false
	if n == 1 && inReg {
		_, plain = g.pathName(t, key)
	}
	if !plain {
		for _, a := range t.Path {
			r := nextKey()
			if a.Index == nil {
				g.emit(bytecode.OpLoadK, r, 0, 0, g.c.text(a.Name))
			} else {
				g.borrow(a.Index, r)
			}
		}
		if key != nil {
			g.into(key, nextKey())
		}
	}
	g.pos = t.Pos()
	use(root, first, n)
	g.free(mark)
}

func (g *fn) setKey(s *syntax.SetKey) {
	switch p := s.Place.(type) {
	case *syntax.Target:
		g.begin(s, "SET", bytecode.ClassCPU)
		x, own := g.held(s.Value)
		g.path(p, s.Key, func(root, keys uint8, n int) {
			if n == 1 {
				if key, ok := g.pathName(p, s.Key); ok {
					g.emit(bytecode.OpSetK, root, x, bytecode.Flag(!own), g.c.text(key))
					return
				}
				g.emit(bytecode.OpCheckKey, keys, 0, 0, 0)
			}
			g.emit(bytecode.OpSetPath, root, keys, uint8(n), valueOperand(x, own))
		})
	case *syntax.Global:
		if p.Name == "SESSION" {
			g.begin(s, "SET", bytecode.ClassIO)
			base := g.temp()
			g.args(base, []syntax.Expr{s.Key, s.Value})
			g.pos = s.Pos()
			g.effect(bytecode.EffectSessionSet, base, 2)
			return
		}
		g.begin(s, "SET", bytecode.ClassCPU)
		k := g.operand(s.Key)
		v := g.temp()
		g.into(s.Value, v)
		g.pos = s.Pos()
		g.emit(bytecode.OpGlobalSet, 0, k, v, machineGlobals[p.Name])
	}
}

func (g *fn) unsetKey(s *syntax.UnsetKey) {
	switch p := s.Place.(type) {
	case *syntax.Target:
		g.begin(s, "UNSET", bytecode.ClassCPU)
		g.unset(p, s.Key)
	case *syntax.Global:
		if p.Name == "SESSION" {
			g.begin(s, "UNSET", bytecode.ClassIO)
			base := g.temp()
			g.args(base, []syntax.Expr{s.Key})
			g.pos = s.Pos()
			g.effect(bytecode.EffectSessionUnset, base, 1)
			return
		}
		g.begin(s, "UNSET", bytecode.ClassCPU)
		k := g.operand(s.Key)
		g.pos = s.Pos()
		g.emit(bytecode.OpGlobalDel, 0, k, 0, machineGlobals[p.Name])
	}
}

func (g *fn) unset(t *syntax.Target, key *syntax.Text) {
	if len(t.Path) == 0 && key == nil {
		if r, ok := g.variable(t.Var.Name); ok {
			g.emit(bytecode.OpLoadNull, r, 0, 0, 0)
			return
		}
		x := g.temp()
		g.emit(bytecode.OpLoadNull, x, 0, 0, 0)
		g.setSpilled(t.Var.Name, x, true)
		return
	}
	g.path(t, key, func(root, keys uint8, n int) {
		if keys == 0 { // a single plain name was left out
			name, _ := g.pathName(t, key)
			keys = g.temp()
			g.emit(bytecode.OpLoadK, keys, 0, 0, g.c.text(name))
		}
		g.emit(bytecode.OpDelPath, root, keys, uint8(n), 0)
	})
}

func (g *fn) appendStmt(s *syntax.Append) {
	x, own := g.held(s.Value)
	if r, ok := g.variable(s.Target.Var.Name); ok && len(s.Target.Path) == 0 {
		g.pos = s.Pos()
		g.emit(bytecode.OpAppend, r, x, bytecode.Flag(!own), 0)
		return
	}
	g.path(s.Target, nil, func(root, keys uint8, n int) {
		if keys == 0 {
			name, _ := g.pathName(s.Target, nil)
			keys = g.temp()
			g.emit(bytecode.OpLoadK, keys, 0, 0, g.c.text(name))
		}
		g.pos = s.Pos()
		g.emit(bytecode.OpAppPath, root, keys, uint8(n), valueOperand(x, own))
	})
}

func (g *fn) returnStmt(s *syntax.Return) {
	var r uint8
	if f := g.finallyAround(false); f != nil {
		// FINALLY may change the variable: what is returned is a value of its own.
		if s.Value == nil {
			g.emit(bytecode.OpLoadNull, f.value, 0, 0, 0)
		} else {
			g.into(s.Value, f.value)
		}
		g.pos = s.Pos()
		g.leaveBy(f, endReturn)
		return
	}
	if s.Value == nil {
		r = g.temp()
		g.emit(bytecode.OpLoadNull, r, 0, 0, 0)
	} else if v, ok := unparen(s.Value).(*syntax.Var); ok {
		// The frame ends here: the variable's own value is handed over.
		if reg, inReg := g.variable(v.Name); inReg {
			r = reg
		} else {
			r = g.operand(s.Value)
		}
	} else {
		r = g.temp()
		g.into(s.Value, r)
	}
	g.returnFrom(r, s.Pos())
}

// returnFrom commits what is open and leaves the function with the value of a register.
func (g *fn) returnFrom(r uint8, pos source.Pos) {
	if g.txs > 0 {
		saved := g.temp()
		g.emit(bytecode.OpMove, saved, r, 0, 0)
		r = saved
		g.commitTo(0)
	}
	g.pos = pos
	g.ret(r)
}

// ret leaves the function with the value of a register.
func (g *fn) ret(r uint8) {
	if g.out.DBReg >= 0 {
		g.emit(bytecode.OpUse, uint8(g.out.DBReg), 1, 0, 0)
	}
	g.emit(bytecode.OpReturn, r, 0, g.takeSteps(), 0)
}
