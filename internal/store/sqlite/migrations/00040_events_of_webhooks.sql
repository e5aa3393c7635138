-- What the webhook of a job is told: 1 that it is finished, 2 that it is paused, or both.
ALTER TABLE jobs ADD COLUMN webhook_events INTEGER NOT NULL DEFAULT 1;
-- What a delivery tells, and of which question.
ALTER TABLE deliveries ADD COLUMN event  TEXT NOT NULL DEFAULT 'finished';
ALTER TABLE deliveries ADD COLUMN prompt TEXT;
