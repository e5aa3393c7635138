package databases

import "sync/atomic"

// scratch counts the temporary files of all statements under way.
type scratch struct {
	most int64
	held atomic.Int64
}

// grow takes bytes, or gives some back, which are negative. It reports false, and
// takes nothing, where there are no more.
func (s *scratch) grow(bytes int64) bool {
	if s.held.Add(bytes) > s.most && bytes > 0 {
		s.held.Add(-bytes)
		return false
	}
	return true
}
