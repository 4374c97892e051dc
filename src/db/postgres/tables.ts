import { USAGE_SUMS } from '../content/usage-totals.ts'

/** Keys, people, the audit log and codes: the tables of the SQLite file. */
export const PEOPLE_TABLES = `
CREATE TABLE keys (
  row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text NOT NULL UNIQUE,
  account bigint NOT NULL REFERENCES accounts (row),
  kind text NOT NULL CHECK (kind IN ('wallet', 'builder')),
  name text NOT NULL,
  digest bytea NOT NULL UNIQUE,
  shown text NOT NULL,
  models text,
  limits text,
  expires_at bigint,
  disabled_at bigint,
  revoked_at bigint,
  created_at bigint NOT NULL,
  cap_day_nano bigint,
  cap_month_nano bigint,
  former_digest bytea UNIQUE,
  former_shown text,
  former_until bigint,
  playground smallint NOT NULL DEFAULT 0
);
CREATE INDEX keys_of_account ON keys (account, row);
CREATE UNIQUE INDEX one_playground_key ON keys (account, kind) WHERE playground = 1 AND revoked_at IS NULL;

CREATE TABLE people (
  row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text NOT NULL UNIQUE,
  email text NOT NULL UNIQUE,
  role text NOT NULL CHECK (role IN ('owner', 'operator')),
  account bigint REFERENCES accounts (row),
  password text NOT NULL,
  created_at bigint NOT NULL,
  password_changed_at bigint NOT NULL,
  disabled_at bigint,
  CHECK (role = 'operator' OR account IS NOT NULL)
);
CREATE INDEX people_of_account ON people (account, row);
CREATE INDEX active_people_by_role ON people (role) WHERE disabled_at IS NULL;

CREATE TABLE sessions (
  row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text NOT NULL UNIQUE,
  digest bytea NOT NULL UNIQUE,
  person bigint NOT NULL REFERENCES people (row),
  created_at bigint NOT NULL,
  seen_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  confirmed_at bigint NOT NULL,
  agent text NOT NULL,
  address text NOT NULL
);
CREATE INDEX sessions_of_person ON sessions (person, row);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);
CREATE INDEX sessions_by_use ON sessions (seen_at);

CREATE TABLE invites (
  row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  digest bytea NOT NULL UNIQUE,
  role text NOT NULL CHECK (role IN ('owner', 'operator')),
  account bigint REFERENCES accounts (row),
  person bigint REFERENCES people (row),
  email text,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  used_at bigint,
  created_by text NOT NULL
);
CREATE INDEX invites_by_email ON invites (email);
CREATE INDEX invites_by_expiry ON invites (expires_at);

CREATE TABLE audit (
  seq bigint PRIMARY KEY,
  at bigint NOT NULL,
  actor text NOT NULL,
  action text NOT NULL,
  target text,
  account bigint REFERENCES accounts (row),
  detail text NOT NULL,
  prev_hash bytea NOT NULL,
  hash bytea NOT NULL
);
CREATE INDEX audit_of_account ON audit (account, seq);
CREATE INDEX audit_of_target ON audit (account, target, seq);
CREATE INDEX audit_by_target ON audit (target, seq) WHERE target IS NOT NULL;
CREATE TRIGGER audit_is_final BEFORE UPDATE OR DELETE ON audit
  FOR EACH ROW EXECUTE FUNCTION refuse_change('the audit log is never edited');

CREATE TABLE codes (
  row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text NOT NULL UNIQUE,
  batch text NOT NULL,
  digest bytea NOT NULL UNIQUE,
  shown text NOT NULL,
  amount_nano bigint NOT NULL CHECK (amount_nano > 0),
  note text NOT NULL,
  created_at bigint NOT NULL,
  created_by text NOT NULL,
  expires_at bigint,
  withdrawn_at bigint,
  redeemed_by bigint REFERENCES accounts (row),
  redeemed_at bigint,
  credited_at bigint,
  CHECK ((redeemed_by IS NULL) = (redeemed_at IS NULL)),
  CHECK (redeemed_at IS NULL OR withdrawn_at IS NULL),
  CHECK (credited_at IS NULL OR redeemed_at IS NOT NULL)
);
CREATE INDEX codes_to_credit ON codes (row) WHERE redeemed_at IS NOT NULL AND credited_at IS NULL;
CREATE TRIGGER claimed_codes_are_final BEFORE UPDATE OF redeemed_by, amount_nano ON codes
  FOR EACH ROW WHEN (OLD.redeemed_by IS NOT NULL) EXECUTE FUNCTION refuse_change('a redeemed code is never given away again');

CREATE TABLE wishes (
  row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account bigint NOT NULL REFERENCES accounts (row),
  amount_nano bigint NOT NULL CHECK (amount_nano > 0),
  note text NOT NULL,
  at bigint NOT NULL,
  answered_at bigint
);
CREATE UNIQUE INDEX one_open_wish ON wishes (account) WHERE answered_at IS NULL;
CREATE INDEX open_wishes ON wishes (row) WHERE answered_at IS NULL;
-- In the commit of the credit itself, so that no crash leaves a request open that was fulfilled. A code is no answer.
CREATE FUNCTION answer_wish() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  UPDATE wishes SET answered_at = NEW.at WHERE account = NEW.account AND answered_at IS NULL;
  RETURN NULL;
END $$;
CREATE TRIGGER a_credit_answers_the_wish AFTER INSERT ON transfers FOR EACH ROW
  WHEN (NEW.unit = 'usd' AND NEW.kind = 'credit' AND NEW.ref NOT LIKE 'code:%') EXECUTE FUNCTION answer_wish();

-- Empty: the clock of the database is never set back. Queries that both databases share look here.
CREATE TABLE clock_corrections (
  row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  set_back_from bigint NOT NULL,
  set_back_to bigint NOT NULL,
  last_receipt bigint NOT NULL,
  last_transfer bigint NOT NULL
);
`

/** Keys of the management API. No node keeps them in memory, so a change needs no signal. */
export const ADMIN_KEYS_TABLE = `
CREATE TABLE admin_keys (
  row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text NOT NULL UNIQUE,
  name text NOT NULL,
  digest bytea NOT NULL UNIQUE,
  shown text NOT NULL,
  scopes text NOT NULL,
  created_at bigint NOT NULL,
  created_by text NOT NULL,
  expires_at bigint,
  revoked_at bigint,
  last_used_at bigint
);
`

/** Idempotency keys of the management API. */
export const ADMIN_CALLS_TABLE = `
CREATE TABLE admin_calls (
  scope text COLLATE "C" PRIMARY KEY,
  fingerprint text NOT NULL,
  request_id text NOT NULL,
  acted smallint NOT NULL,
  at bigint NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX admin_calls_by_expiry ON admin_calls (expires_at);
`

/**
 * What was changed that nodes keep in memory. The number of the transaction, not of the row, says what a reader has seen:
 * rows become visible in another order than they are numbered.
 */
export const SIGNAL_TABLES = `
-- When the next run of a periodic job is due. The node that moves it on does it.
CREATE TABLE jobs (name text PRIMARY KEY, due_at bigint NOT NULL);

-- Which functions nodes use, and until when they did.
CREATE TABLE builds (functions text PRIMARY KEY, seen_at timestamptz NOT NULL);

CREATE TABLE signals (
  row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  about text NOT NULL,
  subject text NOT NULL
);
CREATE INDEX signals_by_transaction ON signals (xid);
CREATE INDEX signals_by_time ON signals (at);

CREATE FUNCTION signal_change() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO signals (about, subject) VALUES (TG_ARGV[0], CASE TG_ARGV[0]
    WHEN 'key' THEN to_jsonb(NEW) ->> 'id'
    WHEN 'account' THEN coalesce(to_jsonb(NEW) ->> 'account', to_jsonb(NEW) ->> 'row')
    ELSE '' END);
  PERFORM pg_notify('millrace', '');
  RETURN NULL;
END $$;
CREATE TRIGGER key_changed AFTER INSERT OR UPDATE ON keys FOR EACH ROW EXECUTE FUNCTION signal_change('key');
CREATE TRIGGER account_changed AFTER UPDATE ON accounts FOR EACH ROW EXECUTE FUNCTION signal_change('account');
CREATE TRIGGER plan_changed AFTER INSERT OR UPDATE ON subscriptions FOR EACH ROW EXECUTE FUNCTION signal_change('account');
CREATE TRIGGER person_changed AFTER UPDATE ON people FOR EACH STATEMENT EXECUTE FUNCTION signal_change('people');
CREATE TRIGGER session_ended AFTER DELETE OR UPDATE OF digest ON sessions
  FOR EACH STATEMENT EXECUTE FUNCTION signal_change('people');
`

const SUMS = USAGE_SUMS.map((sum) => `${sum} bigint NOT NULL CHECK (${sum} >= 0)`).join(',\n  ')

/** The tables of content.db (db/content/open-content.ts explains them), with `day` for `sealed` (bodies.ts). */
export const CONTENT_TABLES = `
CREATE TABLE owners (
  owner bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text NOT NULL UNIQUE
);

CREATE TABLE answers (
  rowid bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  request_id text NOT NULL UNIQUE,
  account bigint NOT NULL,
  ring_key text NOT NULL,
  status integer NOT NULL,
  content_type text NOT NULL,
  encoding text NOT NULL CHECK (encoding IN ('identity', 'deflate')),
  raw_bytes bigint NOT NULL,
  bytes bigint NOT NULL,
  facts text NOT NULL,
  at bigint NOT NULL,
  expires_at bigint NOT NULL,
  day integer NOT NULL
);
CREATE INDEX answers_by_expiry ON answers (expires_at, bytes);

CREATE TABLE account_keys (
  account bigint PRIMARY KEY,
  name text NOT NULL UNIQUE,
  ring_key text NOT NULL,
  wrapped bytea NOT NULL,
  sealed_as text NOT NULL
);
CREATE TABLE responses (
  response bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  request_id text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  status text NOT NULL CHECK (status IN ('in_progress', 'completed', 'incomplete', 'failed', 'cancelled')),
  parent bigint REFERENCES responses (response),
  children integer NOT NULL DEFAULT 0 CHECK (children >= 0),
  items integer NOT NULL CHECK (items >= 0),
  item_bytes bigint NOT NULL CHECK (item_bytes >= 0),
  log text NOT NULL CHECK (log IN ('none', 'kept', 'too-large')),
  bytes bigint NOT NULL CHECK (bytes >= 0),
  facts text,
  as_sent smallint NOT NULL DEFAULT 0 CHECK (as_sent IN (0, 1)),
  UNIQUE (account, id)
);
CREATE INDEX responses_to_go ON responses (expires_at) WHERE children = 0 AND status <> 'in_progress';
CREATE INDEX responses_running ON responses (status) WHERE status = 'in_progress';
CREATE INDEX responses_by_request ON responses (request_id) WHERE facts IS NOT NULL;
CREATE INDEX responses_by_parent ON responses (parent) WHERE parent IS NOT NULL;
CREATE TABLE response_objects (
  response bigint PRIMARY KEY REFERENCES responses (response) ON DELETE CASCADE,
  encoding text NOT NULL CHECK (encoding IN ('identity', 'deflate')),
  raw_bytes bigint NOT NULL,
  day integer NOT NULL
);
CREATE TABLE items (
  item bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account bigint NOT NULL,
  digest text NOT NULL,
  id text,
  encoding text NOT NULL CHECK (encoding IN ('identity', 'deflate')),
  raw_bytes bigint NOT NULL,
  bytes bigint NOT NULL CHECK (bytes >= 0),
  day integer NOT NULL,
  UNIQUE (account, digest)
);
CREATE INDEX items_by_id ON items (account, id) WHERE id IS NOT NULL;
CREATE TABLE response_items (
  response bigint NOT NULL REFERENCES responses (response) ON DELETE CASCADE,
  side smallint NOT NULL CHECK (side IN (0, 1)),
  position integer NOT NULL,
  item bigint NOT NULL REFERENCES items (item),
  PRIMARY KEY (response, side, position)
);
CREATE INDEX response_items_by_item ON response_items (item);
CREATE TABLE events (
  event bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  response bigint NOT NULL REFERENCES responses (response) ON DELETE CASCADE,
  from_sequence bigint NOT NULL,
  to_sequence bigint NOT NULL CHECK (to_sequence >= from_sequence),
  encoding text NOT NULL CHECK (encoding IN ('identity', 'deflate')),
  raw_bytes bigint NOT NULL,
  bytes bigint NOT NULL CHECK (bytes >= 0),
  day integer NOT NULL,
  UNIQUE (response, to_sequence)
);
-- Several rows, so that nodes that store responses at once seldom wait for each other. Only their sum means something.
CREATE TABLE state_size (one integer PRIMARY KEY, bytes bigint NOT NULL);
CREATE FUNCTION count_state(more bigint) RETURNS void LANGUAGE sql SET search_path FROM CURRENT AS $$
  INSERT INTO state_size (one, bytes) SELECT 1 + pg_backend_pid() % 16, more WHERE more <> 0
    ON CONFLICT (one) DO UPDATE SET bytes = state_size.bytes + excluded.bytes
$$;
CREATE FUNCTION count_came() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM count_state((SELECT coalesce(sum(bytes), 0)::bigint FROM came));
  RETURN NULL;
END $$;
CREATE FUNCTION count_went() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM count_state((SELECT -coalesce(sum(bytes), 0)::bigint FROM went));
  RETURN NULL;
END $$;
${['responses', 'items', 'events']
  .map(
    (table) => `CREATE TRIGGER ${table}_came AFTER INSERT ON ${table} REFERENCING NEW TABLE AS came
  FOR EACH STATEMENT EXECUTE FUNCTION count_came();
CREATE TRIGGER ${table}_went AFTER DELETE ON ${table} REFERENCING OLD TABLE AS went
  FOR EACH STATEMENT EXECUTE FUNCTION count_went();`,
  )
  .join('\n')}
CREATE FUNCTION response_changed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM count_state(NEW.bytes - OLD.bytes);
  RETURN NULL;
END $$;
CREATE TRIGGER response_changed AFTER UPDATE OF bytes ON responses FOR EACH ROW EXECUTE FUNCTION response_changed();
CREATE FUNCTION child_came() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  UPDATE responses SET children = children + 1 WHERE response = NEW.parent;
  RETURN NULL;
END $$;
CREATE TRIGGER child_came AFTER INSERT ON responses FOR EACH ROW WHEN (NEW.parent IS NOT NULL)
  EXECUTE FUNCTION child_came();
CREATE FUNCTION response_went() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF OLD.parent IS NOT NULL THEN UPDATE responses SET children = children - 1 WHERE response = OLD.parent; END IF;
  -- Two nodes that delete at once: the second one waits here, and then sees what the first has left.
  PERFORM FROM account_keys WHERE account = OLD.account FOR UPDATE;
  DELETE FROM account_keys WHERE account = OLD.account AND NOT EXISTS
    (SELECT FROM responses WHERE responses.account = OLD.account);
  RETURN NULL;
END $$;
CREATE TRIGGER response_went AFTER DELETE ON responses FOR EACH ROW EXECUTE FUNCTION response_went();
CREATE FUNCTION link_went() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM FROM items WHERE item = OLD.item FOR UPDATE;
  DELETE FROM items WHERE item = OLD.item AND NOT EXISTS
    (SELECT FROM response_items WHERE response_items.item = OLD.item);
  RETURN NULL;
END $$;
CREATE TRIGGER link_went AFTER DELETE ON response_items FOR EACH ROW EXECUTE FUNCTION link_went();

CREATE TABLE usage_series (
  series bigint PRIMARY KEY,
  account bigint NOT NULL,
  level text NOT NULL CHECK (level IN ('all', 'kind', 'model', 'kind+model', 'key', 'key+model')),
  key bigint NOT NULL,
  model text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('', 'wallet', 'builder')),
  last_at bigint NOT NULL,
  UNIQUE (account, level, key, model, kind)
);
CREATE TABLE usage (
  series bigint NOT NULL,
  quarter bigint NOT NULL,
  ${SUMS},
  CHECK (failed <= requests),
  PRIMARY KEY (series, quarter)
);
CREATE TABLE usage_upto (
  account bigint PRIMARY KEY,
  movement bigint NOT NULL,
  closed_at bigint NOT NULL
);
CREATE TABLE lockouts (
  name text COLLATE "C" PRIMARY KEY,
  until bigint NOT NULL
);
CREATE INDEX lockouts_by_end ON lockouts (until);
-- Sealed reasoning before tool calls, which nodes on SQLite keep in memory.
CREATE TABLE call_seals (
  name text COLLATE "C" PRIMARY KEY,
  sealed text NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX call_seals_by_expiry ON call_seals (expires_at);
CREATE TABLE refused_series (
  series bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account text NOT NULL,
  key text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('wallet', 'builder')),
  code text NOT NULL,
  UNIQUE (account, key, kind, code)
);
CREATE TABLE refused_turns (
  series bigint NOT NULL,
  quarter bigint NOT NULL,
  total bigint NOT NULL CHECK (total >= 0),
  PRIMARY KEY (series, quarter)
);
`

/** Members and teams of an account, and the caps of people, teams and new keys. */
export const ORGANISATION_TABLES = `
ALTER TABLE people DROP CONSTRAINT people_role_check;
ALTER TABLE people ADD CONSTRAINT people_role_check CHECK (role IN ('owner', 'admin', 'member', 'viewer', 'operator'));
ALTER TABLE invites DROP CONSTRAINT invites_role_check;
ALTER TABLE invites ADD CONSTRAINT invites_role_check CHECK (role IN ('owner', 'admin', 'member', 'viewer', 'operator'));

CREATE TABLE teams (
  row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text NOT NULL UNIQUE,
  account bigint NOT NULL REFERENCES accounts (row),
  name text NOT NULL,
  created_at bigint NOT NULL,
  archived_at bigint
);
CREATE INDEX teams_of_account ON teams (account, row);
CREATE UNIQUE INDEX live_team_names ON teams (account, name) WHERE archived_at IS NULL;

ALTER TABLE keys ADD COLUMN person bigint REFERENCES people (row);
ALTER TABLE keys ADD COLUMN team bigint REFERENCES teams (row);
CREATE INDEX keys_of_person ON keys (person, row) WHERE person IS NOT NULL;
CREATE INDEX keys_of_team ON keys (team, row) WHERE team IS NOT NULL;

CREATE TABLE spend_caps (
  account bigint NOT NULL REFERENCES accounts (row),
  holder text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  amount_nano bigint NOT NULL CHECK (amount_nano > 0),
  PRIMARY KEY (account, holder, name)
);

-- What a key may do depends on its person, its team and their caps.
CREATE FUNCTION signal_account() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO signals (about, subject) VALUES ('account', coalesce(NEW.account, OLD.account));
  PERFORM pg_notify('millrace', '');
  RETURN NULL;
END $$;
CREATE TRIGGER member_changed AFTER UPDATE OF disabled_at ON people FOR EACH ROW WHEN (NEW.account IS NOT NULL)
  EXECUTE FUNCTION signal_account();
CREATE TRIGGER cap_changed AFTER INSERT OR UPDATE OR DELETE ON spend_caps FOR EACH ROW EXECUTE FUNCTION signal_account();

CREATE TABLE cap_raises (
  account bigint NOT NULL REFERENCES accounts (row),
  subject text COLLATE "C" NOT NULL,
  amount_nano bigint NOT NULL CHECK (amount_nano > 0),
  until bigint NOT NULL,
  PRIMARY KEY (account, subject)
);
CREATE INDEX cap_raises_by_end ON cap_raises (until);
CREATE TRIGGER cap_raised AFTER INSERT OR UPDATE ON cap_raises FOR EACH ROW EXECUTE FUNCTION signal_account();
`

/** Members of an account do not share a playground key. 0 stands for the account. */
/** The person of the key that a response was requested with: a member reads only their own. */
export const PERSONS_OF_RESPONSES = `
ALTER TABLE responses ADD COLUMN person bigint;
`

export const RUNS_TABLE = `
CREATE TABLE runs (
  row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account bigint NOT NULL REFERENCES accounts (row),
  id text COLLATE "C" NOT NULL,
  parent bigint REFERENCES runs (row),
  max_nano bigint CHECK (max_nano > 0),
  max_requests bigint CHECK (max_requests > 0),
  max_tokens bigint CHECK (max_tokens > 0),
  opened_at bigint NOT NULL,
  ends_at bigint NOT NULL,
  UNIQUE (account, id)
);
CREATE INDEX runs_by_parent ON runs (parent) WHERE parent IS NOT NULL;
CREATE INDEX runs_by_end ON runs (ends_at);
CREATE INDEX counters_of_runs_by_end ON spend_counters (period_end) WHERE subject LIKE 'cap:run:%';
`

export const WHOSE_RUNS = `
ALTER TABLE keys ADD COLUMN run text;
ALTER TABLE keys ADD COLUMN step_down text;
ALTER TABLE runs ADD COLUMN person bigint;
CREATE INDEX runs_of_account ON runs (account, row);
CREATE INDEX runs_of_person ON runs (person, row) WHERE person IS NOT NULL;
`

/** As in the SQLite file: by `receipts_by_movement` alone an account is read until there is a request of the kind. */
export const KIND_INDEXES = `
CREATE INDEX wallet_receipts_by_movement ON receipts (account, movement) WHERE kind = 'wallet' AND movement IS NOT NULL;
CREATE INDEX builder_receipts_by_movement ON receipts (account, movement) WHERE kind = 'builder' AND movement IS NOT NULL;
`

export const PLAYGROUND_INDEX = `
DROP INDEX one_playground_key;
CREATE UNIQUE INDEX one_playground_key ON keys (account, kind, coalesce(person, 0))
  WHERE playground = 1 AND revoked_at IS NULL;
`

/** The runs of CI jobs: see 0027-jobs of the SQLite file. */
export const JOB_COLUMNS = `
ALTER TABLE runs ADD COLUMN key bigint;
ALTER TABLE runs ADD COLUMN tags text;
`

/**
 * A look at two other tables for each hold, which also locked their rows, was a tenth of what a request costs PostgreSQL. Accounts and
 * nodes are never deleted, and a hold is placed with the wallet of its account and the lease of its node locked or read.
 */
export const HOLDS_WITHOUT_LOOKS = `
ALTER TABLE receipts DROP CONSTRAINT receipts_account_fkey, DROP CONSTRAINT receipts_node_fkey;
`

/**
 * The tags of requests: see 0020-tags of the SQLite file. A node of the version before ends a request with tags too, so a trigger adds
 * its rows. Series of usage by tag have levels of their own.
 */
export const TAG_TABLES = `
ALTER TABLE receipts ADD COLUMN tags text;
-- See 0024-asked-values of the SQLite file.
ALTER TABLE receipts ADD COLUMN asked text;
CREATE TABLE receipt_tags (
  account bigint NOT NULL,
  tag text COLLATE "C" NOT NULL,
  movement bigint NOT NULL,
  PRIMARY KEY (account, tag, movement)
);
CREATE FUNCTION tags_of_receipt() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO receipt_tags (account, tag, movement)
    SELECT NEW.account, value, NEW.movement FROM jsonb_array_elements_text(NEW.tags::jsonb) AS each (value)
    ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER tags_of_receipt AFTER INSERT OR UPDATE ON receipts FOR EACH ROW
  WHEN (NEW.tags IS NOT NULL AND NEW.movement IS NOT NULL) EXECUTE FUNCTION tags_of_receipt();
ALTER TABLE usage_series DROP CONSTRAINT usage_series_level_check;
ALTER TABLE usage_series ADD CONSTRAINT usage_series_level_check
  CHECK (level IN ('all', 'kind', 'model', 'kind+model', 'key', 'key+model', 'tag', 'kind+tag', 'key+tag'));
`

/** What operators manage beside the configuration file, with the signal that tells all nodes to load it. */
export const MANAGED_TABLES = `
CREATE TABLE managed_entries (
  row bigint PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('upstream', 'model', 'plan', 'price')),
  name text COLLATE "C" NOT NULL,
  entry text,
  ring_key text,
  sealed bytea,
  effective_from bigint NOT NULL,
  created_at bigint NOT NULL,
  created_by text NOT NULL,
  CHECK ((ring_key IS NULL) = (sealed IS NULL))
);
CREATE INDEX managed_entries_by_name ON managed_entries (kind, name, row);
CREATE TRIGGER managed_entry_added AFTER INSERT ON managed_entries
  FOR EACH STATEMENT EXECUTE FUNCTION signal_change('managed');
`
