import { USAGE_SUMS } from '../content/usage-totals.ts'
import { LEDGER_ID, SEALED_BY } from '../meta.ts'

/**
 * How a column becomes text that is the same from both databases. `truth` is a boolean in PostgreSQL and 0 or 1 in SQLite,
 * `list` an array there and JSON here, `span` a double there and an integer here.
 */
export type ColumnKind = 'number' | 'text' | 'bytes' | 'truth' | 'list' | 'span'

export interface MovedColumn {
  readonly name: string
  readonly kind: ColumnKind
}

/** A table of both databases with the columns that both have. */
export interface MovedTable {
  readonly file: 'ledger' | 'content'
  readonly name: string
  /** What is read instead of the table itself. */
  readonly from?: string
  /** The rows that move; all without it. */
  readonly where?: string
  /** Its columns in order name each row. */
  readonly key: readonly string[]
  readonly columns: readonly MovedColumn[]
  /** Its rows may have megabytes in `sealed`. */
  readonly isBulky?: boolean
}

type Columns = Partial<Record<ColumnKind, string>>

function tableOf(
  file: MovedTable['file'],
  name: string,
  key: string,
  columns: Columns,
  more: Pick<MovedTable, 'from' | 'where' | 'isBulky'> = {},
): MovedTable {
  const listed = Object.entries(columns).flatMap(([kind, names]) =>
    names.split(' ').map((column) => ({ name: column, kind: kind as ColumnKind })),
  )
  return { file, name, key: key.split(' '), columns: listed, ...more }
}

const BULKY = { isBulky: true }

/**
 * What moves, in an order in which every row finds the rows that it references. Wishes come after transfers, whose trigger
 * would answer them.
 *
 * Not moved: what only a running server needs (`marks`, `nodes`, `jobs`, `signals`, `builds`, `call_seals`, `limit_slices`, and rate limits,
 * which are full again after a restart too); `waiting_ends`, which has to be empty; and `proved_rows`, `proved_balances`,
 * `proved_sums` and `proved_accounts`: the first verification in the new place begins at the first row.
 */
export const MOVED_TABLES: readonly MovedTable[] = [
  tableOf('ledger', 'meta', 'name', { text: 'name value' }, { where: `name IN ('${LEDGER_ID}', '${SEALED_BY}')` }),
  tableOf('ledger', 'accounts', 'row', { number: 'row created_at frozen_at', text: 'id email status' }),
  tableOf('ledger', 'buckets', 'row', {
    number: 'row account period_start period_end closed_at posted_nano held_nano',
    text: 'unit kind subject',
  }),
  tableOf('ledger', 'keys', 'row', {
    number:
      'row account expires_at disabled_at revoked_at created_at cap_day_nano cap_month_nano former_until playground',
    text: 'id kind name shown models limits former_shown',
    bytes: 'digest former_digest',
  }),
  tableOf('ledger', 'prices', 'model version', { number: 'version since', text: 'model terms' }),
  tableOf('ledger', 'receipts', 'row', {
    number:
      'row account key price_version hold_nano output_cap output_bound input_estimate cached_estimate opened_at closed_at ' +
      'uncached_input cached_input cache_write output reasoning tier cost_nano charge_nano shortfall_nano tokens_before ' +
      'tokens_after movement balance_nano',
    text: 'request_id kind state model caps outcome lane attempts',
    truth: 'estimated',
    list: 'buckets',
    span: 'first_byte_ms total_ms',
  }),
  tableOf('ledger', 'transfers', 'row', {
    number: 'row account amount_nano at movement balance_nano',
    text: 'kind unit ref reason',
  }),
  tableOf('ledger', 'entries', 'transfer seq', { number: 'transfer seq bucket delta_nano' }),
  tableOf('ledger', 'subscriptions', 'row', { number: 'row account billing_day started_at ends_at', text: 'plan' }),
  tableOf('ledger', 'claims', 'receipt', { number: 'receipt at expires_at', text: 'scope fingerprint state' }),
  tableOf('ledger', 'spend_counters', 'account subject', {
    number: 'account period_start period_end bound_nano spent_nano held_nano',
    text: 'subject',
  }),
  tableOf('ledger', 'people', 'row', {
    number: 'row account created_at password_changed_at disabled_at',
    text: 'id email role password',
  }),
  tableOf('ledger', 'sessions', 'row', {
    number: 'row person created_at seen_at expires_at confirmed_at',
    text: 'id agent address',
    bytes: 'digest',
  }),
  tableOf('ledger', 'invites', 'row', {
    number: 'row account person created_at expires_at used_at',
    text: 'role email created_by',
    bytes: 'digest',
  }),
  tableOf('ledger', 'admin_keys', 'row', {
    number: 'row created_at expires_at revoked_at last_used_at',
    text: 'id name shown scopes created_by',
    bytes: 'digest',
  }),
  tableOf('ledger', 'audit', 'seq', {
    number: 'seq at account',
    text: 'actor action target detail',
    bytes: 'prev_hash hash',
  }),
  tableOf('ledger', 'codes', 'row', {
    number: 'row amount_nano created_at expires_at withdrawn_at redeemed_by redeemed_at credited_at',
    text: 'id batch shown note created_by',
    bytes: 'digest',
  }),
  tableOf('ledger', 'wishes', 'row', { number: 'row account amount_nano at answered_at', text: 'note' }),
  tableOf('ledger', 'clock_corrections', 'row', { number: 'row set_back_from set_back_to last_receipt last_transfer' }),
  tableOf('content', 'owners', 'owner', { number: 'owner', text: 'id' }),
  tableOf(
    ...(['content', 'answers', 'rowid'] as const),
    {
      number: 'rowid account status raw_bytes bytes at expires_at',
      text: 'request_id ring_key content_type encoding facts',
      bytes: 'sealed',
    },
    BULKY,
  ),
  tableOf('content', 'account_keys', 'account', {
    number: 'account',
    text: 'name ring_key sealed_as',
    bytes: 'wrapped',
  }),
  tableOf('content', 'responses', 'response', {
    number: 'response account created_at expires_at parent children items item_bytes bytes as_sent',
    text: 'id request_id status log facts',
  }),
  tableOf(
    ...(['content', 'response_objects', 'response'] as const),
    { number: 'response raw_bytes', text: 'encoding', bytes: 'sealed' },
    BULKY,
  ),
  tableOf(
    ...(['content', 'items', 'item'] as const),
    { number: 'item account raw_bytes bytes', text: 'digest id encoding', bytes: 'sealed' },
    BULKY,
  ),
  tableOf('content', 'response_items', 'response side position', { number: 'response side position item' }),
  tableOf(
    ...(['content', 'events', 'event'] as const),
    { number: 'event response from_sequence to_sequence raw_bytes bytes', text: 'encoding', bytes: 'sealed' },
    BULKY,
  ),
  // PostgreSQL spreads the sum over several rows. It moves as one.
  tableOf(
    ...(['content', 'state_size', 'one'] as const),
    { number: 'one bytes' },
    { from: '(SELECT 1 AS one, COALESCE(SUM(bytes), 0) AS bytes FROM %)' },
  ),
  tableOf('content', 'usage_series', 'series', { number: 'series account key last_at', text: 'level model kind' }),
  tableOf('content', 'usage', 'series quarter', { number: `series quarter ${USAGE_SUMS.join(' ')}` }),
  tableOf('content', 'usage_upto', 'account', { number: 'account movement closed_at' }),
  tableOf('content', 'lockouts', 'name', { number: 'until', text: 'name' }),
  tableOf('content', 'refused_series', 'series', { number: 'series', text: 'account key kind code' }),
  tableOf('content', 'refused_turns', 'series quarter', { number: 'series quarter total' }),
]

/** What the schemas make, in a database that is empty all the same. */
export const MADE_BY_SCHEMA: ReadonlySet<string> = new Set(['meta', 'buckets', 'state_size'])
