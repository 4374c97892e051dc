/**
 * The books on PostgreSQL: the tables of the SQLite file, with three differences. What a bucket was granted is a column, so
 * that a decision reads no history. The other sides keep no balance (they are summed when somebody asks), because a row
 * that every turn of every node writes would queue them all. And what one process keeps in memory lies here too: limits,
 * and which node attends which hold until when.
 */
export const POSTGRES_SCHEMA = `
CREATE TABLE meta (name text PRIMARY KEY, value text NOT NULL);

CREATE TABLE accounts (
  row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text NOT NULL UNIQUE,
  email text NOT NULL UNIQUE,
  status text NOT NULL CHECK (status IN ('active', 'suspended', 'closed')),
  created_at bigint NOT NULL,
  frozen_at bigint
);

CREATE SEQUENCE wallet_rows START 101 MAXVALUE 999999999;
CREATE SEQUENCE period_rows START 1000000000;

-- Half of a page stays empty, so that the next version of a balance finds room beside the last and no index is touched.
CREATE TABLE buckets (
  row bigint PRIMARY KEY,
  unit text NOT NULL CHECK (unit IN ('usd', 'quota')),
  kind text NOT NULL CHECK (kind IN ('wallet', 'window', 'system')),
  account bigint REFERENCES accounts (row),
  subject text NOT NULL,
  period_start bigint,
  period_end bigint,
  closed_at bigint,
  granted_nano bigint NOT NULL DEFAULT 0,
  posted_nano bigint NOT NULL DEFAULT 0,
  held_nano bigint NOT NULL DEFAULT 0 CHECK (held_nano >= 0),
  CHECK ((kind = 'system') = (account IS NULL)),
  CHECK (kind = 'system' OR unit = CASE kind WHEN 'wallet' THEN 'usd' ELSE 'quota' END),
  CHECK ((kind = 'window') = (period_end IS NOT NULL)),
  CHECK (closed_at IS NULL OR (posted_nano = 0 AND held_nano = 0)),
  CHECK (kind = 'system' OR posted_nano - held_nano >= 0)
) WITH (fillfactor = 50);
CREATE INDEX live_buckets_of_account ON buckets (account) WHERE closed_at IS NULL;
CREATE UNIQUE INDEX one_wallet_an_account ON buckets (account) WHERE kind = 'wallet';

-- Only 'external' keeps a balance: operators' transfers are few, and each is bounded by their sum.
INSERT INTO buckets (row, unit, kind, subject) VALUES
  (1, 'usd', 'system', 'external'), (2, 'usd', 'system', 'revenue'),
  (-11, 'quota', 'system', 'issued'), (-12, 'quota', 'system', 'used'), (-13, 'quota', 'system', 'expired');

-- What a key has spent in the running period of a spend cap, and what its turns hold. The next period begins in the same row.
CREATE TABLE spend_counters (
  account bigint NOT NULL REFERENCES accounts (row),
  subject text COLLATE "C" NOT NULL,
  period_start bigint NOT NULL,
  period_end bigint NOT NULL,
  bound_nano bigint NOT NULL,
  spent_nano bigint NOT NULL CHECK (spent_nano >= 0),
  held_nano bigint NOT NULL CHECK (held_nano >= 0),
  PRIMARY KEY (account, subject),
  CHECK (spent_nano <= bound_nano - held_nano)
) WITH (fillfactor = 50);

-- A run of a process. Once its lease has ended it stays ended: a node that comes back begins a new one.
CREATE TABLE nodes (
  row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  started_at bigint NOT NULL,
  lease_until bigint NOT NULL
);

CREATE TABLE marks (
  node bigint PRIMARY KEY REFERENCES nodes (row),
  at bigint NOT NULL,
  packed bytea NOT NULL
);

CREATE TABLE receipts (
  row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  request_id text NOT NULL UNIQUE,
  account bigint NOT NULL REFERENCES accounts (row),
  key bigint NOT NULL,
  kind text NOT NULL CHECK (kind IN ('wallet', 'builder')),
  state text NOT NULL CHECK (state IN ('open', 'settled', 'released')),
  model text NOT NULL,
  price_version integer NOT NULL,
  buckets bigint[] NOT NULL,
  -- Names of the key's spend caps that it counts against, with a space between them.
  caps text,
  hold_nano bigint NOT NULL CHECK (hold_nano >= 0),
  output_cap bigint NOT NULL,
  output_bound bigint NOT NULL,
  input_estimate bigint NOT NULL,
  cached_estimate bigint NOT NULL,
  opened_at bigint NOT NULL,
  node bigint NOT NULL REFERENCES nodes (row),
  limits jsonb NOT NULL,
  closed_at bigint,
  -- Names the one close that took effect, so that whoever sends it again after a lost answer hears the same.
  closing text,
  outcome text,
  lane text,
  uncached_input bigint,
  cached_input bigint,
  cache_write bigint,
  output bigint,
  reasoning bigint,
  estimated boolean,
  tier bigint,
  cost_nano bigint,
  charge_nano bigint,
  shortfall_nano bigint,
  first_byte_ms double precision,
  total_ms double precision,
  attempts text,
  tokens_before bigint,
  tokens_after bigint,
  movement bigint,
  balance_nano bigint,
  CHECK ((state = 'open') = (movement IS NULL)),
  CHECK (charge_nano IS NULL OR charge_nano BETWEEN 0 AND hold_nano),
  CHECK ((state = 'open') = (charge_nano IS NULL)),
  CHECK (state <> 'released' OR charge_nano = 0)
) WITH (fillfactor = 70);
CREATE INDEX open_receipts ON receipts (node) WHERE state = 'open';
CREATE UNIQUE INDEX receipts_by_movement ON receipts (account, movement) WHERE movement IS NOT NULL;

CREATE SEQUENCE transfer_rows;
CREATE TABLE transfers (
  row bigint PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('credit', 'refund', 'adjustment', 'grant', 'expiry')),
  unit text NOT NULL CHECK (unit IN ('usd', 'quota')),
  account bigint NOT NULL REFERENCES accounts (row),
  ref text NOT NULL,
  reason text NOT NULL,
  amount_nano bigint NOT NULL,
  at bigint NOT NULL,
  movement bigint NOT NULL,
  balance_nano bigint,
  UNIQUE (account, kind, ref),
  UNIQUE (account, movement),
  CHECK ((unit = 'usd') = (kind IN ('credit', 'refund', 'adjustment')))
);
CREATE TABLE entries (
  transfer bigint NOT NULL REFERENCES transfers (row),
  seq integer NOT NULL,
  bucket bigint NOT NULL,
  delta_nano bigint NOT NULL,
  PRIMARY KEY (transfer, seq)
);
CREATE INDEX entries_of_bucket ON entries (bucket);

CREATE TABLE prices (
  model text NOT NULL,
  version integer NOT NULL,
  terms text NOT NULL,
  since bigint NOT NULL,
  PRIMARY KEY (model, version)
);

CREATE TABLE subscriptions (
  row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account bigint NOT NULL REFERENCES accounts (row),
  plan text NOT NULL,
  billing_day integer NOT NULL CHECK (billing_day BETWEEN 1 AND 31),
  started_at bigint NOT NULL,
  ends_at bigint
);
CREATE INDEX subscriptions_of_account ON subscriptions (account, row);

CREATE TABLE claims (
  receipt bigint PRIMARY KEY REFERENCES receipts (row),
  scope text NOT NULL UNIQUE,
  fingerprint text NOT NULL,
  state text NOT NULL CHECK (state IN ('running', 'kept', 'not-kept')),
  at bigint NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX claims_by_expiry ON claims (expires_at);

-- One row a limit in use. For a rate: the moment (in microseconds of this database's clock) at which everything taken is
-- earned back. For a limit on turns at once: how many run; it moves in the transaction of their holds, so it cannot leak.
CREATE TABLE limits (
  subject text COLLATE "C" PRIMARY KEY,
  reached_at double precision NOT NULL DEFAULT 0,
  running integer NOT NULL DEFAULT 0 CHECK (running >= 0)
) WITH (fillfactor = 50);

-- The charge of a request as entries that sum to zero in each unit: out of every bucket that its hold stood on, and into
-- what its unit counts as used.
CREATE VIEW usage_entries AS
  SELECT receipts.row AS receipt, held_on.bucket, -receipts.charge_nano AS delta_nano
    FROM receipts, unnest(receipts.buckets) AS held_on (bucket)
    WHERE receipts.state = 'settled'
  UNION ALL
  SELECT receipts.row, CASE buckets.unit WHEN 'usd' THEN 2 ELSE -12 END, receipts.charge_nano
    FROM receipts, unnest(receipts.buckets) AS held_on (bucket) JOIN buckets ON buckets.row = held_on.bucket
    WHERE receipts.state = 'settled';

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '%', TG_ARGV[0];
END $$;
CREATE TRIGGER entries_are_final BEFORE UPDATE OR DELETE ON entries
  FOR EACH ROW EXECUTE FUNCTION refuse_change('entries are never edited');
CREATE TRIGGER closed_receipts_are_final BEFORE UPDATE ON receipts
  FOR EACH ROW WHEN (OLD.state <> 'open') EXECUTE FUNCTION refuse_change('a closed receipt is never edited');
CREATE TRIGGER closed_buckets_are_final BEFORE UPDATE ON buckets
  FOR EACH ROW WHEN (OLD.closed_at IS NOT NULL) EXECUTE FUNCTION refuse_change('a closed period is never moved');
`
