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
}

// line is the jobs of one account.
type line struct {
	account account.ID
	most    int // under way at once
	running int
	coming  int // being stored, to be added
	queue   []place
	ready   bool

	// hopeful are submissions that wait for a place to be given back soon: to be
	// accepted first, and begun later, costs far more than most jobs do.
	hopeful []chan struct{} // closed when it has one
	moved   time.Time       // when a place was last taken, or given back
}

// standing is how many jobs of an account are not under way.
func (l *line) standing() int { return len(l.queue) + l.coming + len(l.hopeful) }

// place is a job in its line. What it was accepted with is kept where there are
// few, so that it need not be read again.
type place struct {
	job.Due
	accepted *attempt // or nil
}

// mostKept bounds the jobs that are kept with all they were accepted with.
const mostKept = 16_384

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
		return
	}
	if len(s.known) >= mostKept {
		p.accepted = nil
	}
	s.known[p.Seq] = true
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
		s.enter(l)
		s.place(l)
		return p, true
	}
	return place{}, false
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
	for _, p := range l.queue {
		delete(s.known, p.Seq)
	}
	l.queue = nil
}

// remove takes a job out of its line, where it is in one.
func (s *lines) remove(id job.ID) {
	for _, l := range s.of {
		i := slices.IndexFunc(l.queue, func(p place) bool { return p.ID == id })
		if i < 0 {
			continue
		}
		delete(s.known, l.queue[i].Seq)
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
