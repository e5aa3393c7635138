-- From this version on whoever removes an account removes its jobs: their foreign key goes once no node needs it.
COMMENT ON COLUMN jobs.account IS 'an account that is there: who removes it removes its jobs';
