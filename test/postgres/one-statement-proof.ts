/**
 * The whole proof in one statement: slow, and simple enough to be believed. It sees one moment. Tests compare the proof in slices
 * with it.
 */
export const ONE_STATEMENT_PROOF = `
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
      coalesce(sum(CASE split_part(reverse(replace(name, '_day', '')), ':', 1) WHEN reverse('requests') THEN 1
        WHEN reverse('tokens') THEN least(input_estimate + output_bound, uncached_input + cached_input + cache_write + output)
        ELSE charge_nano END) FILTER (WHERE state = 'settled'), 0) AS spent,
      coalesce(sum(CASE split_part(reverse(replace(name, '_day', '')), ':', 1) WHEN reverse('requests') THEN 1
        WHEN reverse('tokens') THEN input_estimate + output_bound ELSE hold_nano END) FILTER (WHERE state = 'open'), 0) AS held
    FROM receipts CROSS JOIN LATERAL unnest(string_to_array(receipts.caps, ' ')) AS name JOIN spend_counters AS counter
      ON counter.account = receipts.account AND counter.subject IN ('cap:' || receipts.key || ':' || name, 'cap:' || name)
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
  'transfers', (SELECT count(*) FROM transfers)) AS report`
