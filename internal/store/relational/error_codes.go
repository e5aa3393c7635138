package relational

import (
	"encoding/json"

	"ql/internal/job"
)

// setErrorCode sets the code of the error that a job has ended with, for listings.
func (t tx) setErrorCode(id job.ID, failure []byte) error {
	if failure == nil || !t.conn.SetsErrorCodes {
		return nil
	}
	var e struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(failure, &e) != nil || e.Code == "" {
		return nil //nolint:nilerr // what cannot be read has no code
	}
	_, err := t.exec("UPDATE jobs SET error_code = ? WHERE id = ?", e.Code, t.conn.IDs.place(id))
	return err
}
