/** The rules of a proof. What breaks one of them in an account freezes it, but for `claimed`. */
const RULES = {
  cost: 'cost is charge plus shortfall',
  charged: 'entries of a charge sum to zero',
  transferred: 'entries of a transfer sum to zero',
  amount: 'a transfer has the entries of its amount',
  price: 'a receipt names a recorded price',
  own: 'a receipt stands on a bucket of its account, and on each once',
  drawn: 'a wallet key draws on the wallet, a builder key on windows, and neither on both',
  posted: 'posted is the sum of entries',
  granted: 'granted is the sum of transfers',
  units: 'movements of a unit sum to zero',
  there: 'a movement is of a bucket that is there',
  held: 'held is the sum of open holds',
  spent: 'a spend counter is what its receipts cost and hold',
  running: 'turns at once are the open ones',
  numbered: 'movements of an account are numbered without a gap',
  counted: 'a wallet counts the movements of its account',
  balance: 'a balance is the one before and what moved',
  overdrawn: 'no account is overdrawn',
  claimed: 'a closed receipt has given its key free or ended it',
} as const

/** What a receipt has used of a cap on tokens, and what it holds of one. */
const TOKENS = `receipts.input_estimate + receipts.output_bound AS tokens_held,
            receipts.uncached_input + receipts.cached_input + receipts.cache_write + receipts.output AS tokens`

export const PROOF_RULE_NAMES: readonly string[] = Object.values(RULES)

/**
 * The proof of the ledger from its rows alone, in slices. A slice is one statement, so it sees one moment, and no other statement
 * waits for it. It takes the next movements of some accounts: the movements of an account are numbered without a gap, a
 * call is one transaction, and so a moment in which the wallet counts a movement has all of its rows and balances. Rows that are
 * closed never change, so what was proved once needs no second look.
 *
 * A slice that reaches the last movement of an account compares its balances with the sums, in the same statement. What is
 * read whole by every proof is small: accounts with their wallets, live windows, spend counters, open receipts (by each
 * slice that reaches an end) and limits.
 *
 * Each table is read in a fenced subquery (OFFSET 0), by an index and a row at a time: a join could be planned as a hash of the
 * whole table.
 */
export const PROOF_FUNCTIONS = `
-- The next slice from an account on; carried is what the slice before has summed up, if it ended within that account.
CREATE FUNCTION look_at_accounts(first_account bigint, carried jsonb, from_first boolean, movements_max bigint,
  accounts_max integer) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (
WITH ahead AS MATERIALIZED (
    SELECT each.row AS account, wallet.row AS wallet, wallet.movements, coalesce(known.movement, 0) AS since,
        coalesce(known.balance, 0) AS balance, coalesce(known.sums, '{}') AS sums, coalesce(known.broken, false) AS broken,
        greatest(coalesce(wallet.movements, 0) - coalesce(known.movement, 0), 0) AS rest
      FROM (SELECT accounts.row FROM accounts WHERE accounts.row >= first_account ORDER BY accounts.row
          LIMIT accounts_max) AS each
        LEFT JOIN LATERAL (SELECT buckets.row, buckets.movements FROM buckets
          WHERE buckets.kind = 'wallet' AND buckets.account = each.row OFFSET 0) AS wallet ON true
        LEFT JOIN LATERAL (
          SELECT proved.movement, proved.balance_nano::numeric AS balance, proved.sums, false AS broken
            FROM proved_accounts AS proved WHERE NOT from_first AND proved.account = each.row
              AND (carried IS NULL OR each.row <> first_account)
          UNION ALL SELECT cut.movement, cut.balance, cut.sums, cut.broken
            FROM jsonb_to_record(carried) AS cut (movement bigint, balance numeric, sums jsonb, broken boolean)
            WHERE carried IS NOT NULL AND each.row = first_account) AS known ON true),
  -- A first look takes in numbers that no movement should have.
  picked AS MATERIALIZED (
    SELECT counted.*, CASE since WHEN 0 THEN -(1::bigint << 62) ELSE since END AS above,
        since + least(rest, movements_max - taken)::bigint AS until, rest <= movements_max - taken AS is_end
      FROM (SELECT ahead.*, sum(rest) OVER (ORDER BY account) - rest AS taken FROM ahead) AS counted
      WHERE taken < movements_max),
  closed AS MATERIALIZED (
    SELECT picked.account, receipt.*, receipt.kind = 'wallet' AND receipt.buckets = ARRAY[picked.wallet] AS is_plain
      FROM picked CROSS JOIN LATERAL (
        SELECT receipts.row, receipts.key, receipts.kind, receipts.state, receipts.model, receipts.price_version,
            receipts.buckets, receipts.caps, receipts.hold_nano, receipts.opened_at, receipts.cost_nano,
            receipts.charge_nano, receipts.shortfall_nano, receipts.movement, receipts.balance_nano, ${TOKENS}
          FROM receipts WHERE receipts.account = picked.account
            AND receipts.movement > picked.above AND receipts.movement <= picked.until OFFSET 0) AS receipt),
  open AS MATERIALIZED (
    SELECT receipt.*, receipt.kind = 'wallet' AND receipt.buckets = ARRAY[picked.wallet] AS is_plain
      FROM (
        SELECT receipts.account, receipts.row, receipts.key, receipts.kind, receipts.state, receipts.model,
            receipts.price_version, receipts.buckets, receipts.caps, receipts.hold_nano, receipts.opened_at,
            receipts.cost_nano, receipts.charge_nano, receipts.shortfall_nano, receipts.movement, receipts.balance_nano, ${TOKENS}
          FROM receipts WHERE receipts.state = 'open' AND (SELECT bool_or(is_end) FROM picked) OFFSET 0) AS receipt
        JOIN picked ON picked.account = receipt.account WHERE picked.is_end),
  seen AS (SELECT * FROM closed UNION ALL SELECT * FROM open),
  -- What a receipt stands on; most stand on their wallet alone.
  stood AS MATERIALIZED (
    SELECT seen.account, seen.kind, seen.state, seen.hold_nano, seen.charge_nano, count(held_on.bucket) AS buckets,
        count(DISTINCT held_on.bucket) AS different, count(found.row) AS there,
        count(*) FILTER (WHERE found.account = seen.account) AS own,
        count(*) FILTER (WHERE found.unit = 'usd') AS wallets, count(*) FILTER (WHERE found.unit = 'quota') AS windows
      FROM seen LEFT JOIN LATERAL unnest(seen.buckets) AS held_on (bucket) ON true
        LEFT JOIN LATERAL (SELECT buckets.row, buckets.unit, buckets.account FROM buckets
          WHERE buckets.row = held_on.bucket OFFSET 0) AS found ON true
      WHERE seen.is_plain IS NOT TRUE
      GROUP BY seen.row, seen.account, seen.kind, seen.state, seen.hold_nano, seen.charge_nano),
  transferred AS MATERIALIZED (
    SELECT picked.account, transfer.*
      FROM picked CROSS JOIN LATERAL (
        SELECT transfers.row, transfers.kind, transfers.unit, transfers.amount_nano, transfers.movement, transfers.balance_nano
          FROM transfers WHERE transfers.account = picked.account
            AND transfers.movement > picked.above AND transfers.movement <= picked.until OFFSET 0) AS transfer),
  entered AS MATERIALIZED (
    SELECT transferred.account, transferred.row AS transfer, entry.seq, entry.bucket, entry.delta_nano,
        found.row AS there, found.unit, found.account AS owner
      FROM transferred CROSS JOIN LATERAL (SELECT entries.seq, entries.bucket, entries.delta_nano FROM entries
          WHERE entries.transfer = transferred.row OFFSET 0) AS entry
        LEFT JOIN LATERAL (SELECT buckets.row, buckets.unit, buckets.account FROM buckets
          WHERE buckets.row = entry.bucket OFFSET 0) AS found ON true),
  -- Two entries: of a bucket of the account, and of the side that all of its kind come from or go to.
  moved AS (
    SELECT transferred.account, transferred.row, transferred.amount_nano, coalesce(sum(delta_nano), 0) AS total,
        coalesce(sum(delta_nano) FILTER (WHERE seq = 0 AND owner = transferred.account), 0) AS own,
        coalesce(sum(delta_nano) FILTER (WHERE seq = 1 AND bucket = CASE WHEN transferred.unit = 'usd' THEN 1
          WHEN transferred.kind = 'expiry' THEN -13 ELSE -11 END), 0) AS other, count(entered.seq) AS entries,
        coalesce(sum(delta_nano) FILTER (WHERE entered.unit = 'usd'), 0) AS dollars,
        coalesce(sum(delta_nano) FILTER (WHERE entered.unit = 'quota'), 0) AS quota
      FROM transferred LEFT JOIN entered ON entered.transfer = transferred.row
      GROUP BY transferred.account, transferred.row, transferred.kind, transferred.unit, transferred.amount_nano),
  history AS (
    SELECT account, movement, balance_nano, CASE kind WHEN 'wallet' THEN -charge_nano END AS delta_nano FROM closed
    UNION ALL SELECT account, movement, balance_nano, CASE unit WHEN 'usd' THEN amount_nano END FROM transferred),
  numbered AS MATERIALIZED (
    SELECT history.*, picked.since + row_number() OVER of_account AS place,
        CASE WHEN delta_nano IS NOT NULL THEN picked.balance + sum(delta_nano) OVER of_account END AS total
      FROM history JOIN picked USING (account)
      WINDOW of_account AS (PARTITION BY account ORDER BY movement ROWS UNBOUNDED PRECEDING)),
  read AS (SELECT account, count(*) AS movements, coalesce(sum(delta_nano), 0) AS dollars FROM numbered GROUP BY account),
  parts (account, bucket, posted, granted, held) AS (
    SELECT account, unnest(buckets), -charge_nano, 0, 0 FROM closed WHERE state = 'settled'
    UNION ALL SELECT account, bucket, delta_nano, delta_nano, 0 FROM entered WHERE owner IS NOT NULL
    UNION ALL SELECT account, unnest(buckets), 0, 0, hold_nano FROM open
    UNION ALL SELECT account, key::bigint, (value ->> 0)::numeric, (value ->> 1)::numeric, 0
      FROM picked, jsonb_each(picked.sums -> 'buckets')
    UNION ALL SELECT picked.account, live.row, 0, 0, 0 FROM picked CROSS JOIN LATERAL (SELECT buckets.row FROM buckets
      WHERE buckets.account = picked.account AND buckets.closed_at IS NULL OFFSET 0) AS live WHERE picked.is_end),
  balances AS MATERIALIZED (
    SELECT totals.*, picked.is_end, found.account AS owner, found.closed_at, found.posted_nano, found.granted_nano,
        found.held_nano
      FROM (SELECT account, bucket, sum(posted) AS posted, sum(granted) AS granted, sum(held) AS held FROM parts
          GROUP BY account, bucket) AS totals
        JOIN picked USING (account)
        CROSS JOIN LATERAL (SELECT buckets.account, buckets.closed_at, buckets.posted_nano, buckets.granted_nano,
            buckets.held_nano FROM buckets WHERE buckets.row = totals.bucket OFFSET 0) AS found),
  counting AS MATERIALIZED (
    SELECT seen.account, cap_subject(seen.key, mark) AS subject, seen.opened_at, seen.state,
        spent_of(measure_of(mark), seen.charge_nano, true, seen.tokens_held, seen.tokens) AS spent,
        held_of(measure_of(mark), seen.hold_nano, seen.tokens_held) AS held
      FROM seen CROSS JOIN LATERAL unnest(string_to_array(seen.caps, ' ')) AS mark WHERE seen.caps IS NOT NULL),
  -- The sum of a period begins with it: a receipt of it that was read before would have begun it before.
  counters AS MATERIALIZED (
    SELECT picked.account, picked.is_end, counter.*,
        coalesce(CASE (known.value ->> 0)::bigint WHEN counter.period_start THEN (known.value ->> 1)::numeric END, 0)
          + coalesce(sum(counting.spent) FILTER (WHERE counting.state = 'settled'), 0) AS spent,
        coalesce(sum(counting.held) FILTER (WHERE counting.state = 'open'), 0) AS held
      FROM picked CROSS JOIN LATERAL (SELECT spend_counters.subject, spend_counters.period_start,
            spend_counters.spent_nano, spend_counters.held_nano FROM spend_counters
          WHERE spend_counters.account = picked.account OFFSET 0) AS counter
        LEFT JOIN (SELECT account, key, value FROM picked, jsonb_each(picked.sums -> 'caps')) AS known
          ON known.account = picked.account AND known.key = counter.subject
        LEFT JOIN counting ON counting.account = picked.account AND counting.subject = counter.subject
          AND counting.opened_at >= counter.period_start
      GROUP BY picked.account, picked.is_end, counter.subject, counter.period_start, counter.spent_nano,
        counter.held_nano, known.value),
  findings (rule, account) AS MATERIALIZED (
    SELECT '${RULES.cost}', account FROM closed WHERE cost_nano IS DISTINCT FROM charge_nano + shortfall_nano
    UNION ALL SELECT '${RULES.charged}', account FROM stood
      WHERE state = 'settled' AND charge_nano <> 0 AND there <> buckets
    UNION ALL SELECT '${RULES.transferred}', account FROM moved WHERE total <> 0
    UNION ALL SELECT '${RULES.amount}', account FROM moved
      WHERE entries <> 2 OR own <> amount_nano OR other <> -amount_nano
    UNION ALL SELECT '${RULES.units}', account FROM moved WHERE dollars <> 0 OR quota <> 0
    UNION ALL SELECT '${RULES.there}', account FROM entered WHERE there IS NULL
    UNION ALL SELECT '${RULES.there}', account FROM stood WHERE state = 'settled' AND there <> buckets
    UNION ALL SELECT '${RULES.price}', account FROM seen WHERE NOT EXISTS
      (SELECT FROM prices WHERE prices.model = seen.model AND prices.version = seen.price_version)
    UNION ALL SELECT '${RULES.own}', account FROM stood WHERE own <> buckets OR different <> buckets
    UNION ALL SELECT '${RULES.drawn}', account FROM stood WHERE NOT CASE kind WHEN 'wallet' THEN wallets = 1 AND windows = 0
      ELSE wallets = 0 AND (windows > 0 OR hold_nano = 0) END
    UNION ALL SELECT '${RULES.numbered}', account FROM numbered WHERE movement <> place
    UNION ALL SELECT '${RULES.numbered}', picked.account FROM picked LEFT JOIN read USING (account)
      WHERE NOT is_end AND coalesce(read.movements, 0) <> until - since
    UNION ALL SELECT '${RULES.balance}', account FROM numbered WHERE balance_nano IS DISTINCT FROM total
    UNION ALL SELECT '${RULES.counted}', picked.account FROM picked LEFT JOIN read USING (account)
      WHERE wallet IS NULL OR picked.movements < since OR coalesce(read.movements, 0) <> until - since
        OR is_end AND (
          EXISTS (SELECT FROM receipts WHERE receipts.account = picked.account AND receipts.movement > picked.until)
          OR EXISTS (SELECT FROM transfers WHERE transfers.account = picked.account AND transfers.movement > picked.until))
    UNION ALL SELECT '${RULES.posted}', account FROM balances
      WHERE is_end AND (posted <> posted_nano OR owner IS DISTINCT FROM account)
    UNION ALL SELECT '${RULES.granted}', account FROM balances WHERE is_end AND closed_at IS NULL AND granted <> granted_nano
    UNION ALL SELECT '${RULES.held}', account FROM balances WHERE is_end AND held <> held_nano
    UNION ALL SELECT '${RULES.overdrawn}', account FROM balances WHERE is_end AND owner IS NOT NULL AND posted_nano - held_nano < 0
    UNION ALL SELECT '${RULES.spent}', account FROM counters WHERE is_end AND (spent <> spent_nano OR held <> held_nano)
    UNION ALL SELECT '${RULES.claimed}', account FROM seen CROSS JOIN LATERAL (SELECT claims.state FROM claims
      WHERE claims.receipt = seen.row OFFSET 0) AS claim WHERE (claim.state = 'running') <> (seen.state = 'open')),
  -- A closed window that sums up to nothing needs no sum any more: it has none again if something moves it later.
  states AS MATERIALIZED (
    SELECT picked.account, is_end, until, picked.balance + coalesce(read.dollars, 0) AS balance,
        jsonb_build_object('buckets', coalesce(of_buckets.sums, '{}'), 'caps', coalesce(of_caps.sums, '{}')) AS sums,
        picked.broken OR broken.account IS NOT NULL AS is_broken, since, picked.sums AS sums_before
      FROM picked LEFT JOIN read USING (account)
        LEFT JOIN (SELECT account, jsonb_object_agg(bucket, jsonb_build_array(posted, granted)) AS sums FROM balances
          WHERE closed_at IS NULL OR posted <> posted_nano OR held_nano <> 0 GROUP BY account) AS of_buckets USING (account)
        LEFT JOIN (SELECT account, jsonb_object_agg(subject, jsonb_build_array(period_start, spent)) AS sums FROM counters
          GROUP BY account) AS of_caps USING (account)
        LEFT JOIN (SELECT DISTINCT account FROM findings) AS broken USING (account)),
  last AS (SELECT * FROM states ORDER BY account DESC LIMIT 1)
SELECT jsonb_build_object(
  'next', (SELECT CASE
      WHEN NOT is_end THEN jsonb_build_object('first', account, 'carried', jsonb_build_object(
        'movement', until, 'balance', balance, 'sums', sums, 'broken', is_broken)::text)
      WHEN (SELECT count(*) FROM ahead WHERE ahead.account > last.account) = 0
        AND (SELECT count(*) FROM ahead) < accounts_max THEN NULL
      ELSE jsonb_build_object('first', account + 1, 'carried', NULL) END FROM last),
  'violations', (SELECT coalesce(jsonb_object_agg(rule, total), '{}')
    FROM (SELECT rule, count(*) AS total FROM findings GROUP BY rule) AS counted),
  -- A claim is no money.
  'suspects', (SELECT coalesce(jsonb_agg(DISTINCT account ORDER BY account), '[]') FROM findings
    WHERE rule <> '${RULES.claimed}'),
  'accounts', (SELECT count(*) FROM picked WHERE is_end),
  'receipts', (SELECT count(*) FROM seen),
  'transfers', (SELECT count(*) FROM transferred),
  'proved', (SELECT coalesce(jsonb_agg(jsonb_build_object('account', account, 'movement', until, 'balance', balance,
      'sums', sums) ORDER BY account), '[]')
    FROM states WHERE is_end AND NOT is_broken AND (from_first OR until <> since OR sums <> sums_before))));
END $$;

-- Proves the next slice, records how far it got, and freezes accounts that do not add up; the others go on. Only a look from
-- the first movement on lifts the freeze of an account, when it finds nothing there any more.
CREATE FUNCTION prove_accounts(first_account bigint, carried jsonb, from_first boolean, movements_max bigint,
  accounts_max integer) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  found CONSTANT jsonb := look_at_accounts(first_account, carried, from_first, movements_max, accounts_max);
BEGIN
  INSERT INTO proved_accounts AS known (account, movement, balance_nano, sums)
    SELECT proved.account, proved.movement, proved.balance, proved.sums FROM jsonb_to_recordset(found -> 'proved')
      AS proved (account bigint, movement bigint, balance bigint, sums jsonb) ORDER BY proved.account
    ON CONFLICT (account) DO UPDATE SET movement = excluded.movement, balance_nano = excluded.balance_nano, sums = excluded.sums
      WHERE (known.movement, known.balance_nano, known.sums)
        IS DISTINCT FROM (excluded.movement, excluded.balance_nano, excluded.sums);
  UPDATE accounts SET frozen_at = ledger_micros() / 1000 WHERE accounts.frozen_at IS NULL
    AND accounts.row = ANY (ARRAY(SELECT value::bigint FROM jsonb_array_elements_text(found -> 'suspects')));
  IF from_first THEN
    UPDATE accounts SET frozen_at = NULL WHERE accounts.frozen_at IS NOT NULL
      AND accounts.row = ANY (ARRAY(SELECT (value ->> 'account')::bigint FROM jsonb_array_elements(found -> 'proved')));
  END IF;
  RETURN found - 'proved';
END $$;

-- What accounts share. All credits come from 'external', and a wallet was granted what its credits sum up to.
CREATE FUNCTION prove_shared() RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (
WITH places AS (SELECT subject #>> '{}' AS subject, count(*) AS total
    FROM receipts, jsonb_path_query(receipts.limits, '$[*] ? (@.kind == "concurrent").subject') AS subject
    WHERE receipts.state = 'open' GROUP BY 1),
  findings (rule) AS (
    SELECT '${RULES.posted}' WHERE (SELECT buckets.posted_nano FROM buckets WHERE buckets.row = 1) IS DISTINCT FROM
      (SELECT -coalesce(sum(buckets.granted_nano), 0) FROM buckets WHERE buckets.kind = 'wallet')
    UNION ALL SELECT '${RULES.held}' FROM buckets WHERE buckets.row IN (1, 2, -11, -12, -13) AND buckets.held_nano <> 0
    UNION ALL SELECT '${RULES.running}' FROM (SELECT limits.subject, limits.running FROM limits) AS counted
      FULL JOIN places USING (subject) WHERE coalesce(running, 0) <> coalesce(places.total, 0))
SELECT jsonb_build_object('violations', (SELECT coalesce(jsonb_object_agg(rule, total), '{}')
  FROM (SELECT rule, count(*) AS total FROM findings GROUP BY rule) AS counted)));
END $$;
`
