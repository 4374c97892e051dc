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
