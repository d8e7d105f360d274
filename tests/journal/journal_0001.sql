-- A journal with the tables of version 0001 and one turn, as sqlite3's .dump gives it; never to be changed.
BEGIN TRANSACTION;
CREATE TABLE turnkeeper_conversations (
	id TEXT NOT NULL, 
	principal_kind TEXT, 
	principal_id TEXT, 
	principal_level TEXT, 
	created_at DOUBLE, 
	updated_at DOUBLE, 
	last_seq BIGINT NOT NULL, 
	turns BIGINT NOT NULL, 
	status TEXT, 
	title TEXT NOT NULL, 
	lease_token BIGINT NOT NULL, 
	lease_holder TEXT, 
	lease_since DOUBLE, 
	lease_expires_at DOUBLE, 
	CONSTRAINT turnkeeper_conversations_pk PRIMARY KEY (id), 
	CONSTRAINT turnkeeper_conversations_last_seq_counts CHECK (last_seq >= 0)
);
INSERT INTO "turnkeeper_conversations" VALUES('c-1','customer','1213210','verified',1796040000.0,1796040008.0,9,1,'completed','Где мой заказ?',0,NULL,NULL,NULL);
CREATE TABLE turnkeeper_events (
	conversation_id TEXT NOT NULL, 
	seq BIGINT NOT NULL, 
	type TEXT NOT NULL, 
	payload TEXT NOT NULL, 
	at DOUBLE NOT NULL, 
	token BIGINT, 
	format INTEGER NOT NULL, 
	hash TEXT NOT NULL, 
	CONSTRAINT turnkeeper_events_pk PRIMARY KEY (conversation_id, seq), 
	CONSTRAINT turnkeeper_events_seq_counts CHECK (seq >= 1), 
	CONSTRAINT turnkeeper_events_conversation_id_fk FOREIGN KEY(conversation_id) REFERENCES turnkeeper_conversations (id)
);
INSERT INTO "turnkeeper_events" VALUES('c-1',1,'conversation_started','{"principal":{"kind":"customer","id":"1213210","level":"verified"}}',1796040000.0,NULL,1,'3a45534e01ad0a422fba5230b23363adb8e41c3eb49c95be382228e891ac8679');
INSERT INTO "turnkeeper_events" VALUES('c-1',2,'turn_started','{"content":"Где мой заказ?"}',1796040001.0,NULL,1,'98657e070457b167b297365d3de5f4aaefa4ef6d7f80021a8227531a60c65880');
INSERT INTO "turnkeeper_events" VALUES('c-1',3,'request_started','{"number":1,"attempt":1,"model":"claude-opus-4-8","max_tokens":1000}',1796040002.0,NULL,1,'faa89b833ac304ab7a2fa8dbc09d1bea8cfa6246ee86de3e4523dfb588459544');
INSERT INTO "turnkeeper_events" VALUES('c-1',4,'reply_received','{"number":1,"blocks":[{"type":"text","text":"Сейчас посмотрю 🔎"},{"type":"tool_use","id":"toolu_01","name":"get_order","input":{"id" : 24601,"note":"\u0000"}}],"stop_reason":"tool_use","usage":{"input_tokens":12,"output_tokens":34},"action":"run_calls","kept":true,"reason":"","calls":[{"id":"toolu_01","name":"get_order","index":1,"given_id":null}],"invalid_inputs":{},"fields":{},"cost":"0.001234"}',1796040003.25,NULL,1,'931489abd0ea47f188f403579d9484c5fde4ad5d90c351fd704bc6e0769d2326');
INSERT INTO "turnkeeper_events" VALUES('c-1',5,'call_started','{"call_id":"toolu_01","tool":"get_order","effect":"read","key":"k-1"}',1796040004.0,NULL,1,'a58577f126051417abb4f57ad0e75b566eb9379e09e41c6670c5b920a9629948');
INSERT INTO "turnkeeper_events" VALUES('c-1',6,'call_finished','{"call_id":"toolu_01","state":"succeeded","content":"在路上","is_error":false,"seconds":0.5}',1796040005.0,NULL,1,'3db1f8bb8ee68b4312abcf16bbb531b9dd8330e2d8c469edfbd9447cffe06d5f');
INSERT INTO "turnkeeper_events" VALUES('c-1',7,'request_started','{"number":2,"attempt":1,"model":"claude-opus-4-8","max_tokens":1000}',1796040006.0,NULL,1,'ef857591a4bbdc6f38436fc34f09cf79f02bf67a7d1cd69bfc1e75baf0a8dd09');
INSERT INTO "turnkeeper_events" VALUES('c-1',8,'reply_received','{"number":2,"blocks":[{"type":"text","text":"Заказ в пути. שלום"}],"stop_reason":"end_turn","usage":{"input_tokens":56,"output_tokens":7},"action":"end","kept":true,"status":"completed","reason":"","calls":[],"invalid_inputs":{},"fields":{}}',1796040007.0,NULL,1,'0fe868eaa5e21613803e0adf6470c30d9adc0123cf563cbc3dbd30528f95e5a4');
INSERT INTO "turnkeeper_events" VALUES('c-1',9,'turn_ended','{"status":"completed","reason":""}',1796040008.0,NULL,1,'8af3174a9728460831d38c5733fe054eb030e6eefd7d5303b772b4611dc7d1de');
CREATE TABLE turnkeeper_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT turnkeeper_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "turnkeeper_version" VALUES('0001');
CREATE INDEX turnkeeper_conversations_updated ON turnkeeper_conversations (updated_at, id) WHERE last_seq > 0;
CREATE INDEX turnkeeper_conversations_principal ON turnkeeper_conversations (principal_kind, principal_id);
CREATE INDEX turnkeeper_conversations_open ON turnkeeper_conversations (status) WHERE status IS NULL AND turns > 0;
COMMIT;
