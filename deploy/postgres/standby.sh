#!/usr/bin/env bash
# Copies the primary where there is nothing yet, and follows it. One that was promoted stays what it is.
set -euo pipefail

PGPASSWORD=$(< "$PGPASSWORD_FILE")
export PGPASSWORD
if [[ ! -e $PGDATA/PG_VERSION ]]; then
  rm -rf "$PGDATA.new" # of a copy that was cut off
  pg_basebackup --pgdata="$PGDATA.new" --wal-method=stream --slot=standby --write-recovery-conf --checkpoint=fast \
    --dbname="host=${PRIMARY_HOST:-postgres} user=ql application_name=standby"
  mv "$PGDATA.new" "$PGDATA"
fi
exec postgres
