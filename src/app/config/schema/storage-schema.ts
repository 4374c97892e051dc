import { duration, integer, maybeText, read, scalar, size, wrong } from './scalars.ts'
import { section } from './section.ts'

export type DatabaseChoice = { readonly kind: 'sqlite' } | { readonly kind: 'postgres'; readonly url: string }

export const storageSchema = section('Where things are kept.', {
  data: maybeText(
    'Folder of ledger.db, content.db, keyring.json and admin.sock; relative to this file. ' +
      '--data and MILLRACE_DATA come first; without any of them, $XDG_DATA_HOME/millrace.',
  ).prefault(null),
  database: scalar<DatabaseChoice>(
    'sqlite: one process, files in the data folder. postgres://…: many nodes and workers.',
    { type: 'string', pattern: '^(sqlite|postgres(ql)?://.+|\\$\\{.+\\})$' },
    (value) => {
      if (value === 'sqlite') return read({ kind: 'sqlite' })
      if (typeof value === 'string' && /^postgres(ql)?:\/\/./.test(value) && URL.canParse(value)) {
        return read({ kind: 'postgres', url: value })
      }
      return wrong('sqlite, or postgres://user:password@host/name')
    },
  ).prefault('sqlite'),
})

export const keyRingSchema = section(
  'The secret that seals keys, credentials and stored content. Without one, keyring.json in the data folder holds it.',
  {
    secret_key: maybeText(
      'At least 32 characters; several with spaces between, of which the first one seals. ' +
        'Better given as MILLRACE_SECRET_KEY or MILLRACE_SECRET_KEY_FILE.',
      (text) =>
        parseSecrets(text) === undefined
          ? wrong(
              'a secret of at least 32 characters, or several of them with spaces between',
              'Make one: openssl rand -base64 32. Keep it: without it stored secrets are lost.',
            )
          : read(text),
    ).prefault(null),
  },
)

export const retentionSchema = section('How long things are kept.', {
  state: duration('Stored responses and the items that they refer to.', { min: '1m', max: '3650d' }).prefault('72h'),
  state_bytes: size(
    'Disk space of all stored responses, compressed: those that expire first make room. 0: none is stored.',
    { min: '0B', max: '1024GiB' },
  ).prefault('1GiB'),
  idempotency: duration('Answers kept for a repeated Idempotency-Key.', { min: '1m', max: '30d' }).prefault('24h'),
  idempotency_bytes: size(
    'Disk space of all answers that are kept for that, compressed: those that expire first make room. 0: none is kept.',
    { min: '0B', max: '1024GiB' },
  ).prefault('256MiB'),
})

export const ledgerSchema = section('How the books are kept.', {
  mark_interval: duration('How often the progress of running streams is recorded: what a crash may forgive at most.', {
    min: '10ms',
    max: '10s',
  }).prefault('100ms'),
})

export const holdSchema = section('How much is reserved for a request that names no output limit.', {
  uncapped_share_percent: integer('Part of the available money, if the model’s maximum is not affordable.', {
    min: 1,
    max: 100,
  }).prefault(25),
  uncapped_tokens_min: integer('Never fewer output tokens than this.', { min: 1, max: 1_000_000 }).prefault(1024),
})

const SECRET_LENGTH_MIN = 32

/** The secrets of a ring that was given as text, with spaces between; the first is the primary one. Undefined where one is too short. */
export function parseSecrets(text: string): readonly [string, ...string[]] | undefined {
  const [primary = '', ...others] = text.trim().split(/\s+/)
  return [primary, ...others].some((secret) => secret.length < SECRET_LENGTH_MIN) ? undefined : [primary, ...others]
}
