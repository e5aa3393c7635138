package execution

import (
	"context"
	"log/slog"

	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/wire"
)

// languageCodes are the codes of errors that scripts meet, as the language's reference lists
// them: a test compares.
var languageCodes = map[string]bool{
	"access_denied": true, "bad_argument": true, "bad_choice": true, "bad_csv": true, "bad_form": true, "bad_gzip": true, "bad_index": true, "bad_json": true, "bad_module": true, "bad_pattern": true,
	"bad_template": true, "bad_time": true, "bad_xml": true, "bad_yaml": true, "bad_zip": true, "cancelled": true, "check_failed": true, "database_busy": true, "database_full": true,
	"duplicate_column": true, "command_not_allowed": true, "emit_conflict": true, "host_key_changed": true, "job_cancelled": true, "job_ended": true, "job_failed": true, "declined": true, "machine_not_found": true, "sender_not_verified": true, "machine_timeout": true, "expired": true, "fetch_failed": true, "file_changed": true, "foreign_key": true, "in_transaction": true,
	"invalid_database": true, "machine_failed": true, "no_session": true, "no_such_column": true, "no_such_table": true, "not_a_number": true, "not_available": true,
	"not_null": true, "not_text": true, "number_range": true, "row_numbers_used": true, "secret_not_found": true, "session_full": true, "sql_denied": true,
	"transaction_ended": true, "unique": true, "wrong_kind": true,
	// Of jobs that the service gives up.
	"crashed": true, "interrupted": true,
}

var serviceCodes = fault.Statuses()

// LoggedCode returns the code of an error as a log shows it. One of a script's own may be any
// text, and is nobody's business but its account's.
func LoggedCode(code string) string {
	if _, ok := serviceCodes[fault.Code(code)]; ok || languageCodes[code] {
		return code
	}
	return string(fault.ScriptFailed)
}

// LogFailure logs that a job failed, and by what code: nothing of what the script or its caller
// said.
func LogFailure(ctx context.Context, log *slog.Logger, j *job.Record, failure *wire.Error) {
	if failure == nil || !log.Enabled(ctx, slog.LevelInfo) {
		return
	}
	attrs := []slog.Attr{
		slog.Any("job", j.ID), slog.Any("account", j.Account), slog.String("mode", string(j.Mode)), slog.String("state", string(j.State)),
		slog.String("code", LoggedCode(failure.Code)), slog.Int64("ran_us", j.Ran.Microseconds()),
	}
	if failure.Limit != "" {
		attrs = append(attrs, slog.String("limit", failure.Limit))
	}
	log.LogAttrs(ctx, slog.LevelInfo, "a job failed", attrs...)
}
