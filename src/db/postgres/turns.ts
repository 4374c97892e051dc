/**
 * A batch of admissions: claim, limits and hold of each turn, or none of them, by the rules of `admitTurn` in
 * ledger/state/turns.ts. The reducer writes a refusal from the amounts that this call returns.
 */
export const ADMIT_FUNCTIONS = `
CREATE FUNCTION nano_of(pico numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$ SELECT ceil(pico / 1000) $$;

CREATE TYPE hold_terms AS ("inputPico" numeric, "outputPicoPerToken" numeric, "perRequest" numeric);
CREATE TYPE chosen_cap AS ("sharePercent" numeric, "tokensMin" bigint);
-- What is read of an AdmitRequest, as columns: reading a value of jsonb again and again took a third of an admission.
CREATE TYPE admission AS ("requestId" text, account bigint, kind text, plan text, terms hold_terms, "clientCap" bigint,
  "modelCap" bigint, "chosenCap" chosen_cap, choices bigint, "inputEstimate" bigint, limits jsonb, allowances jsonb, claim jsonb);

CREATE FUNCTION hold_for(terms hold_terms, cap bigint) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
  SELECT nano_of(terms."inputPico" + cap * terms."outputPicoPerToken") + terms."perRequest"
$$;

-- How many output tokens money covers after the input bound, or null when it does not even cover that.
CREATE FUNCTION tokens_covered(terms hold_terms, money numeric) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  largest CONSTANT bigint := 9007199254740991;
  rate CONSTANT numeric := terms."outputPicoPerToken";
  rest CONSTANT numeric := (money - terms."perRequest") * 1000 - terms."inputPico";
BEGIN
  IF rest < 0 THEN RETURN NULL; END IF;
  RETURN CASE WHEN rate = 0 THEN largest ELSE least(largest, div(rest, rate)) END;
END $$;

-- A client's cap is not made smaller here for lack of money or tokens; one that we choose is what a share of the money covers, but
-- never below a least number of tokens, nor above what caps on tokens leave room for. Null: there is not enough.
CREATE FUNCTION decide_cap(turn admission, available bigint, room bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  most CONSTANT bigint := least(turn."modelCap", room);
  wanted CONSTANT bigint := coalesce(turn."clientCap", most);
  affordable CONSTANT bigint := tokens_covered(turn.terms, available);
  input_hold numeric;
  share numeric;
  chosen bigint;
BEGIN
  IF room < coalesce(turn."clientCap", least(turn."modelCap", (turn."chosenCap")."tokensMin")) THEN RETURN NULL; END IF;
  IF affordable >= wanted THEN RETURN wanted; END IF;
  IF turn."clientCap" IS NOT NULL THEN RETURN NULL; END IF;
  input_hold := hold_for(turn.terms, 0);
  share := div((available - input_hold) * (turn."chosenCap")."sharePercent", 100);
  chosen := coalesce(tokens_covered(turn.terms, input_hold + share), 0);
  chosen := least(most, greatest((turn."chosenCap")."tokensMin", chosen));
  RETURN CASE WHEN affordable >= chosen THEN chosen END;
END $$;

-- Not called 'at': in a function of plain SQL a column of that name would be meant.
CREATE FUNCTION standing_claim(of_scope text, moment bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT jsonb_build_object('scope', claims.scope, 'fingerprint', claims.fingerprint, 'requestId', receipts.request_id,
      'receipt', claims.receipt, 'expiresAt', claims.expires_at, 'state', claims.state)
    FROM claims CROSS JOIN LATERAL (SELECT * FROM receipts WHERE receipts.row = claims.receipt OFFSET 0) AS receipts
    WHERE claims.scope = of_scope AND (claims.state = 'running' OR claims.expires_at > moment));
END $$;

-- What it draws on, as it was looked at: enough to say why it was refused.
CREATE FUNCTION amounts_of(draws allowance_standing[]) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT jsonb_agg(jsonb_build_object('start', draw.period_start, 'end', draw.period_end, 'granted', draw.granted::text,
    'posted', draw.posted::text, 'held', draw.held::text) ORDER BY number)
    FROM unnest(draws) WITH ORDINALITY
      AS draw (running, newest, period_start, period_end, granted, posted, held, number)
$$;

-- The rows of holds that are placed, and of the idempotency keys that came with them.
CREATE FUNCTION record_holds(batch jsonb, results jsonb, by_node bigint, at bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  taken bigint;
BEGIN
  INSERT INTO receipts (row, request_id, account, key, kind, state, model, price_version, buckets, caps, hold_nano, output_cap,
      output_bound, input_estimate, cached_estimate, tags, asked, opened_at, node, limits) OVERRIDING SYSTEM VALUE
    SELECT receipt, "requestId", account, key, turn.kind, 'open', model, "priceVersion", turn.buckets, turn.caps, hold,
        cap, cap * choices, "inputEstimate", "cachedEstimate", turn.tags, turn.asked, at, by_node, coalesce(turn.limits, '[]')
      FROM ROWS FROM (
        jsonb_to_recordset(batch) AS ("requestId" text, account bigint, key bigint, kind text, model text,
          "priceVersion" integer, choices bigint, "inputEstimate" bigint, "cachedEstimate" bigint, tags text, asked text, limits jsonb),
        jsonb_to_recordset(results) AS (kind text, receipt bigint, hold bigint, cap bigint, buckets bigint[], caps text))
        AS turn ("requestId", account, key, kind, model, "priceVersion", choices, "inputEstimate", "cachedEstimate", tags, asked, limits,
          result, receipt, hold, cap, buckets, caps)
      WHERE result = 'held' AND turn.buckets IS NOT NULL;
  -- A key whose time is over may be taken again; one that is in use or kept has the last word.
  WITH wanted AS (
      SELECT (result ->> 'receipt')::bigint AS receipt, turn -> 'claim' AS claim
        FROM ROWS FROM (jsonb_array_elements(batch), jsonb_array_elements(results)) AS each (turn, result)
        WHERE result ->> 'kind' = 'held' AND result ? 'buckets' AND jsonb_typeof(turn -> 'claim') = 'object'),
    written AS (
      INSERT INTO claims (receipt, scope, fingerprint, state, at, expires_at)
        SELECT receipt, claim ->> 'scope', claim ->> 'fingerprint', 'running', record_holds.at, (claim ->> 'expiresAt')::bigint
          FROM wanted
        ON CONFLICT (scope) DO UPDATE SET receipt = excluded.receipt, fingerprint = excluded.fingerprint,
            state = excluded.state, at = excluded.at, expires_at = excluded.expires_at
          WHERE claims.state <> 'running' AND claims.expires_at <= excluded.at
        RETURNING 1)
    SELECT (SELECT count(*) FROM wanted) - (SELECT count(*) FROM written) INTO taken;
  IF taken <> 0 THEN RAISE EXCEPTION 'An idempotency key was taken while its account was locked'; END IF;
END $$;

-- Decides on one turn. The caller has read what is there of its batch, and writes what is decided.
CREATE FUNCTION admit_turn(
  INOUT books live_bucket[], INOUT states limit_state[], OUT result jsonb, turn admission, payer jsonb, now_micros bigint
) LANGUAGE plpgsql AS $$
DECLARE
  now_ms CONSTANT bigint := now_micros / 1000;
  plan subscriptions;
  allowances jsonb := '[]';
  draw allowance_standing;
  draws allowance_standing[] := '{}';
  measures text[] := '{}';
  of_runs boolean[] := '{}';
  wallet integer;
  available bigint;
  room bigint;
  cap bigint;
  hold bigint;
  amount bigint;
  started limit_state[];
  refused integer;
  place integer;
  on_buckets bigint[] := '{}';
  caps text[] := '{}';
BEGIN
  -- Another node may have changed the account since this node read it.
  IF payer ->> 'status' <> 'active' THEN
    result := jsonb_build_object('kind', 'account-' || (payer ->> 'status'));
    RETURN;
  END IF;

  IF turn.kind = 'builder' OR turn.allowances <> '[]' THEN
    SELECT * INTO plan FROM subscriptions WHERE account = turn.account ORDER BY row DESC LIMIT 1;
  END IF;
  result := CASE WHEN payer -> 'frozen' = 'true' THEN '{"kind": "frozen"}'
    WHEN turn.kind = 'builder' AND (plan.row IS NULL OR plan.ends_at <= now_ms
      OR NOT jsonb_path_exists(turn.allowances, '$[*] ? (@.unit == "quota")')) THEN '{"kind": "no-subscription"}'
    -- A request that was on its way when the plan changed must not open a window of the old one.
    WHEN turn.kind = 'builder' AND turn.plan <> plan.plan THEN '{"kind": "plan-changed"}' END;
  IF result IS NOT NULL THEN RETURN; END IF;

  -- Limits are asked before the money, and nothing is taken from them before the money is there too.
  IF turn.limits <> '[]' THEN
    SELECT * INTO started, refused FROM start_under_limits(states, turn.limits, now_micros);
  END IF;
  IF refused IS NOT NULL THEN
    result := jsonb_build_object('kind', 'limit', 'number', refused);
    RETURN;
  END IF;

  -- The kind of the key decides, and nothing joins the two: a builder key never sees the wallet.
  IF turn.kind = 'wallet' THEN
    wallet := newest_of(books, turn.account, 'wallet');
    draw.posted := books[wallet].posted;
    draw.held := books[wallet].held;
    draws := array_append(draws, draw);
    measures := array_append(measures, 'usd');
    of_runs := array_append(of_runs, false);
  END IF;
  IF turn.allowances <> '[]' THEN
    SELECT coalesce(jsonb_agg(value), '[]') INTO allowances FROM jsonb_array_elements(turn.allowances)
      WHERE turn.kind = 'builder' OR value ->> 'unit' <> 'quota';
    FOR number IN 0..jsonb_array_length(allowances) - 1 LOOP
      draws := array_append(draws,
        standing_of(books, turn.account, allowances -> number, now_ms, coalesce(plan.billing_day, 1)));
      measures := array_append(measures, CASE allowances -> number ->> 'unit' WHEN 'cap'
        THEN measure_of(allowances -> number ->> 'name') ELSE 'usd' END);
      of_runs := array_append(of_runs, coalesce(allowances -> number ->> 'holder' = 'run', false));
    END LOOP;
  END IF;
  -- A client's cap is lowered to what is left for its run, but not below what a client without a cap would get.
  IF turn."clientCap" IS NOT NULL AND true = ANY (of_runs) THEN
    SELECT min(CASE measure WHEN 'usd' THEN coalesce(tokens_covered(turn.terms, greatest(posted - held, 0)), 0)
        WHEN 'requests' THEN CASE WHEN posted > held THEN turn."clientCap" ELSE 0 END
        ELSE div(greatest(posted - held - turn."inputEstimate", 0), turn.choices) END)::bigint
      INTO room
      FROM ROWS FROM (unnest(draws), unnest(measures), unnest(of_runs))
        AS each (running, newest, period_start, period_end, granted, posted, held, measure, of_run)
      WHERE of_run;
    turn."clientCap" := greatest(least(turn."clientCap", room), least(turn."clientCap", (turn."chosenCap")."tokensMin"));
  END IF;
  -- A spend cap may have been lowered below what was used: what costs nothing is let through even then.
  -- The room: the least output that caps on requests and tokens leave; -1 where they leave none for the request itself. Null: no such cap.
  SELECT min(greatest(posted - held, 0)) FILTER (WHERE measure = 'usd'),
      min(CASE measure WHEN 'requests' THEN CASE WHEN posted > held THEN ${Number.MAX_SAFE_INTEGER} ELSE -1 END
        WHEN 'tokens' THEN CASE WHEN posted - held < turn."inputEstimate" THEN -1
          ELSE div(posted - held - turn."inputEstimate", turn.choices) END END)::bigint
    INTO available, room
    FROM ROWS FROM (unnest(draws), unnest(measures))
      AS each (running, newest, period_start, period_end, granted, posted, held, measure);

  cap := decide_cap(turn, available, room);
  IF cap IS NULL THEN
    result := jsonb_build_object('kind', 'money', 'at', now_ms, 'draws', amounts_of(draws));
    RETURN;
  END IF;
  IF turn.limits <> '[]' THEN states := started; END IF;

  -- From here on nothing refuses any more, so periods may be opened: the hold stands on all of them.
  hold := hold_for(turn.terms, cap);
  IF wallet IS NOT NULL THEN
    books[wallet].held := books[wallet].held + hold;
    on_buckets := array_append(on_buckets, books[wallet].row);
  END IF;
  FOR number IN 0..jsonb_array_length(allowances) - 1 LOOP
    place := number + 1 + CASE WHEN wallet IS NULL THEN 0 ELSE 1 END;
    amount := held_of(measures[place], hold, turn."inputEstimate" + cap * turn.choices);
    -- What costs nothing uses no allowance: with neither hold nor charge its period would count as unused.
    CONTINUE WHEN amount = 0;
    SELECT * INTO books, place FROM open_period(books, NULL, turn.account, allowances -> number,
      draws[place], now_ms);
    books[place].held := books[place].held + amount;
    IF books[place].kind = 'cap' THEN caps := array_append(caps, mark_of(allowances -> number));
    ELSE on_buckets := array_append(on_buckets, books[place].row);
    END IF;
  END LOOP;
  result := jsonb_build_object('kind', 'held', 'cap', cap, 'hold', hold::text,
    'receipt', nextval('receipts_row_seq'), 'buckets', to_jsonb(on_buckets),
    'caps', nullif(array_to_string(caps, ' '), ''));
END $$;

CREATE FUNCTION accounts_in(batch jsonb) RETURNS bigint[] LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN ARRAY(SELECT DISTINCT (value ->> 'account')::bigint FROM jsonb_array_elements(batch));
END $$;

CREATE FUNCTION limits_in(batch jsonb) RETURNS text[] LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN ARRAY(SELECT DISTINCT jsonb_path_query(batch, '$[*].limits[*].subject') #>> '{}');
END $$;

-- By request id: what this call did already when it was sent first, because its answer was lost.
CREATE FUNCTION known_turns(batch jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT coalesce(jsonb_object_agg(request_id, jsonb_build_object('kind', CASE state WHEN 'open' THEN 'held' ELSE 'over' END,
      'receipt', row, 'cap', output_cap, 'hold', hold_nano::text)), '{}')
    FROM receipts WHERE request_id = ANY (ARRAY(SELECT value ->> 'requestId' FROM jsonb_array_elements(batch))));
END $$;

-- By scope: the idempotency keys of the batch that are in use or kept.
CREATE FUNCTION standing_claims(batch jsonb, moment bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT coalesce(jsonb_object_agg(scope, standing_claim(scope, moment)), '{}')
    FROM claims WHERE scope = ANY (ARRAY(SELECT value -> 'claim' ->> 'scope' FROM jsonb_array_elements(batch))));
END $$;

CREATE TYPE plain_turn AS (place bigint, "requestId" text, account bigint, key bigint, model text, "priceVersion" integer,
  choices bigint, "inputEstimate" bigint, "cachedEstimate" bigint, tags text, asked text, cap bigint, hold bigint);

-- Most batches: turns without limits, caps and idempotency keys. Null: this batch is another one.
CREATE FUNCTION read_plain(batch jsonb) RETURNS plain_turn[] LANGUAGE plpgsql AS $$
BEGIN
  IF jsonb_path_exists(batch, '$[*] ? (@.kind != "wallet" || exists(@.limits[*]) || exists(@.allowances[*]) || exists(@.claim.scope))')
  THEN
    RETURN NULL;
  END IF;
  RETURN ARRAY(SELECT ROW(place, "requestId", account, key, model, "priceVersion", choices, "inputEstimate", "cachedEstimate", tags, asked,
      coalesce("clientCap", "modelCap"), hold_for(terms, coalesce("clientCap", "modelCap")))::plain_turn
    FROM ROWS FROM (jsonb_to_recordset(batch) AS ("requestId" text, account bigint, key bigint, model text,
      "priceVersion" integer, choices bigint, "inputEstimate" bigint, "cachedEstimate" bigint, tags text, asked text, terms hold_terms,
      "clientCap" bigint, "modelCap" bigint)) WITH ORDINALITY AS turn ("requestId", account, key, model, "priceVersion",
      choices, "inputEstimate", "cachedEstimate", tags, asked, terms, "clientCap", "modelCap", place));
END $$;

-- Places all of them at once, when their wallets cover all that they want: then each gets it in any order. Else null.
CREATE FUNCTION admit_plain(turns plain_turn[], by_node bigint, now_micros bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  admitted jsonb;
BEGIN
  IF EXISTS (SELECT FROM (SELECT account, sum(hold) AS total FROM unnest(turns) GROUP BY account) AS wanted
      CROSS JOIN LATERAL (SELECT status, frozen_at FROM accounts WHERE row = wanted.account OFFSET 0) AS payer
      CROSS JOIN LATERAL (SELECT * FROM buckets WHERE kind = 'wallet' AND account = wanted.account OFFSET 0) AS wallet
      WHERE payer.status <> 'active' OR payer.frozen_at IS NOT NULL
        OR wallet.posted_nano - wallet.held_nano < wanted.total)
    OR EXISTS (SELECT FROM receipts WHERE request_id = ANY (ARRAY(SELECT "requestId" FROM unnest(turns)))) THEN
    RETURN NULL;
  END IF;
  WITH placed AS MATERIALIZED (
      SELECT turn.*, wallet.row AS wallet, nextval('receipts_row_seq') AS receipt
        FROM unnest(turns) AS turn
          CROSS JOIN LATERAL (SELECT * FROM buckets WHERE kind = 'wallet' AND account = turn.account OFFSET 0) AS wallet
        ORDER BY turn.place),
    recorded AS (
      INSERT INTO receipts (row, request_id, account, key, kind, state, model, price_version, buckets, hold_nano, output_cap,
          output_bound, input_estimate, cached_estimate, tags, asked, opened_at, node, limits) OVERRIDING SYSTEM VALUE
        SELECT receipt, "requestId", account, key, 'wallet', 'open', model, "priceVersion", ARRAY[wallet], hold, cap,
            cap * choices, "inputEstimate", "cachedEstimate", tags, asked, now_micros / 1000, by_node, '[]'
          FROM placed),
    held AS (
      UPDATE buckets SET held_nano = buckets.held_nano + wanted.total
        FROM (SELECT wallet, sum(hold)::bigint AS total FROM placed GROUP BY wallet) AS wanted
        WHERE buckets.row = wanted.wallet AND wanted.total > 0)
  SELECT jsonb_agg(jsonb_build_object('kind', 'held', 'receipt', receipt, 'cap', cap, 'hold', hold::text,
      'ticks', now_micros, 'limits', '[]'::jsonb) ORDER BY place) INTO admitted
    FROM placed;
  RETURN admitted;
END $$;

-- The caller has locked the accounts and limits of the batch.
CREATE FUNCTION admit_turns(batch jsonb, plain plain_turn[], living_node bigint, now_micros bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  concerned bigint[];
  caps text[];
  books live_bucket[];
  states limit_state[];
  payers jsonb;
  payer jsonb;
  known jsonb;
  claimed jsonb := '{}';
  turn admission;
  scope text;
  no_limits jsonb;
  result jsonb;
  results jsonb;
BEGIN
  -- A node whose lease has ended places no holds, because other nodes may end them.
  IF living_node IS NULL THEN
    states := read_limits(limits_in(batch));
    RETURN (SELECT jsonb_agg(jsonb_build_object('kind', 'over') || states_of(states, value -> 'limits', now_micros))
      FROM jsonb_array_elements(batch));
  END IF;
  IF plain IS NOT NULL THEN
    results := admit_plain(plain, living_node, now_micros);
    IF results IS NOT NULL THEN RETURN results; END IF;
  END IF;
  results := '[]';
  no_limits := states_of(NULL, '[]', now_micros);
  concerned := accounts_in(batch);
  caps := ARRAY(SELECT DISTINCT jsonb_path_query(batch, '$[*].allowances[*] ? (@.unit == "cap").subject') #>> '{}');
  books := read_books(concerned, caps);
  states := read_limits(limits_in(batch));
  known := known_turns(batch);
  IF jsonb_path_exists(batch, '$[*].claim.scope') THEN claimed := standing_claims(batch, now_micros / 1000); END IF;
  SELECT jsonb_object_agg(row, jsonb_build_object('status', status, 'frozen', frozen_at IS NOT NULL)) INTO payers
    FROM accounts WHERE row = ANY (concerned);
  FOR turn IN SELECT * FROM jsonb_populate_recordset(NULL::admission, batch) LOOP
    scope := turn.claim ->> 'scope';
    payer := payers -> turn.account::text;
    IF known ? turn."requestId" THEN
      result := known -> turn."requestId";
    ELSIF claimed -> scope <> 'null' AND payer ->> 'status' = 'active' THEN
      result := jsonb_build_object('kind', 'claimed', 'claim', claimed -> scope);
    ELSE
      SELECT * INTO books, states, result FROM admit_turn(books, states, turn, payer, now_micros);
      IF scope IS NOT NULL AND result ->> 'kind' = 'held' THEN
        claimed := claimed || jsonb_build_object(scope, turn.claim || jsonb_build_object(
          'requestId', turn."requestId", 'receipt', result -> 'receipt', 'state', 'running'));
      END IF;
    END IF;
    results := results || jsonb_build_array(result || CASE WHEN turn.limits <> '[]'
      THEN states_of(states, turn.limits, now_micros) ELSE no_limits END);
  END LOOP;
  PERFORM write_books(books);
  PERFORM write_limits(states);
  PERFORM record_holds(batch, results, living_node, now_micros / 1000);
  RETURN results;
END $$;

-- Only a hint: admission decides whether the key is free.
CREATE FUNCTION look_up_claim(of_scope text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  at CONSTANT bigint := ledger_micros() / 1000;
BEGIN
  RETURN jsonb_build_object('at', at, 'claim', standing_claim(of_scope, at));
END $$;

-- A request that runs no turn: it counts against its limits, or is refused by one.
CREATE FUNCTION take_request(applied jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  subjects text[] := ARRAY(SELECT DISTINCT value ->> 'subject' FROM jsonb_array_elements(applied));
  states limit_state[];
  refused integer;
  now_micros bigint;
BEGIN
  PERFORM lock_limits(subjects);
  states := read_limits(subjects);
  now_micros := ledger_micros();
  SELECT * INTO states, refused FROM start_under_limits(states, applied, now_micros);
  PERFORM write_limits(states);
  RETURN jsonb_build_object('number', refused) || states_of(states, applied, now_micros);
END $$;
`

/**
 * `close_receipts` is the one function that ends holds: `closeTurn` of ledger/state/turns.ts for a batch. One statement ends them
 * all, because it decides on no balance. Each close is a compare-and-set: a second one changes nothing.
 */
export const CLOSE_FUNCTIONS = `
CREATE TYPE turn_end AS (place bigint, closing text, outcome text, lane text, uncached_input bigint, cached_input bigint,
  cache_write bigint, output bigint, reasoning bigint, estimated boolean, tier bigint, cost numeric, first_byte_ms double precision,
  total_ms double precision, attempts text, tokens_before bigint, tokens_after bigint, kept boolean, recovers boolean,
  receipt bigint, account bigint, limits jsonb);

-- The ends of a batch, with what never changes of their receipts. Of two ends of one turn, that of recovery, which no lease limits.
CREATE FUNCTION read_ends(batch jsonb) RETURNS turn_end[] LANGUAGE plpgsql AS $$
BEGIN
  RETURN ARRAY(SELECT ROW(op.place, op.closing, op.outcome, op.lane, (op.usage ->> 'uncachedInput')::bigint,
      (op.usage ->> 'cachedInput')::bigint, (op.usage ->> 'cacheWrite')::bigint, (op.usage ->> 'output')::bigint,
      (op.usage ->> 'reasoning')::bigint, (op.usage ->> 'estimated')::boolean, op.tier, op.cost, op.first_byte_ms, op.total_ms, op.attempts,
      (op.compaction ->> 'tokensBefore')::bigint, (op.compaction ->> 'tokensAfter')::bigint, op.kept, op.recovers,
      found.row, found.account, found.limits)::turn_end
    FROM (SELECT DISTINCT ON ("requestId") * FROM ROWS FROM (jsonb_to_recordset(batch) AS ("requestId" text, closing text,
        outcome text, lane text, usage jsonb, tier bigint, cost numeric, "firstByteMs" double precision,
        "totalMs" double precision, attempts text, compaction jsonb, kept boolean, recovers boolean)) WITH ORDINALITY
        AS op ("requestId", closing, outcome, lane, usage, tier, cost, first_byte_ms, total_ms, attempts, compaction, kept, recovers,
          place)
      ORDER BY "requestId", recovers DESC, place) AS op
    CROSS JOIN LATERAL (SELECT * FROM receipts WHERE receipts.request_id = op."requestId" OFFSET 0) AS found);
END $$;

-- The charge never exceeds the hold; what cannot be collected is written down as shortfall. A charged request is never run
-- again; a released one may be. A turn that ends in a later period of its cap than it began in has nothing left to count.
-- A node ends its own turns while its lease lasts. After that they are recovered, also by the process that had them.
-- Columns are named with their table, so that a column that the next version adds makes no name ambiguous.
CREATE FUNCTION close_receipts(ends turn_end[], living_node bigint, at bigint,
  OUT closed_rows bigint[], OUT results jsonb, OUT has_windows boolean) LANGUAGE plpgsql AS $$
DECLARE
  has_caps boolean;
  kept_rows bigint[];
BEGIN
  -- OFFSET 0: each row is looked up. The plan is kept, and one that was made for a small table could read a large one whole.
  WITH charged AS (
      SELECT ending.*, wallets.row AS wallet, wallets.movements AS moved_before, wallets.posted_nano AS posted_before,
          found.kind = 'wallet' AS draws_on_wallet, least(coalesce(ending.cost, 0), found.hold_nano)::bigint AS charge
        FROM unnest(close_receipts.ends) AS ending
          CROSS JOIN LATERAL (SELECT state, node, kind, hold_nano FROM receipts WHERE receipts.row = ending.receipt OFFSET 0) AS found
          CROSS JOIN LATERAL (SELECT * FROM buckets WHERE kind = 'wallet' AND account = ending.account OFFSET 0) AS wallets
        WHERE found.state = 'open' AND (ending.recovers OR found.node = close_receipts.living_node)),
    numbered AS (
      SELECT charged.*, charged.moved_before + row_number() OVER of_account AS movement,
          CASE WHEN charged.draws_on_wallet THEN charged.posted_before
            - sum(charged.charge) FILTER (WHERE charged.draws_on_wallet) OVER of_account END::bigint AS balance
        FROM charged WINDOW of_account AS (PARTITION BY charged.account ORDER BY charged.place ROWS UNBOUNDED PRECEDING)),
    closed AS (
      UPDATE receipts SET state = CASE WHEN numbered.cost IS NULL THEN 'released' ELSE 'settled' END,
          closed_at = close_receipts.at, closing = numbered.closing, outcome = numbered.outcome, lane = numbered.lane,
          uncached_input = numbered.uncached_input, cached_input = numbered.cached_input, cache_write = numbered.cache_write,
          output = numbered.output, reasoning = numbered.reasoning, estimated = numbered.estimated,
          tier = numbered.tier, cost_nano = coalesce(numbered.cost, 0), charge_nano = numbered.charge,
          shortfall_nano = coalesce(numbered.cost, 0) - numbered.charge, first_byte_ms = numbered.first_byte_ms,
          total_ms = numbered.total_ms, attempts = numbered.attempts,
          tokens_before = numbered.tokens_before, tokens_after = numbered.tokens_after, movement = numbered.movement, balance_nano = numbered.balance
        FROM numbered WHERE receipts.row = numbered.receipt
          -- Else a kept plan may begin with all receipts.
          AND receipts.row = ANY (ARRAY(SELECT one.receipt FROM unnest(close_receipts.ends) AS one))
        RETURNING receipts.row, receipts.kind, receipts.state, receipts.buckets, receipts.caps,
          receipts.hold_nano, receipts.charge_nano, receipts.shortfall_nano, numbered.kept, numbered.wallet, numbered.place),
    moved AS (
      UPDATE buckets SET posted_nano = buckets.posted_nano - sums.charge, held_nano = buckets.held_nano - sums.hold,
          movements = buckets.movements + sums.movements
        FROM (SELECT parts.bucket, sum(parts.charge)::bigint AS charge, sum(parts.hold)::bigint AS hold,
            sum(parts.movements)::bigint AS movements
          FROM (SELECT unnest(closed.buckets) AS bucket, closed.charge_nano AS charge, closed.hold_nano AS hold,
              0 AS movements FROM closed
            UNION ALL SELECT closed.wallet, 0, 0, 1 FROM closed) AS parts GROUP BY parts.bucket) AS sums
        WHERE buckets.row = sums.bucket)
  SELECT coalesce(array_agg(closed.row ORDER BY closed.place), '{}'),
      jsonb_agg(jsonb_build_object('kind', closed.state, 'charge', closed.charge_nano::text,
        'shortfall', closed.shortfall_nano::text) ORDER BY closed.place),
      coalesce(bool_or(closed.kind = 'builder'), false), bool_or(closed.caps IS NOT NULL),
      array_agg(closed.row) FILTER (WHERE closed.kept)
    INTO closed_rows, results, has_windows, has_caps, kept_rows FROM closed;
  IF has_caps THEN PERFORM count_caps(closed_rows); END IF;
  IF EXISTS (SELECT FROM claims WHERE claims.receipt = ANY (close_receipts.closed_rows)) THEN
    PERFORM end_claims(closed_rows, kept_rows);
  END IF;
END $$;

-- What closed turns used of their caps. Of a batch, only some have any.
CREATE FUNCTION count_caps(closed_rows bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  sums record;
BEGIN
  -- One by one: a kept plan for all at once may begin with every counter of their accounts.
  FOR sums IN SELECT each.account, each.subject, sum(spent_of(measure_of(mark.name), closed.charge_nano, closed.state = 'settled',
        closed.tokens_held, closed.tokens))::bigint AS charge,
      sum(held_of(measure_of(mark.name), closed.hold_nano, closed.tokens_held))::bigint AS hold
    FROM (SELECT receipts.account, receipts.key, receipts.caps, receipts.state, receipts.charge_nano, receipts.hold_nano,
          receipts.opened_at, receipts.input_estimate + receipts.output_bound AS tokens_held,
          receipts.uncached_input + receipts.cached_input + receipts.cache_write + receipts.output AS tokens
        FROM receipts WHERE receipts.row = ANY (count_caps.closed_rows)) AS closed
      CROSS JOIN LATERAL unnest(string_to_array(closed.caps, ' ')) AS mark (name)
      CROSS JOIN LATERAL (SELECT * FROM spend_counters AS cap
        WHERE cap.account = closed.account AND cap.subject = cap_subject(closed.key, mark.name) OFFSET 0) AS each
    WHERE closed.opened_at >= each.period_start GROUP BY each.account, each.subject LOOP
    UPDATE spend_counters AS counter SET spent_nano = counter.spent_nano + sums.charge, held_nano = counter.held_nano - sums.hold
      WHERE counter.account = sums.account AND counter.subject = sums.subject;
  END LOOP;
END $$;

-- Their idempotency keys: of a released turn, another one may take it; of a charged one, its answer is kept, or is not.
CREATE FUNCTION end_claims(closed_rows bigint[], kept_rows bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM claims WHERE claims.state = 'running' AND claims.receipt = ANY (ARRAY(
    SELECT receipts.row FROM receipts WHERE receipts.row = ANY (end_claims.closed_rows) AND receipts.state = 'released'));
  UPDATE claims SET state = CASE WHEN claims.receipt = ANY (end_claims.kept_rows) THEN 'kept' ELSE 'not-kept' END
    WHERE claims.receipt = ANY (end_claims.closed_rows) AND claims.state = 'running';
END $$;

-- Periods that only these turns kept from being closed: another one has followed, and nothing holds on them any more.
CREATE FUNCTION close_outlived(closed bigint[], at bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  outlived buckets;
  bucket live_bucket;
BEGIN
  FOR outlived IN SELECT * FROM buckets
      WHERE row = ANY (ARRAY(SELECT unnest(receipts.buckets) FROM receipts
          WHERE receipts.row = ANY (closed) AND receipts.kind = 'builder'))
        AND closed_at IS NULL AND held_nano = 0
        AND EXISTS (SELECT FROM buckets AS later WHERE later.account = buckets.account AND later.subject = buckets.subject
          AND later.closed_at IS NULL AND later.row > buckets.row)
      ORDER BY row LOOP
    bucket := ROW(outlived.row, outlived.account, outlived.kind, outlived.subject, outlived.period_start,
      outlived.period_end, NULL, outlived.granted_nano, outlived.posted_nano, 0);
    PERFORM write_books(ARRAY[close_period(bucket, at)]);
  END LOOP;
END $$;

-- The caller has locked the accounts and the limits of the batch.
CREATE FUNCTION close_turns(batch jsonb, ends turn_end[], subjects text[], living_node bigint, now_micros bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  closed bigint[];
  results jsonb;
  has_windows boolean;
  states limit_state[];
  receipt receipts;
BEGIN
  SELECT * INTO closed, results, has_windows FROM close_receipts(ends, living_node, now_micros / 1000);
  IF has_windows THEN PERFORM close_outlived(closed, now_micros / 1000); END IF;
  IF subjects <> '{}' THEN
    states := read_limits(subjects);
    FOR receipt IN SELECT receipts.* FROM receipts
        WHERE receipts.row = ANY (closed) AND receipts.limits <> '[]' ORDER BY array_position(closed, receipts.row) LOOP
      states := end_under_limits(states, receipt, now_micros);
    END LOOP;
    PERFORM write_limits(states);
  END IF;
  IF cardinality(closed) = jsonb_array_length(batch) THEN RETURN results; END IF;
  -- A repeated call gets the result of the first.
  RETURN (SELECT jsonb_agg(CASE WHEN receipts.closing = op.value ->> 'closing'
        THEN jsonb_build_object('kind', state, 'charge', charge_nano::text, 'shortfall', shortfall_nano::text)
        ELSE jsonb_build_object('kind', 'not-open', 'released', coalesce(state = 'released', false)) END ORDER BY op.place)
    FROM jsonb_array_elements(batch) WITH ORDINALITY AS op (value, place)
      LEFT JOIN LATERAL (SELECT * FROM receipts AS known WHERE known.request_id = op.value ->> 'requestId' OFFSET 0) AS receipts
        ON true);
END $$;

-- Read, lock, look, decide, write: each a statement of its own, and one transaction for all that a node has gathered. What ends
-- goes first, so that what it held is there for the others. What needs no lock is done before it: others wait for a busy account.
CREATE FUNCTION run_turns(admissions jsonb, closes jsonb, by_node bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  ends CONSTANT turn_end[] := CASE WHEN closes <> '[]' THEN read_ends(closes) ELSE '{}' END;
  plain CONSTANT plain_turn[] := read_plain(admissions);
  closing_limits CONSTANT text[] := ARRAY(
    SELECT DISTINCT jsonb_path_query(ending.limits, '$[*].subject') #>> '{}' FROM unnest(ends) AS ending WHERE ending.limits <> '[]');
  all_limits CONSTANT text[] := closing_limits || limits_in(admissions);
  now_micros bigint;
  living_node bigint;
  closed jsonb := '[]';
  admitted jsonb := '[]';
BEGIN
  PERFORM lock_accounts(ARRAY(SELECT DISTINCT ending.account FROM unnest(ends) AS ending) || accounts_in(admissions));
  IF all_limits <> '{}' THEN PERFORM lock_limits(all_limits); END IF;
  now_micros := ledger_micros();
  SELECT row INTO living_node FROM nodes WHERE row = by_node AND lease_until > now_micros / 1000;
  IF closes <> '[]' THEN closed := close_turns(closes, ends, closing_limits, living_node, now_micros); END IF;
  IF admissions <> '[]' THEN admitted := admit_turns(admissions, plain, living_node, now_micros); END IF;
  RETURN jsonb_build_object('closes', closed, 'admissions', admitted);
END $$;
`
