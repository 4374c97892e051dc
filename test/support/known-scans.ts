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
  {
    step: /^SCAN \(subquery-\d+\)$/,
    of: /ORDER BY movement DESC LIMIT 1/,
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
    step: /^SCAN (slice|moves|closed|numbered|usage_entries|\(subquery-\d+\))$|^SEARCH moves USING AUTOMATIC/,
    of: /WITH slice AS MATERIALIZED/,
    why: 'the rows of one slice of an audit, which have a bound',
  },
  {
    step: /^SCAN (bounded|\(subquery-\d+\))$/,
    of: /WITH slices AS|SELECT bucket, SUM\(requests\)/,
    why: 'a slice of usage: a row for each account that was noted, and of each kind as many numbers as fit one',
  },
  {
    step: /^SCAN receipts USING (COVERING )?INDEX open_receipts$/,
    why: 'the index has only the requests that are running',
  },
  {
    step: /^SCAN accounts USING (COVERING )?INDEX frozen_accounts$/,
    why: 'the index has only the accounts that are frozen',
  },
  {
    step: /^SCAN buckets USING INDEX live_buckets_of_account$/,
    of: /'last receipt'/,
    why: 'an audit compares the balances of one moment; the index has only the live ones, a few an account',
  },
  {
    step: /^SCAN proved_balances$/,
    why: 'an audit begins from the balances that the last one has proved: those of live buckets',
  },
  { step: /^SCAN (marks|proved_rows)$/, why: 'a row for each node, a row for each kind' },
  {
    step: /^SCAN prices$/,
    of: /"version" = \(select max/,
    why: 'once a start and a change of the configuration; a row each time that a price was changed',
  },
  {
    step: /^SCAN subscriptions USING COVERING INDEX subscriptions_of_account$/,
    of: /count\(\*\)/,
    why: 'once a start and a change of the configuration, or when an operator asks who is on which plan',
  },
]
