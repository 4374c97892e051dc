import { SERVED_SUMS } from '../content/served-totals.ts'

const SUMS = SERVED_SUMS.map((sum) => `${sum} bigint NOT NULL CHECK (${sum} >= 0)`).join(',\n  ')

/** What the server has served (db/content/open-content.ts explains the tables). */
export const SERVED_TABLES = `
CREATE TABLE served (
  level text NOT NULL CHECK (level IN ('all', 'model', 'account')),
  step text NOT NULL CHECK (step IN ('quarter', 'day', 'month')),
  at bigint NOT NULL,
  account bigint NOT NULL,
  model text COLLATE "C" NOT NULL,
  ${SUMS},
  PRIMARY KEY (level, step, at, account, model)
);
CREATE TABLE served_latency (
  measure text NOT NULL CHECK (measure IN ('first', 'total')),
  step text NOT NULL CHECK (step IN ('quarter', 'day', 'month')),
  at bigint NOT NULL,
  ms bigint NOT NULL,
  requests bigint NOT NULL CHECK (requests >= 0),
  PRIMARY KEY (measure, step, at, ms)
);
CREATE TABLE served_lanes (
  slot bigint NOT NULL,
  lane text COLLATE "C" NOT NULL,
  succeeded bigint NOT NULL CHECK (succeeded >= 0),
  failed bigint NOT NULL CHECK (failed >= 0),
  failed_at bigint,
  error text,
  status integer,
  PRIMARY KEY (slot, lane)
);
CREATE TABLE served_lane_latency (
  slot bigint NOT NULL,
  lane text COLLATE "C" NOT NULL,
  ms bigint NOT NULL,
  calls bigint NOT NULL CHECK (calls >= 0),
  PRIMARY KEY (slot, lane, ms)
);
CREATE TABLE served_upto (
  account bigint PRIMARY KEY,
  movement bigint NOT NULL,
  closed_at bigint NOT NULL
);
`

/** The playground's conversations, and how requests of each model ended: see 0011-conversations-and-model-speed of the SQLite file. */
export const CONVERSATION_TABLES = `
CREATE TABLE conversations (
  conversation bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account bigint NOT NULL,
  person text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  saved_at bigint NOT NULL,
  title bytea NOT NULL,
  encoding text NOT NULL CHECK (encoding IN ('identity', 'deflate')),
  raw_bytes bigint NOT NULL,
  bytes bigint NOT NULL CHECK (bytes >= 0),
  sealed bytea NOT NULL,
  UNIQUE (person, id)
);
CREATE INDEX conversations_of_account ON conversations (account);
CREATE FUNCTION key_went(emptied bigint) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  -- Two nodes that delete at once: the second one waits here, and then sees what the first has left.
  PERFORM FROM account_keys WHERE account = emptied FOR UPDATE;
  DELETE FROM account_keys WHERE account = emptied
    AND NOT EXISTS (SELECT FROM responses WHERE responses.account = emptied)
    AND NOT EXISTS (SELECT FROM conversations WHERE conversations.account = emptied);
END $$;
CREATE OR REPLACE FUNCTION response_went() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF OLD.parent IS NOT NULL THEN UPDATE responses SET children = children - 1 WHERE response = OLD.parent; END IF;
  PERFORM key_went(OLD.account);
  RETURN NULL;
END $$;
CREATE FUNCTION conversation_went() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM key_went(OLD.account);
  RETURN NULL;
END $$;
CREATE TRIGGER conversation_went AFTER DELETE ON conversations FOR EACH ROW EXECUTE FUNCTION conversation_went();
CREATE TABLE served_models (
  slot bigint NOT NULL,
  model text COLLATE "C" NOT NULL,
  measure text NOT NULL CHECK (measure IN ('failed', 'first', 'rate')),
  value bigint NOT NULL,
  requests bigint NOT NULL CHECK (requests >= 0),
  PRIMARY KEY (slot, model, measure, value)
);
`
