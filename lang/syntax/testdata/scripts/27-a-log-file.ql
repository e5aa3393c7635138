APPEND LINE TO_JSON({at: NOW(), path: !REQUEST('path'), ip: !REQUEST('ip')}) TO FILE "/logs/visits.jsonl"
EMIT "ok"
