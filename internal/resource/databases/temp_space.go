package databases

import "sync/atomic"

// tempSpace counts the temporary files of all statements under way.
type tempSpace struct {
	limit int64
	used  atomic.Int64
}

// reserve reserves bytes, or releases some, which are negative. It reports false, and
// reserves nothing, where there are no more.
func (s *tempSpace) reserve(bytes int64) bool {
	if s.used.Add(bytes) > s.limit && bytes > 0 {
		s.used.Add(-bytes)
		return false
	}
	return true
}
