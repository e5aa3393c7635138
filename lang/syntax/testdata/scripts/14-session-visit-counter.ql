START SESSION
SET "visits" AS !SESSION('visits') DEFAULT 0 + 1 OF !SESSION
EMIT "Visit number {!SESSION('visits')}"
