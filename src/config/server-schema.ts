import { isIP } from 'node:net'
import { duration, integer, list, maybeText, read, scalar, section, size, text, wrong } from './scalars.ts'

export const serverSchema = section('Where the server listens and whom it believes.', {
  host: text('Address to listen on. Anything but a loopback address lets others in.', {
    pattern: /^[A-Za-z0-9.:_%-]+$/,
    expected: 'a host name or an address, such as 127.0.0.1, 0.0.0.0 or ::',
    charactersMax: 255,
  }).prefault('127.0.0.1'),
  port: integer('Port of the API and the console. 0 takes any free one.', { min: 0, max: 65535 }).prefault(4600),
  public_url: maybeText('How clients reach this server from outside, without /v1; null: by host and port.', (url) =>
    isWebUrl(url) && !/\/v1\/?$/.test(url)
      ? read(url.replace(/\/+$/, ''))
      : wrong('an address such as https://llm.example.com', 'http or https, without /v1, query or password.'),
  ).prefault(null),
  metrics_host: text('Address of /metrics.', {
    pattern: /^[A-Za-z0-9.:_%-]+$/,
    expected: 'a host name or an address',
    charactersMax: 255,
  }).prefault('127.0.0.1'),
  metrics_port: integer('Port of /metrics. 0 takes any free one.', { min: 0, max: 65535 }).prefault(4601),
  trust_proxy: list(
    'Reverse proxies whose X-Forwarded-For is believed: addresses or networks.',
    scalar('An address or a network.', { type: 'string', examples: ['10.0.0.0/8'] }, (value) =>
      typeof value === 'string' && isNetwork(value) ? read(value) : wrong('an address or a network such as 10.0.0.0/8'),
    ),
  ),
  // Each takes a file descriptor and some ten kilobytes, whoever it belongs to: the one bound on those without a key.
  max_connections: integer('Connections that are open at once; one more is closed at once.', {
    min: 10,
    max: 1_000_000,
  }).prefault(10_000),
  workers: integer('Processes that serve. More than one needs PostgreSQL.', { min: 1, max: 256 }).prefault(1),
  allowed_origins: list(
    'Web pages that may call /v1 from a browser. Keys in a public page are everybody’s keys: think twice.',
    scalar('An origin.', { type: 'string', examples: ['https://app.example.com'] }, (value) =>
      typeof value === 'string' && isOrigin(value)
        ? read(value)
        : wrong(
            'an origin such as https://app.example.com',
            'Scheme, host and port only: no path, no slash at the end.',
          ),
    ),
  ),
})

export const boundsSchema = section('The most that one request may ask of the server before it is understood.', {
  body_bytes: size('Body after decompression.', { min: '1KiB', max: '256MiB' }).prefault('32MiB'),
  expansion_ratio: integer('How many times larger than itself a compressed body may become.', {
    min: 1,
    max: 10_000,
  }).prefault(100),
  json_values: integer('Values in a body.', { min: 100, max: 10_000_000 }).prefault(200_000),
  json_depth: integer('Nesting of a body.', { min: 8, max: 1000 }).prefault(64),
  header_bytes: size('The request line and all headers of a request together, as they are sent.', {
    min: '4KiB',
    max: '1MiB',
  }).prefault('16KiB'),
  header_timeout: duration('Until all headers have come.', { min: '100ms', max: '10m' }).prefault('10s'),
  // A coding agent sends megabytes over thin lines; the time of the answer is not part of it.
  request_timeout: duration('Until the whole body has come.', { min: '100ms', max: '1h' }).prefault('60s'),
  // Longer than the idle time of common load balancers, so that they and not we close first.
  keep_alive_timeout: duration('How long an idle connection is kept for its next request.', {
    min: '0s',
    max: '1h',
  }).prefault('75s'),
  frame_bytes: size('One event, or one line of an event, of a provider’s stream.', {
    min: '64KiB',
    max: '64MiB',
  }).prefault('4MiB'),
})

export const drainSchema = section('What happens between SIGTERM and the end.', {
  timeout: duration('How long running answers may go on. A second signal cuts them.', {
    min: '0s',
    max: '1h',
  }).prefault('30s'),
  linger: duration('How long new requests are still taken while /readyz says no. 5s behind a load balancer.', {
    min: '0s',
    max: '10m',
  }).prefault('0s'),
})

function isWebUrl(written: string): boolean {
  if (!URL.canParse(written)) return false
  const url = new URL(written)
  return /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username && !url.password
}

function isNetwork(written: string): boolean {
  const [address = '', bits, ...more] = written.split('/')
  const family = isIP(address)
  // A zone such as %eth0 names a link of this machine, and no proxy.
  if (family === 0 || address.includes('%') || more.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}

const isOrigin = (written: string): boolean =>
  URL.canParse(written) && /^https?:/.test(written) && new URL(written).origin === written

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
