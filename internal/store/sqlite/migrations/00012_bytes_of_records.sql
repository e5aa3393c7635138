-- How many bytes the records take that ended in a month and are still kept: all
-- months together are what an account keeps. It stands in a row that each end
-- writes anyway, so that counting costs no page more. See job.Record.Bytes.
ALTER TABLE usage ADD COLUMN records INTEGER NOT NULL DEFAULT 0;
INSERT INTO usage (account, month, calls, running, egress, records)
	SELECT account, strftime('%Y', finished / 1000000, 'unixepoch') * 12 + strftime('%m', finished / 1000000, 'unixepoch') - 1, 0, 0, 0,
		sum(4096 + coalesce(length(error), 0) + coalesce(length(response), 0) + coalesce(length(trace), 0) + length(result))
	FROM jobs WHERE finished IS NOT NULL GROUP BY 1, 2
	ON CONFLICT (account, month) DO UPDATE SET records = excluded.records;
