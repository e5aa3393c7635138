#!/usr/bin/env bash
# Run once, when the server's folder is made: lets a standby follow, and has changes wait for it.
set -euo pipefail

printf 'host replication all samenet scram-sha-256\n' >> "$PGDATA/pg_hba.conf"
psql --no-psqlrc --set=ON_ERROR_STOP=1 --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" <<'SQL'
ALTER ROLE CURRENT_USER WITH REPLICATION;
SELECT pg_create_physical_replication_slot('standby', true);
-- Not more than this is kept for a standby that is away.
ALTER SYSTEM SET max_slot_wal_keep_size = '4GB';
-- It holds from the next start on: none of the above could wait for a standby.
ALTER SYSTEM SET synchronous_standby_names = 'standby';
SQL
