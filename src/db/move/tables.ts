import { SERVED_SUMS } from '../content/served-totals.ts'
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
 * would answer them, and tags before receipts, whose trigger adds only what is missing.
 *
 * Not moved: what only a running server needs (`marks`, `nodes`, `jobs`, `signals`, `builds`, `call_seals`, `limit_slices`, `sign_on_uses`, and rate limits,
 * which are full again after a restart too); `waiting_ends`, which has to be empty; and `proved_rows`, `proved_balances`,
 * `proved_sums` and `proved_accounts`: the first verification in the new place begins at the first row.
 */
export const MOVED_TABLES: readonly MovedTable[] = [
  tableOf('ledger', 'meta', 'name', { text: 'name value' }, { where: `name IN ('${LEDGER_ID}', '${SEALED_BY}')` }),
  tableOf('ledger', 'accounts', 'row', {
    number: 'row created_at frozen_at second_factor scim_version',
    text: 'id email status',
  }),
  tableOf('ledger', 'buckets', 'row', {
    number: 'row account period_start period_end closed_at posted_nano held_nano',
    text: 'unit kind subject',
  }),
  tableOf('ledger', 'people', 'row', {
    number: 'row account created_at password_changed_at disabled_at',
    text: 'id email role password',
  }),
  tableOf('ledger', 'teams', 'row', { number: 'row account created_at archived_at', text: 'id name' }),
  tableOf('ledger', 'keys', 'row', {
    number:
      'row account expires_at disabled_at revoked_at created_at cap_day_nano cap_month_nano former_until playground person team',
    text: 'id kind name shown models limits former_shown addresses run step_down',
    bytes: 'digest former_digest',
  }),
  tableOf('ledger', 'runs', 'row', {
    number: 'row account parent max_nano max_requests max_tokens opened_at ends_at person key',
    text: 'id tags',
  }),
  tableOf('ledger', 'prices', 'model version', { number: 'version since', text: 'model terms' }),
  tableOf('ledger', 'receipt_tags', 'account tag movement', { number: 'account movement', text: 'tag' }),
  tableOf('ledger', 'receipts', 'row', {
    number:
      'row account key price_version hold_nano output_cap output_bound input_estimate cached_estimate opened_at closed_at ' +
      'uncached_input cached_input cache_write output reasoning tier cost_nano charge_nano shortfall_nano tokens_before ' +
      'tokens_after movement balance_nano',
    text: 'request_id kind state model caps tags asked outcome lane attempts',
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
  tableOf('ledger', 'spend_caps', 'account holder name', { number: 'account amount_nano', text: 'holder name' }),
  tableOf('ledger', 'cap_raises', 'account subject', { number: 'account amount_nano until', text: 'subject' }),
  tableOf('ledger', 'sessions', 'row', {
    number: 'row person created_at seen_at expires_at confirmed_at strong',
    text: 'id agent address means',
    bytes: 'digest',
  }),
  tableOf('ledger', 'totp_secrets', 'person', {
    number: 'person created_at confirmed_at last_step tries_until',
    text: 'ring_key',
    bytes: 'sealed',
  }),
  tableOf('ledger', 'recovery_codes', 'person digest', { number: 'person used_at', text: 'digest' }),
  tableOf('ledger', 'passkeys', 'row', {
    number: 'row person counter created_at last_used_at',
    text: 'id name transports',
    bytes: 'credential public_key',
  }),
  tableOf('ledger', 'used_challenges', 'digest', { number: 'expires_at', text: 'digest' }),
  tableOf('ledger', 'invites', 'row', {
    number: 'row account person created_at expires_at used_at',
    text: 'role email created_by',
    bytes: 'digest',
  }),
  tableOf('ledger', 'admin_keys', 'row', {
    number: 'row created_at expires_at revoked_at last_used_at account',
    text: 'id name shown scopes created_by',
    bytes: 'digest',
  }),
  tableOf('ledger', 'identities', 'row', { number: 'row person created_at', text: 'issuer subject' }),
  tableOf('ledger', 'scim_users', 'person', {
    number: 'person account deleted_at deactivated_at',
    text: 'external_id given_name family_name display_name',
  }),
  tableOf('ledger', 'scim_groups', 'row', { number: 'row account team created_at', text: 'id name external_id' }),
  tableOf('ledger', 'scim_members', 'of_group person', { number: 'of_group person' }),
  tableOf('ledger', 'admin_calls', 'scope', { number: 'acted at expires_at', text: 'scope fingerprint request_id' }),
  tableOf('ledger', 'managed_entries', 'row', {
    number: 'row effective_from created_at',
    text: 'kind name entry ring_key created_by',
    bytes: 'sealed',
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
  tableOf('ledger', 'payments', 'row', {
    number:
      'row account amount_nano received_nano refunded_nano disputed_nano dispute_at owed_nano created_at paid_at saves_card ' +
      'settled version purchase period_end',
    text: 'id kind state dispute plan session intent invoice receipt_url failure',
  }),
  tableOf('ledger', 'payment_steps', 'payment step', { number: 'payment step delta_nano at done_at' }),
  tableOf('ledger', 'payment_events', 'id', { number: 'at', text: 'id type' }),
  tableOf('ledger', 'payers', 'account', {
    number: 'account automatic below_nano add_nano month_nano failures failed_at next_at version',
    text: 'customer method card failure',
  }),
  tableOf('ledger', 'plan_purchases', 'row', {
    number: 'row account cancels status_at paid_until assigned_until created_at version',
    text: 'subscription plan status',
  }),
  tableOf('ledger', 'notices', 'row', { number: 'row account person at', text: 'id once event facts' }),
  tableOf('ledger', 'notice_reads', 'person notice', { number: 'person notice' }),
  tableOf('ledger', 'notice_settings', 'account', { number: 'account low_balance_nano' }),
  tableOf('ledger', 'notice_preferences', 'person', { number: 'person mail', text: 'language' }),
  tableOf('ledger', 'webhooks', 'row', {
    number: 'row account former_until created_at failing_since',
    text: 'id url events ring_key former_ring_key created_by state',
    bytes: 'secret former_secret',
  }),
  tableOf('ledger', 'notice_deliveries', 'row', {
    number: 'row notice webhook mail_account attempts next_at status created_at ended_at',
    text: 'id event recipient language ring_key state error',
    bytes: 'sealed',
  }),
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
    number: 'response account created_at expires_at parent children items item_bytes bytes as_sent person',
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
  tableOf(
    ...(['content', 'conversations', 'conversation'] as const),
    {
      number: 'conversation account saved_at raw_bytes bytes',
      text: 'person id encoding',
      bytes: 'title sealed',
    },
    BULKY,
  ),
  tableOf('content', 'usage_series', 'series', { number: 'series account key last_at', text: 'level model kind' }),
  tableOf('content', 'usage', 'series quarter', { number: `series quarter ${USAGE_SUMS.join(' ')}` }),
  tableOf('content', 'usage_upto', 'account', { number: 'account movement closed_at' }),
  tableOf('content', 'served', 'level step at account model', {
    number: `at account ${SERVED_SUMS.join(' ')}`,
    text: 'level step model',
  }),
  tableOf('content', 'served_latency', 'measure step at ms', { number: 'at ms requests', text: 'measure step' }),
  tableOf('content', 'served_lanes', 'slot lane', {
    number: 'slot succeeded failed failed_at status',
    text: 'lane error',
  }),
  tableOf('content', 'served_lane_latency', 'slot lane ms', { number: 'slot ms calls', text: 'lane' }),
  tableOf('content', 'served_models', 'slot model measure value', {
    number: 'slot value requests',
    text: 'model measure',
  }),
  tableOf('content', 'served_upto', 'account', { number: 'account movement closed_at' }),
  tableOf('content', 'lockouts', 'name', { number: 'until', text: 'name' }),
  tableOf('content', 'refused_series', 'series', { number: 'series', text: 'account key kind code' }),
  tableOf('content', 'refused_turns', 'series quarter', { number: 'series quarter total' }),
]

/** What the schemas make, in a database that is empty all the same. */
export const MADE_BY_SCHEMA: ReadonlySet<string> = new Set(['meta', 'buckets', 'state_size'])
