/**
 * What every operation begins with. Locks are always taken in the same order, accounts by wallet row, then limits by name,
 * so that no two batches ever wait for each other in a circle.
 */
export const LOCK_FUNCTIONS = `
-- The database decides by its own clock only; no node's clock is trusted. Microseconds since 1970.
CREATE FUNCTION ledger_micros() RETURNS bigint LANGUAGE sql AS $$
  SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
$$;

-- The wallet row of an account is the lock of everything that is its own: periods (also those that are not there yet),
-- claims, subscription. Whoever has it looks in a later statement, whose snapshot holds what the one before it committed;
-- looking and locking in one statement would check amounts on rows as they were before the wait.
CREATE FUNCTION lock_accounts(concerned bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  locked integer;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'The ledger needs transactions in READ COMMITTED: look again after each lock';
  END IF;
  -- A charge that a power cut could take back would be no charge.
  IF current_setting('synchronous_commit') = 'off' THEN PERFORM set_config('synchronous_commit', 'on', true); END IF;
  SELECT count(*) INTO locked FROM (
    SELECT FROM buckets WHERE kind = 'wallet' AND account = ANY (concerned) ORDER BY row FOR NO KEY UPDATE) AS wallets;
  IF locked <> cardinality(concerned) THEN RAISE EXCEPTION 'An account of % has no wallet', concerned; END IF;
END $$;

-- What closes or moves on an account now gets this number. Whoever asks has its lock, so nobody else is given the same.
CREATE FUNCTION next_movement(of_account bigint) RETURNS bigint LANGUAGE sql AS $$
  SELECT 1 + greatest(
    coalesce((SELECT max(movement) FROM receipts WHERE account = of_account AND movement IS NOT NULL), 0),
    coalesce((SELECT max(movement) FROM transfers WHERE account = of_account), 0))
$$;

-- Makes the rows that are missing and locks the others, in one statement: a row that a sweep deletes in between is made
-- anew. The condition is never true, but it is asked of a row that is locked by then.
CREATE FUNCTION lock_limits(subjects text[]) RETURNS void LANGUAGE sql AS $$
  INSERT INTO limits (subject) SELECT DISTINCT each COLLATE "C" FROM unnest(subjects) AS each ORDER BY 1
    ON CONFLICT (subject) DO UPDATE SET running = 0 WHERE false
$$;
`
