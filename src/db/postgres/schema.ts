import { createHash } from 'node:crypto'
import { RUN_KEPT_MS } from '../../model/run.ts'
import { BODY_TABLES } from './bodies.ts'
import { SLICE_FUNCTIONS, SLICE_TABLE } from './limit-slices.ts'
import { LIMIT_FUNCTIONS } from './limits.ts'
import { NOTICE_TABLES } from './notices.ts'
import { OPERATOR_FUNCTIONS } from './operator.ts'
import { PAYMENT_TABLES } from './payment-tables.ts'
import { PERIOD_FUNCTIONS } from './periods.ts'
import { CONVERSATION_TABLES, SERVED_TABLES } from './served-tables.ts'
import { SECOND_FACTOR_TABLES, SIGN_ON_TABLES } from './sign-in-tables.ts'
import {
  ADMIN_CALLS_TABLE,
  ADMIN_KEYS_TABLE,
  CONTENT_TABLES,
  HOLDS_WITHOUT_LOOKS,
  JOB_COLUMNS,
  KIND_INDEXES,
  MANAGED_TABLES,
  ORGANISATION_TABLES,
  PEOPLE_TABLES,
  PERSONS_OF_RESPONSES,
  PLAYGROUND_INDEX,
  RUNS_TABLE,
  SIGNAL_TABLES,
  TAG_TABLES,
  WHOSE_RUNS,
} from './tables.ts'
import { COMPATIBILITY_FUNCTIONS } from './translate.ts'
import { ADMIT_FUNCTIONS, CLOSE_FUNCTIONS } from './turns.ts'
import { PROOF_FUNCTIONS } from './verify.ts'

/**
 * The tables of the SQLite file, with three differences. What a bucket was granted is a column, so that a decision reads no
 * history. The other sides keep no balance, because a row that every turn of every node writes would be a bottleneck. Limits
 * and the leases of nodes are tables, because several processes share them.
 */
const POSTGRES_SCHEMA = `
CREATE TABLE meta (name text PRIMARY KEY, value text NOT NULL);

CREATE TABLE accounts (
  row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
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
  subject text COLLATE "C" NOT NULL,
  period_start bigint,
  period_end bigint,
  closed_at bigint,
  granted_nano bigint NOT NULL DEFAULT 0,
  posted_nano bigint NOT NULL DEFAULT 0,
  held_nano bigint NOT NULL DEFAULT 0 CHECK (held_nano >= 0),
  -- Of a wallet: how many movements its account has.
  movements bigint NOT NULL DEFAULT 0,
  CHECK ((kind = 'system') = (account IS NULL)),
  CHECK (kind = 'system' OR unit = CASE kind WHEN 'wallet' THEN 'usd' ELSE 'quota' END),
  CHECK ((kind = 'window') = (period_end IS NOT NULL)),
  CHECK (closed_at IS NULL OR (posted_nano = 0 AND held_nano = 0)),
  CHECK (kind = 'system' OR posted_nano - held_nano >= 0)
) WITH (fillfactor = 50);
CREATE INDEX live_buckets_of_account ON buckets (account) WHERE closed_at IS NULL;
CREATE UNIQUE INDEX one_wallet_an_account ON buckets (account) WHERE kind = 'wallet';

-- Only 'external' keeps a balance: operators' transfers are few, and each is bounded by their sum.
INSERT INTO meta (name, value) VALUES ('ledger_id', replace(gen_random_uuid()::text, '-', ''));

INSERT INTO buckets (row, unit, kind, subject) VALUES
  (1, 'usd', 'system', 'external'), (2, 'usd', 'system', 'revenue'),
  (-11, 'quota', 'system', 'issued'), (-12, 'quota', 'system', 'used'), (-13, 'quota', 'system', 'expired');

-- What a key, person or team has spent in the running period of a cap, and what its turns hold; of a cap on requests or tokens their
-- number. The next period begins in the same row.
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
  -- Marks of the caps that it counts against, with a space between them: day of its key, team:3:month of its team.
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
  -- Names the one close that took effect, so that a node that sends it again after a lost answer gets the same.
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

-- How far each account is proved: movements up to this one, and what they sum up to. A proof begins there, and only one that
-- finds nothing in the account moves it on.
CREATE TABLE proved_accounts (
  account bigint PRIMARY KEY REFERENCES accounts (row),
  movement bigint NOT NULL,
  balance_nano bigint NOT NULL,
  -- {"buckets": {row: [posted, granted]}, "caps": {subject: [period_start, spent]}}, of those that may still move.
  sums jsonb NOT NULL
);

-- The charge of a request as entries that sum to zero in each unit: out of each bucket of its hold, into revenue or used.
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

/**
 * What every operation begins with. Locks are always taken in the same order, accounts by wallet row, then limits by name,
 * so that no two batches ever wait for each other in a circle.
 */
const LOCK_FUNCTIONS = `
-- The database decides by its own clock only; no node's clock is trusted. Microseconds since 1970.
CREATE FUNCTION ledger_micros() RETURNS bigint LANGUAGE sql AS $$
  SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
$$;

-- The wallet row locks the whole account: periods (also future ones), claims, subscription. Callers read in a later
-- statement, whose snapshot is newer than the lock; reading in the same statement would see rows from before the wait.
CREATE FUNCTION lock_accounts(concerned bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  locked integer;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'The ledger needs transactions in READ COMMITTED: look again after each lock';
  END IF;
  -- A charge must survive a power loss.
  IF current_setting('synchronous_commit') = 'off' THEN PERFORM set_config('synchronous_commit', 'on', true); END IF;
  SELECT count(*) INTO locked FROM (
    SELECT FROM buckets WHERE kind = 'wallet' AND account = ANY (concerned) ORDER BY row FOR NO KEY UPDATE) AS wallets;
  IF locked <> (SELECT count(DISTINCT each) FROM unnest(concerned) AS each) THEN RAISE EXCEPTION 'An account of % has no wallet', concerned; END IF;
END $$;

-- The number of the next movement. The caller has the account's lock, so no other call gets the same.
CREATE FUNCTION next_movement(of_account bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  number bigint;
BEGIN
  UPDATE buckets SET movements = movements + 1 WHERE kind = 'wallet' AND account = of_account RETURNING movements INTO number;
  RETURN number;
END $$;

-- Inserts missing rows, also those that a sweep deletes meanwhile, and locks the others, in one statement. The condition
-- is never true, but PostgreSQL locks the row before it evaluates it.
CREATE FUNCTION lock_limits(subjects text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO limits (subject) SELECT DISTINCT each COLLATE "C" FROM unnest(subjects) AS each ORDER BY 1
    ON CONFLICT (subject) DO UPDATE SET running = 0 WHERE false;
END $$;
`

/** Which node attends which hold, and which may end it when none does. The database decides when a lease expires. */
const NODE_FUNCTIONS = `
CREATE FUNCTION begin_node(lease_ms bigint) RETURNS bigint LANGUAGE sql AS $$
  INSERT INTO nodes (started_at, lease_until) VALUES (ledger_micros() / 1000, ledger_micros() / 1000 + lease_ms) RETURNING row
$$;

-- Goes on with the lease and records how far its streams have got. False: it has ended, and others may have its holds.
CREATE FUNCTION keep_node(of_node bigint, lease_ms bigint, progress bytea) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  at bigint := ledger_micros() / 1000;
BEGIN
  UPDATE nodes SET lease_until = at + lease_ms WHERE row = of_node AND lease_until > at;
  IF NOT FOUND THEN RETURN false; END IF;
  IF progress IS NOT NULL THEN
    INSERT INTO marks (node, at, packed) VALUES (of_node, at, progress)
      ON CONFLICT (node) DO UPDATE SET at = excluded.at, packed = excluded.packed;
  END IF;
  RETURN true;
END $$;

CREATE FUNCTION end_node(of_node bigint) RETURNS void LANGUAGE sql AS $$
  UPDATE nodes SET lease_until = least(lease_until, ledger_micros() / 1000) WHERE row = of_node
$$;

-- Holds of nodes whose lease ended that long ago, and those of the asking node itself; but none that a turn of the asker attends.
-- In that time a node that could not reach the database brings the ends that it knows. The marks are those of all nodes.
CREATE FUNCTION abandoned_turns(asking bigint, attended text[], grace_ms bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  turns jsonb;
BEGIN
  SELECT jsonb_agg(jsonb_build_object('requestId', request_id, 'receipt', row, 'account', account, 'node', node, 'model', model,
      'priceVersion', price_version, 'inputEstimate', input_estimate, 'cachedEstimate', cached_estimate,
      'outputBound', output_bound, 'asked', asked)) INTO turns
    FROM (SELECT receipts.* FROM receipts JOIN nodes ON nodes.row = receipts.node
      WHERE receipts.state = 'open' AND receipts.request_id <> ALL (attended)
        AND (receipts.node = asking OR (nodes.lease_until <= ledger_micros() / 1000 - grace_ms
          -- A server that was away has been reached by all nodes by then.
          AND (grace_ms = 0 OR pg_postmaster_start_time() <= clock_timestamp() - grace_ms * interval '1 millisecond')))
      ORDER BY receipts.row LIMIT 500) AS abandoned;
  IF turns IS NULL THEN RETURN '{"turns": [], "marks": {}}'; END IF;
  RETURN jsonb_build_object('turns', turns,
    'marks', (SELECT coalesce(jsonb_object_agg(node, encode(packed, 'hex')), '{}') FROM marks));
END $$;

-- Which of these turns are not open any more.
CREATE FUNCTION ended_turns(asked text[]) RETURNS jsonb LANGUAGE sql AS $$
  SELECT coalesce(jsonb_agg(each), '[]') FROM unnest(asked) AS each
    WHERE NOT EXISTS (SELECT FROM receipts WHERE request_id = each AND state = 'open')
$$;

-- True for one node an interval: that one does the job.
CREATE FUNCTION claim_job(job text, interval_ms bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  at bigint := ledger_micros() / 1000;
BEGIN
  INSERT INTO jobs (name, due_at) VALUES (job, at + interval_ms)
    ON CONFLICT (name) DO UPDATE SET due_at = excluded.due_at WHERE jobs.due_at <= at;
  RETURN FOUND;
END $$;

CREATE FUNCTION price_terms(of_model text, of_version integer) RETURNS text LANGUAGE sql AS $$
  SELECT terms FROM prices WHERE model = of_model AND version = of_version
$$;

-- Deletes rates that are fully earned back, expired claims, counters of ended runs, what dead nodes held of limits, and their progress when none has an
-- open hold: a process that lost a lease marks the turns of that one under its next.
CREATE FUNCTION tidy_ledger() RETURNS void LANGUAGE sql AS $$
  DELETE FROM limits WHERE subject IN (SELECT subject FROM limits WHERE running = 0 AND reached_at <= ledger_micros()
    ORDER BY subject LIMIT 1000 FOR UPDATE SKIP LOCKED);
  DELETE FROM claims WHERE receipt IN (SELECT receipt FROM claims WHERE state <> 'running'
    AND expires_at <= ledger_micros() / 1000 ORDER BY expires_at LIMIT 1000 FOR UPDATE SKIP LOCKED);
  DELETE FROM marks USING nodes WHERE nodes.row = marks.node AND nodes.lease_until <= ledger_micros() / 1000
    AND NOT EXISTS (SELECT FROM receipts JOIN nodes AS dead ON dead.row = receipts.node
      WHERE receipts.state = 'open' AND dead.lease_until <= ledger_micros() / 1000);
  DELETE FROM spend_counters WHERE (account, subject) IN (SELECT account, subject FROM spend_counters
    WHERE subject LIKE 'cap:run:%' AND period_end <= ledger_micros() / 1000 AND held_nano = 0
    ORDER BY period_end LIMIT 1000 FOR UPDATE SKIP LOCKED);
  -- As \`forgetRuns\` does on SQLite.
  DELETE FROM runs WHERE runs.row IN (
    WITH slice AS MATERIALIZED (SELECT (SELECT MIN(known.row) FROM runs AS known) + floor(random()
      * (((SELECT MAX(known.row) FROM runs AS known) - (SELECT MIN(known.row) FROM runs AS known)) / 1000 + 1))::bigint
      * 1000 AS first)
    SELECT ended.row FROM slice JOIN runs AS ended ON ended.row >= slice.first AND ended.row < slice.first + 1000
      WHERE ended.ends_at <= ledger_micros() / 1000 - ${RUN_KEPT_MS}
        AND NOT EXISTS (SELECT FROM runs AS inside WHERE inside.parent = ended.row)
        AND NOT EXISTS (WITH RECURSIVE around (parent, ends_at) AS (
            SELECT outer_one.parent, outer_one.ends_at FROM runs AS outer_one WHERE outer_one.row = ended.parent
            UNION ALL SELECT next.parent, next.ends_at FROM around JOIN runs AS next ON next.row = around.parent)
          SELECT FROM around WHERE around.ends_at > ledger_micros() / 1000 - ${RUN_KEPT_MS})
      FOR UPDATE OF ended SKIP LOCKED);
  DELETE FROM limit_slices USING nodes WHERE nodes.row = limit_slices.node AND nodes.lease_until <= ledger_micros() / 1000
$$;
`

/** What nodes call; everything else is called by these. Their settings hold for what they call. */
const CALLS = [
  ...['run_turns', 'take_request', 'take_slices', 'look_up_claim', 'price_terms'],
  ...['begin_node', 'keep_node', 'end_node', 'abandoned_turns', 'ended_turns', 'tidy_ledger', 'claim_job'],
  ...['add_account', 'account_standing', 'allowance_report', 'transfer_money', 'assign_plan', 'end_plan'],
]
const PROOFS = ['prove_accounts', 'prove_shared']

/** How many functions a whole functions schema has that nodes call. */
export const ENTRIES = CALLS.length + PROOFS.length

/**
 * A connection keeps a plan for all calls. One that was made for a small table, or with the figures of a small one, would read a
 * large one whole.
 */
const BY_INDEX = `SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
  SET plan_cache_mode = force_generic_plan`

/** A slice of a proof reads tables by their indexes too, and joins what it has read. Compiling it would take longer than it does. */
const IN_SLICES = 'SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan'

/** In the order in which they need each other. */
const FUNCTIONS = [
  LOCK_FUNCTIONS,
  PERIOD_FUNCTIONS,
  LIMIT_FUNCTIONS,
  SLICE_FUNCTIONS,
  ADMIT_FUNCTIONS,
  CLOSE_FUNCTIONS,
  OPERATOR_FUNCTIONS,
  NODE_FUNCTIONS,
  PROOF_FUNCTIONS,
  COMPATIBILITY_FUNCTIONS,
].join('\n')

export const TABLES_SCHEMA = 'millrace'

/**
 * The changes of the tables, in order, each in a transaction of its own. The previous version runs beside the new one: a change
 * adds, and what it replaces goes one version later.
 */
export const TABLE_CHANGES: readonly string[] = [
  [POSTGRES_SCHEMA, SLICE_TABLE, PEOPLE_TABLES, SIGNAL_TABLES, CONTENT_TABLES, BODY_TABLES].join('\n'),
  ADMIN_KEYS_TABLE,
  [ADMIN_CALLS_TABLE, ORGANISATION_TABLES, PLAYGROUND_INDEX].join('\n'),
  [
    PERSONS_OF_RESPONSES,
    PAYMENT_TABLES,
    SERVED_TABLES,
    NOTICE_TABLES,
    SECOND_FACTOR_TABLES,
    SIGN_ON_TABLES,
    MANAGED_TABLES,
    TAG_TABLES,
    CONVERSATION_TABLES,
    RUNS_TABLE,
    KIND_INDEXES,
  ].join('\n'),
  WHOSE_RUNS,
  JOB_COLUMNS,
  HOLDS_WITHOUT_LOOKS,
]

/** Of all versions, with the views. */
export const TABLE_NAMES: readonly string[] = TABLE_CHANGES.flatMap((change) =>
  [...change.matchAll(/^CREATE (?:TABLE|VIEW) (\w+)/gm)].map(([, name]) => name!),
)

const createFunctions = (schema: string) => `
CREATE SCHEMA ${schema};
SET LOCAL search_path = ${schema}, ${TABLES_SCHEMA};
${FUNCTIONS}
DO $$
DECLARE
  entry record;
  found integer := 0;
BEGIN
  FOR entry IN SELECT oid::regprocedure AS name, proname = ANY ('{${PROOFS.join(',')}}') AS is_proof FROM pg_proc
      WHERE pronamespace = '${schema}'::regnamespace AND proname = ANY ('{${[...CALLS, ...PROOFS].join(',')}}') LOOP
    EXECUTE 'ALTER FUNCTION ' || entry.name || ' SET search_path = ${schema}, ${TABLES_SCHEMA}, pg_temp';
    EXECUTE 'ALTER FUNCTION ' || entry.name || CASE WHEN entry.is_proof THEN ' ${IN_SLICES}' ELSE ' ${BY_INDEX}' END;
    found := found + 1;
  END LOOP;
  IF found <> ${ENTRIES} THEN RAISE EXCEPTION '% of ${ENTRIES} entries were created', found; END IF;
END $$;
`

/** Each build has its functions in a schema of their own, so that nodes of two builds can run beside each other. */
export const FUNCTIONS_SCHEMA = `millrace_${createHash('sha256').update(createFunctions('')).digest('hex').slice(0, 12)}`

export const CREATE_FUNCTIONS = createFunctions(FUNCTIONS_SCHEMA)
