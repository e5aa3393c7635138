package worker

import (
	"slices"
	"time"

	"ql/internal/account"
	"ql/internal/job"
)

// lines are the jobs that wait in memory: a line for each account, and turns
// between the accounts. They hold only what is due, never what stands.
type lines struct {
	most    int
	lifted  bool
	running int
	of      map[account.ID]*line
	ready   []*line        // that have a job to begin and room for it, in turns
	known   map[int64]bool // jobs in the lines, by their number

	// suspects are jobs that may be what ended the last processes, in all lines. One of
	// them is tried at a time, so that the next crash says whether it is that one.
	suspects []suspect
	trying   bool
}

type suspect struct {
	line *line
	place
}

// line is the jobs of one account.
type line struct {
	account account.ID
	most    int // under way at once
	running int
	coming  int // being stored, to be added
	queue   []place
	kept    int64 // bytes of what is kept in it
	apart   int   // of its jobs, those among the suspects
	ready   bool

	// hopeful are submissions that wait for a place to be given back soon: to be
	// accepted first, and begun later, costs far more than most jobs do.
	hopeful []chan struct{} // closed when it has one
	moved   time.Time       // when a place was last taken, or given back
}

// standing is how many jobs of an account are not under way.
func (l *line) standing() int { return len(l.queue) + l.apart + l.coming + len(l.hopeful) }

// place is a job in its line. What it was accepted with is kept where that is
// little, so that it need not be read again.
type place struct {
	job.Due
	accepted *attempt // or nil
	bytes    int64    // that it holds
}

func (p *place) isSuspect() bool { return p.Crashes >= suspectCrashes }

// drop gives back what is kept of a job that does not begin.
func (p *place) drop() {
	if p.accepted != nil {
		p.accepted.memory.Release()
		p.accepted = nil
	}
}

const (
	// mostKept bounds the jobs that are kept with all they were accepted with, and
	// mostKeptBytes what those of one account hold so.
	mostKept      = 16_384
	mostKeptBytes = 1 << 20
)

// keep has a job hold what it was accepted with while it is in line, as long as
// there is room for it.
func (s *lines) keep(l *line, p *place) {
	if p.accepted == nil {
		return
	}
	if len(s.known) >= mostKept || l.kept+p.bytes > mostKeptBytes || !p.accepted.memory.TryGrow(p.bytes) {
		p.drop()
		return
	}
	l.kept += p.bytes
}

// taken counts a job that has left the line.
func (l *line) taken(p *place) {
	if p.accepted != nil {
		l.kept -= p.bytes
	}
}

// dropAccepted gives back what is kept.
func (s *lines) dropAccepted() {
	for _, l := range s.of {
		for i := range l.queue {
			l.taken(&l.queue[i])
			l.queue[i].drop()
		}
	}
}

func (s *lines) line(a account.ID, most int) *line {
	l := s.of[a]
	if l == nil {
		l = &line{account: a, most: most}
		s.of[a] = l
	}
	if most > 0 {
		l.most = most
	}
	return l
}

func (s *lines) mayBegin(l *line) bool { return s.lifted || l.most <= 0 || l.running < l.most }

// add puts a job at the end of its account's line, unless it is in it.
func (s *lines) add(l *line, p place) {
	if s.known[p.Seq] {
		p.drop()
		return
	}
	s.known[p.Seq] = true
	if p.isSuspect() {
		l.apart++
		s.suspects = append(s.suspects, suspect{l, p})
		return
	}
	s.keep(l, &p)
	l.queue = append(l.queue, p)
	s.place(l)
}

// place gives a line its turn where it can use one.
func (s *lines) place(l *line) {
	if !l.ready && len(l.queue) > 0 && s.mayBegin(l) {
		l.ready = true
		s.ready = append(s.ready, l)
	}
}

// next takes out the job to begin, and its place.
func (s *lines) next() (place, bool) {
	if p, ok := s.nextSuspect(); ok {
		return p, true
	}
	for s.running < s.most && len(s.ready) > 0 {
		l := s.ready[0]
		s.ready = s.ready[1:]
		l.ready = false
		if len(l.queue) == 0 || !s.mayBegin(l) {
			s.drop(l)
			continue
		}
		p := l.queue[0]
		l.queue[0] = place{}
		l.queue = l.queue[1:]
		if len(l.queue) == 0 {
			l.queue = nil
		}
		delete(s.known, p.Seq)
		l.taken(&p)
		s.enter(l)
		s.place(l)
		return p, true
	}
	return place{}, false
}

// nextSuspect takes out the suspect to try, if it is time for one.
func (s *lines) nextSuspect() (place, bool) {
	if s.trying || s.running >= s.most {
		return place{}, false
	}
	i := slices.IndexFunc(s.suspects, func(one suspect) bool { return s.mayBegin(one.line) })
	if i < 0 {
		return place{}, false
	}
	one := s.suspects[i]
	s.takeOut(i)
	s.trying = true
	s.enter(one.line)
	return one.place, true
}

// takeOut takes a suspect out of the line.
func (s *lines) takeOut(i int) {
	one := s.suspects[i]
	s.suspects = slices.Delete(s.suspects, i, i+1)
	one.line.apart--
	delete(s.known, one.Seq)
}

// reserve takes a place for a job that is about to be accepted; false where it
// has to stand in line.
func (s *lines) reserve(l *line) bool {
	if len(l.queue) > 0 || !s.mayBegin(l) || s.running >= s.most {
		return false
	}
	s.enter(l)
	return true
}

// hope has a submission wait for a place of its account's, after those in line;
// nil where nobody has come or gone since a moment: those who have the places keep
// them for longer.
func (s *lines) hope(l *line, since time.Time) chan struct{} {
	if !l.moved.After(since) {
		return nil
	}
	turn := make(chan struct{})
	l.hopeful = append(l.hopeful, turn)
	return turn
}

// giveUp ends a hope; false where it has come true meanwhile.
func (s *lines) giveUp(l *line, turn chan struct{}) bool {
	i := slices.Index(l.hopeful, turn)
	if i < 0 {
		return false
	}
	l.hopeful = slices.Delete(l.hopeful, i, i+1)
	return true
}

// handOver gives the place of a job that has ended to a submission of the same
// account, where nobody else waits for it.
func (s *lines) handOver(l *line) bool {
	fits := s.running <= s.most && (s.lifted || l.most <= 0 || l.running <= l.most)
	if len(l.hopeful) == 0 || len(l.queue) > 0 || len(s.ready) > 0 || !fits {
		return false
	}
	close(l.hopeful[0])
	l.hopeful = slices.Delete(l.hopeful, 0, 1)
	return true
}

func (s *lines) enter(l *line) {
	l.moved = time.Now()
	l.running++
	s.running++
}

// leave gives a place back.
func (s *lines) leave(a account.ID) {
	l := s.of[a]
	l.moved = time.Now()
	if s.handOver(l) {
		return
	}
	l.running--
	s.running--
	s.place(l)
	s.drop(l)
}

// clear takes all jobs of an account out of its line.
func (s *lines) clear(a account.ID) {
	l := s.of[a]
	if l == nil {
		return
	}
	for i := range l.queue {
		p := &l.queue[i]
		delete(s.known, p.Seq)
		l.taken(p)
		p.drop()
	}
	l.queue = nil
	for i := len(s.suspects) - 1; i >= 0; i-- {
		if s.suspects[i].line == l {
			s.takeOut(i)
		}
	}
}

// remove takes a job out of its line, where it is in one.
func (s *lines) remove(id job.ID) {
	if i := slices.IndexFunc(s.suspects, func(one suspect) bool { return one.ID == id }); i >= 0 {
		l := s.suspects[i].line
		s.takeOut(i)
		s.drop(l)
		return
	}
	for _, l := range s.of {
		i := slices.IndexFunc(l.queue, func(p place) bool { return p.ID == id })
		if i < 0 {
			continue
		}
		delete(s.known, l.queue[i].Seq)
		l.taken(&l.queue[i])
		l.queue[i].drop()
		l.queue = slices.Delete(l.queue, i, i+1)
		s.drop(l)
		return
	}
}

// drop forgets a line of which nothing is left.
func (s *lines) drop(l *line) {
	if l.running == 0 && l.standing() == 0 && !l.ready {
		delete(s.of, l.account)
	}
}
