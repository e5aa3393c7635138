// Package scope says what a credential may do: run any script or some published ones, answer
// prompts, see jobs, reach files and databases, manage the account. It holds how scopes are
// written and nothing else: who has which is the business of package principal, and what each
// opens is enforced where it is done.
package scope

import (
	"fmt"
	"slices"
	"strings"

	"ql/internal/account/names"
)

// Kind is a set of scopes that are for no program in particular.
type Kind uint8

// The kinds, in the order in which they are written.
const (
	Run       Kind = 1 << iota // run any script
	Answer                     // answer the prompts of jobs
	Jobs                       // see and stop jobs that others started
	Files                      // read and write files, and list and revoke links to them
	Databases                  // read and write databases
	Manage                     // what an owner does without the password: limits, lists of keys
)

// written is how a kind is written.
type written struct {
	kind Kind
	text string
}

var kinds = []written{
	{Run, "run"}, {Answer, "answer"}, {Jobs, "jobs"}, {Files, "files"}, {Databases, "databases"}, {Manage, "manage"},
}

// String writes the kinds, as in: run and manage.
func (k Kind) String() string {
	s := Of(k)
	return strings.Join(s.Texts(), " and ")
}

// programPrefix begins a scope for one published program.
const programPrefix = "run:"

// OfProgram writes the scope that lets run one program.
func OfProgram(name string) string { return programPrefix + name }

// mostScopes is how many a credential may have.
const mostScopes = 32

// Set is what a credential may do. The zero Set is nothing.
type Set struct {
	Kinds    Kind
	Programs []string // published ones that it may run, in order; whoever has Run may run all
}

// All is everything, as the owner of an account may.
func All() Set { return Set{Kinds: Run | Answer | Jobs | Files | Databases | Manage} }

// Of is a set of kinds.
func Of(k Kind) Set { return Set{Kinds: k} }

// Has tells whether all of some kinds are in the set.
func (s *Set) Has(k Kind) bool { return s.Kinds&k == k }

// MayRun tells whether the set lets run a published program, or, for "", a script that a caller
// sends.
func (s *Set) MayRun(program string) bool {
	return s.Has(Run) || program != "" && slices.Contains(s.Programs, program)
}

// IsOfPrograms tells whether the set is for some programs alone: then it is of no use to others'
// jobs.
func (s *Set) IsOfPrograms() bool { return len(s.Programs) > 0 && !s.Has(Run) }

// Texts are the scopes as they are written, in their order.
func (s *Set) Texts() []string {
	var texts []string
	for _, known := range kinds {
		if s.Has(known.kind) {
			texts = append(texts, known.text)
		}
	}
	for _, name := range s.Programs {
		texts = append(texts, OfProgram(name))
	}
	return texts
}

// String writes the scopes in one text, which Parse of its words reads.
func (s *Set) String() string { return strings.Join(s.Texts(), " ") }

// Parse reads scopes as they are written, in any order, and one at least.
func Parse(texts []string) (Set, error) {
	var s Set
	if len(texts) == 0 {
		return s, fmt.Errorf("there is none: %s", fitting)
	}
	if len(texts) > mostScopes {
		return s, fmt.Errorf("there are %d: %d fit", len(texts), mostScopes)
	}
	for _, text := range texts {
		if name, ok := strings.CutPrefix(text, programPrefix); ok {
			if !names.IsName(name) {
				return Set{}, fmt.Errorf("%.80q names no program: %w", text, names.ErrName)
			}
			s.Programs = append(s.Programs, name)
			continue
		}
		i := slices.IndexFunc(kinds, func(k written) bool { return k.text == text })
		if i < 0 {
			return Set{}, fmt.Errorf("there is no scope %.80q: %s", text, fitting)
		}
		s.Kinds |= kinds[i].kind
	}
	slices.Sort(s.Programs)
	s.Programs = slices.Compact(s.Programs)
	return s, nil
}

const fitting = "run, run:NAME of a published program, answer, jobs, files, databases and manage fit"
