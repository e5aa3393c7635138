package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/d5/tengo/v2"
	"github.com/d5/tengo/v2/stdlib"
	"github.com/dop251/goja"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

func goJA() engine {
	return engine{name: "goja", extension: "js", compile: func(name, text string) (runner, error) {
		program, err := goja.Compile(name, text, false)
		if err != nil {
			return nil, err
		}
		return timed(func() (string, error) {
			v, err := goja.New().RunProgram(program)
			if err != nil {
				return "", err
			}
			return v.String(), nil
		}), nil
	}}
}

// gopherLuaOptions give the registry the room that table.concat of 100 000
// parts needs: it fails with the default size, and takes seconds with the
// default step of growth.
var gopherLuaOptions = lua.Options{
	RegistrySize:     20 << 10,
	RegistryMaxSize:  1 << 20,
	RegistryGrowStep: 64 << 10,
}

func gopherLua() engine {
	// JSON is a library in C to Lua.
	return engine{name: "gopher-lua", extension: "lua", without: []string{"json"}, compile: func(name, text string) (runner, error) {
		chunk, err := parse.Parse(strings.NewReader(text), name)
		if err != nil {
			return nil, err
		}
		proto, err := lua.Compile(chunk, name)
		if err != nil {
			return nil, err
		}
		return timed(func() (string, error) {
			state := lua.NewState(gopherLuaOptions)
			defer state.Close()
			state.Push(state.NewFunctionFromProto(proto))
			if err := state.PCall(0, 1, nil); err != nil {
				return "", err
			}
			return state.Get(-1).String(), nil
		}), nil
	}}
}

func starlarkGo() engine {
	// WHILE and recursion are off in Starlark unless asked for.
	options := &syntax.FileOptions{While: true, Recursion: true}
	none := func(string) bool { return false }
	return engine{name: "starlark", extension: "star", compile: func(name, text string) (runner, error) {
		_, program, err := starlark.SourceProgramOptions(options, name, text, none)
		if err != nil {
			return nil, err
		}
		return timed(func() (string, error) {
			globals, err := program.Init(&starlark.Thread{}, nil)
			if err != nil {
				return "", err
			}
			result, ok := globals["result"]
			if !ok {
				return "", errors.New("the program sets no result")
			}
			return result.String(), nil
		}), nil
	}}
}

func tengoVM() engine {
	return engine{name: "tengo", extension: "tengo", compile: func(_, text string) (runner, error) {
		script := tengo.NewScript([]byte(text))
		script.SetImports(stdlib.GetModuleMap("text"))
		compiled, err := script.Compile()
		if err != nil {
			return nil, err
		}
		return timed(func() (string, error) {
			fresh := compiled.Clone()
			if err := fresh.Run(); err != nil {
				return "", err
			}
			return fmt.Sprint(fresh.Get("result").Value()), nil
		}), nil
	}}
}
