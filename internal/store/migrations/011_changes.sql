-- How often sessions and phases were changed: who follows them looks at one number, however many there are.
CREATE TABLE changes (n INTEGER NOT NULL) STRICT;
INSERT INTO changes VALUES (0);
CREATE TRIGGER session_is_new INSERT ON sessions BEGIN UPDATE changes SET n = n + 1; END;
CREATE TRIGGER session_changes UPDATE ON sessions BEGIN UPDATE changes SET n = n + 1; END;
CREATE TRIGGER session_goes DELETE ON sessions BEGIN UPDATE changes SET n = n + 1; END;
CREATE TRIGGER phase_is_new INSERT ON phases BEGIN UPDATE changes SET n = n + 1; END;
CREATE TRIGGER phase_changes UPDATE ON phases BEGIN UPDATE changes SET n = n + 1; END;
CREATE TRIGGER phase_goes DELETE ON phases BEGIN UPDATE changes SET n = n + 1; END;
