-- Whether the trace is sent to the webhook of a job.
ALTER TABLE jobs ADD COLUMN webhook_trace INTEGER NOT NULL DEFAULT 0;
