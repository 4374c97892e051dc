/** Accounts, credits and plans: the rules of ledger/state/operator-commands.ts in SQL. */
export const OPERATOR_FUNCTIONS = `
-- An account is never without its wallet, which is also its lock.
CREATE FUNCTION add_account(public_id text, address text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  added bigint;
BEGIN
  INSERT INTO accounts (id, email, status, created_at) VALUES (public_id, address, 'active', ledger_micros() / 1000)
    RETURNING row INTO added;
  INSERT INTO buckets (row, unit, kind, account, subject) VALUES (nextval('wallet_rows'), 'usd', 'wallet', added, 'wallet');
  RETURN added;
END $$;

CREATE FUNCTION account_standing(of_account bigint) RETURNS jsonb LANGUAGE sql AS $$
  SELECT jsonb_build_object('balance', posted_nano::text, 'held', held_nano::text, 'available', (posted_nano - held_nano)::text)
    FROM buckets WHERE kind = 'wallet' AND account = of_account
$$;

CREATE FUNCTION transfer_money(op jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  of_account CONSTANT bigint := (op ->> 'account')::bigint;
  delta CONSTANT bigint := (op ->> 'amount')::bigint;
  wallet_max CONSTANT bigint := 1000000000000000000;
  issued_max CONSTANT bigint := 9000000000000000000;
  transfer bigint;
  known bigint;
  wallet buckets;
  issued bigint;
BEGIN
  PERFORM lock_accounts(ARRAY[of_account]);
  SELECT amount_nano INTO known FROM transfers WHERE account = of_account AND kind = op ->> 'kind' AND ref = op ->> 'ref';
  IF known <> delta THEN RETURN jsonb_build_object('kind', 'ref-taken', 'amount', known::text); END IF;
  IF known IS NOT NULL THEN RETURN jsonb_build_object('kind', 'exists', 'standing', account_standing(of_account)); END IF;
  SELECT * INTO wallet FROM buckets WHERE kind = 'wallet' AND account = of_account;
  IF wallet.posted_nano - wallet.held_nano + delta::numeric < 0 THEN
    RETURN jsonb_build_object('kind', 'short', 'standing', account_standing(of_account));
  END IF;
  -- Locked after the wallet. No transaction that holds this lock waits for a wallet.
  SELECT -posted_nano INTO issued FROM buckets WHERE row = 1 FOR NO KEY UPDATE;
  IF delta > 0 AND wallet.posted_nano + delta::numeric > wallet_max THEN
    RETURN jsonb_build_object('kind', 'too-much', 'holder', 'wallet', 'most', wallet_max::text);
  END IF;
  IF delta > 0 AND issued + delta::numeric > issued_max THEN
    RETURN jsonb_build_object('kind', 'too-much', 'holder', 'books', 'most', issued_max::text);
  END IF;
  transfer := nextval('transfer_rows');
  INSERT INTO transfers (row, kind, unit, account, ref, reason, amount_nano, at, movement, balance_nano)
    VALUES (transfer, op ->> 'kind', 'usd', of_account, op ->> 'ref', op ->> 'reason', delta, ledger_micros() / 1000,
      next_movement(of_account), wallet.posted_nano + delta);
  INSERT INTO entries (transfer, seq, bucket, delta_nano) VALUES (transfer, 0, wallet.row, delta), (transfer, 1, 1, -delta);
  UPDATE buckets SET posted_nano = posted_nano + delta, granted_nano = granted_nano + delta WHERE row = wallet.row;
  UPDATE buckets SET posted_nano = posted_nano - delta WHERE row = 1;
  RETURN jsonb_build_object('kind', 'credited', 'standing', account_standing(of_account));
END $$;

CREATE FUNCTION plan_result(result_kind text, plan subscriptions) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT jsonb_build_object('kind', result_kind, 'subscription', jsonb_build_object('row', plan.row, 'plan', plan.plan,
    'billingDay', plan.billing_day, 'startedAt', plan.started_at, 'endsAt', plan.ends_at))
$$;

-- The newest one counts, until just before it ends. All nulls when there is none.
CREATE FUNCTION running_plan(of_account bigint, moment bigint) RETURNS subscriptions LANGUAGE sql AS $$
  SELECT * FROM (SELECT * FROM subscriptions WHERE account = of_account ORDER BY row DESC LIMIT 1) AS newest
    WHERE ends_at IS NULL OR ends_at > moment
$$;

CREATE FUNCTION set_plan_end(running subscriptions, until bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
  IF running.ends_at IS NOT DISTINCT FROM until THEN RETURN plan_result('unchanged', running); END IF;
  UPDATE subscriptions SET ends_at = until WHERE row = running.row RETURNING * INTO running;
  RETURN plan_result('changed', running);
END $$;

-- More allowance counts at once, and what was used stays used; less counts for the windows that open from now on.
CREATE FUNCTION assign_plan(op jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  of_account CONSTANT bigint := (op ->> 'account')::bigint;
  until CONSTANT bigint := (op ->> 'endsAt')::bigint;
  at bigint;
  running subscriptions;
  started subscriptions;
  books live_bucket[];
  allowance jsonb;
  place integer;
BEGIN
  PERFORM lock_accounts(ARRAY[of_account]);
  at := ledger_micros() / 1000;
  running := running_plan(of_account, at);
  IF running.plan = op ->> 'plan' THEN RETURN set_plan_end(running, until); END IF;
  IF running.row IS NOT NULL THEN PERFORM set_plan_end(running, at); END IF;
  INSERT INTO subscriptions (account, plan, billing_day, started_at, ends_at)
    VALUES (of_account, op ->> 'plan',
      coalesce(running.billing_day, extract(day FROM to_timestamp(at / 1000) AT TIME ZONE 'UTC')::integer), at, until)
    RETURNING * INTO started;
  books := read_books(ARRAY[of_account], '{}');
  FOR number IN 0..jsonb_array_length(op -> 'windows') - 1 LOOP
    allowance := op -> 'windows' -> number;
    place := newest_of(books, of_account, allowance ->> 'subject');
    IF place IS NOT NULL AND books[place].period_end > at AND NOT is_unused(books[place])
        AND books[place].granted < (allowance ->> 'amount')::bigint THEN
      books[place] := grant_more(books[place], (allowance ->> 'amount')::bigint - books[place].granted, at);
    END IF;
  END LOOP;
  PERFORM write_books(books);
  RETURN plan_result('changed', started);
END $$;

-- At once, unless another moment is named.
CREATE FUNCTION end_plan(of_account bigint, until bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  at bigint;
  running subscriptions;
BEGIN
  PERFORM lock_accounts(ARRAY[of_account]);
  at := ledger_micros() / 1000;
  running := running_plan(of_account, at);
  IF running.row IS NULL THEN RETURN '{"kind": "no-subscription"}'; END IF;
  RETURN set_plan_end(running, coalesce(until, at));
END $$;

-- Looks, and changes nothing.
CREATE FUNCTION allowance_report(of_account bigint, allowances jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  at CONSTANT bigint := ledger_micros() / 1000;
  caps CONSTANT text[] := ARRAY(SELECT jsonb_path_query(allowances, '$[*] ? (@.unit == "cap").subject') #>> '{}');
  books CONSTANT live_bucket[] := read_books(ARRAY[of_account], caps);
  running CONSTANT subscriptions := running_plan(of_account, at);
  newest subscriptions;
  draw allowance_standing;
  draws allowance_standing[] := '{}';
  opened bigint[] := '{}';
BEGIN
  SELECT * INTO newest FROM subscriptions WHERE account = of_account ORDER BY row DESC LIMIT 1;
  FOR number IN 0..jsonb_array_length(allowances) - 1 LOOP
    draw := standing_of(books, of_account, allowances -> number, at, coalesce(newest.billing_day, 1));
    draws := array_append(draws, draw);
    opened := array_append(opened, CASE WHEN draw.running IS NOT NULL THEN books[draw.running].row END);
  END LOOP;
  RETURN jsonb_build_object('draws', coalesce(amounts_of(draws), '[]'), 'opened', opened, 'subscription',
    CASE WHEN running.row IS NOT NULL THEN plan_result('running', running) -> 'subscription' END);
END $$;
`

/** Proves the books from the rows alone, in one statement: it sees one moment, and no other statement waits for it. */
export const VERIFY_FUNCTIONS = `
CREATE FUNCTION verify_books() RETURNS jsonb LANGUAGE sql AS $$
WITH movements AS (
    SELECT bucket, delta_nano FROM entries UNION ALL SELECT bucket, delta_nano FROM usage_entries),
  history AS (
    SELECT account, movement, balance_nano, CASE kind WHEN 'wallet' THEN -charge_nano END AS delta_nano
      FROM receipts WHERE state <> 'open'
    UNION ALL SELECT account, movement, balance_nano, CASE unit WHEN 'usd' THEN amount_nano END FROM transfers),
  numbered AS (SELECT *, row_number() OVER by_number AS place,
      CASE WHEN delta_nano IS NOT NULL THEN sum(delta_nano) OVER by_number END AS total
    FROM history WINDOW by_number AS (PARTITION BY account ORDER BY movement ROWS UNBOUNDED PRECEDING)),
  moved AS (SELECT bucket, sum(delta_nano) AS total FROM movements GROUP BY bucket),
  granted AS (SELECT bucket, sum(delta_nano) AS total FROM entries WHERE delta_nano <> 0 GROUP BY bucket),
  holds AS (SELECT bucket, sum(hold_nano) AS total FROM receipts, unnest(receipts.buckets) AS held_on (bucket)
    WHERE state = 'open' GROUP BY bucket),
  counted AS (SELECT counter.account, counter.subject,
      coalesce(sum(charge_nano) FILTER (WHERE state = 'settled'), 0) AS spent,
      coalesce(sum(hold_nano) FILTER (WHERE state = 'open'), 0) AS held
    FROM receipts CROSS JOIN LATERAL unnest(string_to_array(receipts.caps, ' ')) AS name JOIN spend_counters AS counter
      ON counter.account = receipts.account AND counter.subject = 'cap:' || receipts.key || ':' || name
    WHERE receipts.opened_at >= counter.period_start GROUP BY counter.account, counter.subject),
  miscounted AS (SELECT counter.account FROM spend_counters AS counter LEFT JOIN counted USING (account, subject)
    WHERE (spent_nano, held_nano) IS DISTINCT FROM (coalesce(counted.spent, 0), coalesce(counted.held, 0))),
  places AS (SELECT subject #>> '{}' AS subject, count(*) AS total FROM receipts,
    jsonb_path_query(receipts.limits, '$[*] ? (@.kind == "concurrent").subject') AS subject
    WHERE state = 'open' GROUP BY 1),
  drawn AS (SELECT receipts.row, receipts.kind, receipts.account,
      count(*) FILTER (WHERE buckets.unit = 'usd') AS wallets, count(*) FILTER (WHERE buckets.unit = 'quota') AS windows,
      count(*) AS buckets, count(DISTINCT held_on.bucket) AS different,
      count(*) FILTER (WHERE buckets.account = receipts.account) AS own
    FROM receipts, unnest(receipts.buckets) AS held_on (bucket) LEFT JOIN buckets ON buckets.row = held_on.bucket
    GROUP BY receipts.row),
  checks (name, violations) AS (
    SELECT 'cost is charge plus shortfall',
      (SELECT count(*) FROM receipts WHERE state <> 'open' AND cost_nano <> charge_nano + shortfall_nano)
    UNION ALL SELECT 'entries of a charge sum to zero', (SELECT count(*) FROM
      (SELECT FROM usage_entries GROUP BY receipt HAVING sum(delta_nano) <> 0) AS broken)
    UNION ALL SELECT 'entries of a transfer sum to zero', (SELECT count(*) FROM
      (SELECT FROM entries GROUP BY transfer HAVING sum(delta_nano) <> 0) AS broken)
    UNION ALL SELECT 'a transfer has the entries of its amount', (SELECT count(*) FROM transfers WHERE amount_nano <>
      (SELECT coalesce(sum(delta_nano), 0) FROM entries WHERE entries.transfer = transfers.row AND seq = 0))
    UNION ALL SELECT 'a receipt names a recorded price', (SELECT count(*) FROM receipts WHERE NOT EXISTS
      (SELECT FROM prices WHERE prices.model = receipts.model AND prices.version = receipts.price_version))
    UNION ALL SELECT 'a receipt stands on a bucket of its account, and on each once',
      (SELECT count(*) FROM drawn WHERE own <> buckets OR different <> buckets)
    UNION ALL SELECT 'a wallet key draws on the wallet, a builder key on windows, and neither on both',
      (SELECT count(*) FROM drawn WHERE NOT CASE kind WHEN 'wallet' THEN wallets = 1 AND windows = 0
        ELSE wallets = 0 AND windows > 0 END)
    UNION ALL SELECT 'posted is the sum of entries', (SELECT count(*) FROM buckets LEFT JOIN moved ON moved.bucket = row
      WHERE (kind <> 'system' OR row = 1) AND posted_nano <> coalesce(moved.total, 0))
    UNION ALL SELECT 'granted is the sum of transfers', (SELECT count(*) FROM buckets LEFT JOIN granted ON granted.bucket = row
      WHERE kind <> 'system' AND closed_at IS NULL AND granted_nano <> coalesce(granted.total, 0))
    UNION ALL SELECT 'movements of a unit sum to zero', (SELECT count(*) FROM
      (SELECT FROM movements JOIN buckets ON buckets.row = movements.bucket GROUP BY unit HAVING sum(delta_nano) <> 0) AS broken)
    UNION ALL SELECT 'a movement is of a bucket that is there', (SELECT count(*) FROM moved WHERE NOT EXISTS
      (SELECT FROM buckets WHERE buckets.row = moved.bucket))
    UNION ALL SELECT 'held is the sum of open holds', (SELECT count(*) FROM buckets LEFT JOIN holds ON holds.bucket = row
      WHERE held_nano <> coalesce(holds.total, 0))
    UNION ALL SELECT 'a spend counter is what its receipts cost and hold', (SELECT count(*) FROM miscounted)
    UNION ALL SELECT 'turns at once are the open ones', (SELECT count(*) FROM limits LEFT JOIN places USING (subject)
      WHERE running <> coalesce(places.total, 0))
    UNION ALL SELECT 'movements of an account are numbered without a gap',
      (SELECT count(*) FROM numbered WHERE movement <> place)
    UNION ALL SELECT 'a wallet counts the movements of its account',
      (SELECT count(*) FROM buckets LEFT JOIN (SELECT account, count(*) AS total FROM history GROUP BY account) AS those
        USING (account) WHERE kind = 'wallet' AND movements <> coalesce(those.total, 0))
    UNION ALL SELECT 'a balance is the one before and what moved',
      (SELECT count(*) FROM numbered WHERE balance_nano IS DISTINCT FROM total)
    UNION ALL SELECT 'no account is overdrawn',
      (SELECT count(*) FROM buckets WHERE kind <> 'system' AND posted_nano - held_nano < 0)
    UNION ALL SELECT 'a closed receipt has given its key free or ended it', (SELECT count(*) FROM claims JOIN receipts
      ON receipts.row = claims.receipt WHERE (claims.state = 'running') <> (receipts.state = 'open')))
SELECT jsonb_build_object('suspects', (SELECT coalesce(jsonb_agg(DISTINCT account), '[]') FROM buckets
    LEFT JOIN moved ON moved.bucket = row LEFT JOIN holds ON holds.bucket = row
    WHERE (kind <> 'system' AND (posted_nano <> coalesce(moved.total, 0) OR held_nano <> coalesce(holds.total, 0)))
      OR account IN (SELECT account FROM miscounted)),
  'violations', (SELECT sum(violations) FROM checks),
  'checks', (SELECT jsonb_agg(jsonb_build_object('name', name, 'violations', violations)) FROM checks),
  'accounts', (SELECT count(*) FROM accounts), 'receipts', (SELECT count(*) FROM receipts),
  'transfers', (SELECT count(*) FROM transfers))
$$;

-- Accounts that do not add up are frozen, and released when they add up again; the others go on.
CREATE FUNCTION audit_books() RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  report jsonb := verify_books();
BEGIN
  UPDATE accounts SET frozen_at = CASE WHEN frozen_at IS NULL THEN ledger_micros() / 1000 END
    WHERE (frozen_at IS NULL) = (row IN (SELECT value::bigint FROM jsonb_array_elements_text(report -> 'suspects')));
  RETURN report;
END $$;
`
