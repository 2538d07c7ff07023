-- Why a session is in its state, for what decides by it; the reason is for people. What earlier versions said tells it.
ALTER TABLE sessions ADD COLUMN cause TEXT NOT NULL DEFAULT '';
UPDATE sessions SET cause = 'interrupted' WHERE state = 'failed' AND reason LIKE 'interrupted%';
UPDATE sessions SET cause = substr(reason, 1, instr(reason || ' ', ' ') - 1)
	WHERE state = 'paused' AND reason LIKE 'limits.%';
