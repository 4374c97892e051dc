/** Something that the database reads from one end to the other, and why that is no matter however large the books get. */
export interface KnownScan {
  readonly step: RegExp
  /** Of which statements; of all when it is not said. */
  readonly of?: RegExp
  readonly why: string
}

export const KNOWN_SCANS: readonly KnownScan[] = [
  { step: /^SCAN \d+(-ROW VALUES CLAUSE| CONSTANT ROWS?)$/, why: 'the rows of a batch, as they were sent' },
  { step: /^SCAN CONSTANT ROW$/, why: 'one row that is worked out of others, each of which an index has found' },
  { step: /^SCAN batch$/, of: /WITH batch .* AS \(VALUES/s, why: 'the rows of a batch, as they were sent' },
  { step: /^SCAN CONSTANT ROW$/, why: 'a question without a table of its own: what it names is looked up one by one' },
  { step: /^SCAN looked$/, of: /^WITH looked AS MATERIALIZED .* LIMIT \?\)/s, why: 'a few keys, by an index' },
  {
    step: /^SCAN (last_(charge|transfer|one|two|wallet|builder|moves)|ends|\(subquery-\d+\))$/,
    of: /ORDER BY movement DESC LIMIT 1|AS ends$/,
    why: 'the last movement of each kind of an account, which is one row each',
  },
  {
    step: /^SCAN subjects$/,
    of: /WITH RECURSIVE subjects/,
    why: 'a row for each kind of window that an account ever had, each found in the index',
  },
  {
    step: /^SCAN \w+( EXISTS)? VIRTUAL TABLE INDEX/,
    of: /json_each/,
    why: 'a list in one value: the buckets of a receipt, or rows that were asked for',
  },
  {
    step: /^SCAN (slice|\(subquery-\d+\))$/,
    of: /WITH slice AS MATERIALIZED/,
    why: 'the rows of one slice of an audit, which have a bound, and the last movement of an account, which is one',
  },
  {
    step: /^SCAN \(subquery-\d+\)$/,
    of: /^SELECT DISTINCT key FROM \(SELECT key FROM receipts/,
    why: 'one page of an audit, which has a bound',
  },
  {
    step: /^SEARCH counted USING AUTOMATIC COVERING INDEX/,
    of: /WITH counted AS MATERIALIZED/,
    why: 'the caps that an audit asks for, which have a bound',
  },
  { step: /^SCAN around$/, of: /WITH RECURSIVE around/, why: 'the runs around a run, at most seven' },
  { step: /^SCAN inside$/, of: /WITH RECURSIVE inside/, why: 'the runs of one tree, each found in an index' },
  {
    step: /^SCAN ended$/,
    of: /receipt_tags CROSS JOIN receipts/,
    why: 'the requests of one run, each found in an index',
  },
  {
    step: /^SCAN halved$/,
    of: /WITH RECURSIVE halved/,
    why: 'a row for each step of a search that halves what is left',
  },
  {
    step: /^SCAN (bounded|counted|next|next_ones|of_kinds|sums|\(subquery-\d+\))$/,
    of: /WITH slices AS|SELECT bucket, SUM\(requests\)/,
    why: 'a slice of usage: a row for each account that was noted, and of each kind as many numbers as fit one',
  },
  {
    step: /^SCAN (closed|calls|times|measured)$/,
    of: /json_each\(\?\) AS slices CROSS JOIN receipts/,
    why: 'the receipts of one slice, which have a bound, each found in the index of its account',
  },
  {
    step: /^SCAN parts$/,
    of: /FROM json_each\(\?1\) AS spans/,
    why: 'the largest accounts of a report, of which there are ten',
  },
  {
    step: /^SCAN served_upto$/,
    of: /^SELECT COUNT\(\*\) AS accounts/,
    why: 'whether something was counted between two queries of a report: a short row for each account',
  },
  {
    step: /^SCAN receipts USING (COVERING )?INDEX open_receipts$/,
    why: 'the index has only the requests that are running',
  },
  {
    step: /^SCAN receipts USING INDEX receipts_with_shortfall$/,
    why: 'the index has only the requests that could not be charged in full, which are hardly any',
  },
  {
    step: /^SCAN accounts USING (COVERING )?INDEX frozen_accounts$/,
    why: 'the index has only the accounts that are frozen',
  },
  {
    step: /^SCAN accounts$/,
    of: /^select "row" from "accounts" order by "row" desc limit \?$/,
    why: 'one row: the newest account, where a search begins',
  },
  { step: /^SCAN (marks|proved_rows|proved_balances)$/, why: 'a row for each node, a row for each kind, one row' },
  {
    step: /^SCAN clock_corrections USING COVERING INDEX/,
    why: 'whether ledger time was ever set back: the first row answers, and there are hardly any',
  },
  {
    step: /^SCAN admin_keys$/,
    of: /"created_by" in \(/,
    why: 'once a revocation of an admin key: there are as many as an operator and their programs have made',
  },
  {
    step: /^SCAN managed_entries$/,
    of: /select max\("other"."row"\)/,
    why: 'once a start, a change of managed entries and a look at them: a row each time that an operator changed one',
  },
  { step: /^SCAN waiting_ends$/, why: 'once a start: ends of turns whose account does not add up' },
  {
    step: /^SCAN prices$/,
    of: /"version" = \(select max/,
    why: 'once a start and a change of the configuration; a row each time that a price was changed',
  },
]
