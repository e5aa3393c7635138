package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// scores keeps the best time of each engine at each program.
type scores struct {
	programs []string
	engines  []string
	best     map[cell]time.Duration
	results  map[string]outcome // by program
}

type cell struct{ engine, program string }

// outcome is a program's result and the engine that gave it first.
type outcome struct{ engine, text string }

func newScores(programs, engines []string) *scores {
	return &scores{programs: programs, engines: engines, best: map[cell]time.Duration{}, results: map[string]outcome{}}
}

// record takes one run. A result unlike the others' is an error: times of
// programs that compute different things say nothing.
func (s *scores) record(engine, program, result string, took time.Duration) error {
	first, known := s.results[program]
	if !known {
		s.results[program] = outcome{engine, result}
	} else if first.text != result {
		return fmt.Errorf("%s: %s gives %q, %s gave %q", program, engine, result, first.engine, first.text)
	}
	at := cell{engine, program}
	if best, ok := s.best[at]; !ok || took < best {
		s.best[at] = took
	}
	return nil
}

// ratio gives how many times the other engine's time the engine takes, where both ran the program.
func (s *scores) ratio(engine, other, program string) (float64, bool) {
	mine, ok := s.best[cell{engine, program}]
	theirs, okOther := s.best[cell{other, program}]
	return float64(mine) / float64(theirs), ok && okOther && theirs > 0
}

// ratios gives the ratios of all programs that both engines ran.
func (s *scores) ratios(engine, other string) []float64 {
	var list []float64
	for _, program := range s.programs {
		if r, ok := s.ratio(engine, other, program); ok {
			list = append(list, r)
		}
	}
	return list
}

// geometricMean is the mean to use for ratios: that of the inverses is its
// inverse, so it does not matter which side is divided by which.
func geometricMean(ratios []float64) float64 {
	sum := 0.0
	for _, r := range ratios {
		sum += math.Log(r)
	}
	return math.Exp(sum / float64(len(ratios)))
}

// write prints the tables in Markdown, ready to be recorded.
func (s *scores) write(w io.Writer) error {
	var b strings.Builder
	s.writeTimes(&b)
	s.writeRatios(&b)
	s.writeMean(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (s *scores) writeTimes(b *strings.Builder) {
	b.WriteString("Milliseconds, best of the rounds\n\n")
	s.writeHead(b, "mean vs "+referenceName)
	for _, engine := range s.engines {
		fmt.Fprintf(b, "| %s |", engine)
		for _, program := range s.programs {
			if best, ok := s.best[cell{engine, program}]; ok {
				fmt.Fprintf(b, " %s |", milliseconds(best))
			} else {
				b.WriteString(" – |")
			}
		}
		fmt.Fprintf(b, " %s |\n", mean(s.ratios(engine, referenceName)))
	}
}

func (s *scores) writeRatios(b *strings.Builder) {
	fmt.Fprintf(b, "\nTime of %s ÷ time of the peer (below 1: %s is faster)\n\n", oursName, oursName)
	s.writeHead(b, "mean")
	for _, engine := range s.engines {
		ratios := s.ratios(oursName, engine)
		if engine == oursName || ratios == nil {
			continue
		}
		fmt.Fprintf(b, "| %s |", engine)
		for _, program := range s.programs {
			if r, ok := s.ratio(oursName, engine, program); ok {
				fmt.Fprintf(b, " %.2f |", r)
			} else {
				b.WriteString(" – |")
			}
		}
		fmt.Fprintf(b, " %s |\n", mean(ratios))
	}
}

func (s *scores) writeMean(b *strings.Builder) {
	fmt.Fprintf(b, "\nGeometric mean of %s vs %s: %s\n", oursName, referenceName, mean(s.ratios(oursName, referenceName)))
}

func (s *scores) writeHead(b *strings.Builder, last string) {
	fmt.Fprintf(b, "| engine | %s | %s |\n", strings.Join(s.programs, " | "), last)
	b.WriteString("|---|" + strings.Repeat("---:|", len(s.programs)+1) + "\n")
}

func milliseconds(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	if ms < 20 {
		return fmt.Sprintf("%.1f", ms)
	}
	return fmt.Sprintf("%.0f", ms)
}

// mean gives the geometric mean as text, a dash where there is nothing to
// compare with.
func mean(ratios []float64) string {
	if len(ratios) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", geometricMean(ratios))
}
