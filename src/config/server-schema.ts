import { isIP } from 'node:net'
import {
  duration,
  flag,
  integer,
  integerOrAuto,
  list,
  optionalText,
  read,
  scalar,
  section,
  size,
  text,
  wrong,
} from './scalars.ts'

export const WORKERS_MAX = 256

const HOST = /^[A-Za-z0-9.:_%-]+$/

export const serverSchema = section('Where the server listens, and which clients and proxies it trusts.', {
  host: text('Address to listen on. Anything but a loopback address accepts other machines.', {
    pattern: HOST,
    expected: 'a host name or an address, such as 127.0.0.1, 0.0.0.0 or ::',
    charactersMax: 255,
  }).prefault('127.0.0.1'),
  port: integer('Port of the API and the console. 0 takes any free one.', [0, 65535]).prefault(4600),
  tls: section(
    'TLS of this server. Without it, clients are served over HTTP, and a proxy in front has the certificate. Changed files are reloaded.',
    {
      cert: text(
        'File with the certificate in PEM, followed by those between it and its authority; relative to this file.',
      ),
      key: text('File with its private key in PEM, without a passphrase; relative to this file.'),
    },
  ).optional(),
  public_url: optionalText(
    'Public URL of this server, without /v1; null: derived from host and port. It may have a path, as https://example.com/llm: requests are served with and without it.',
    (url) =>
      isWebUrl(url) && !OWN_PATHS.test(new URL(url).pathname)
        ? read(url.replace(/\/+$/, ''))
        : wrong(
            'an address such as https://llm.example.com',
            'http or https, without query or password, and without /v1, /admin, /scim, /console or /docs in its path.',
          ),
  ).prefault(null),
  metrics_host: text('Address of /metrics.', {
    pattern: HOST,
    expected: 'a host name or an address',
    charactersMax: 255,
  }).prefault('127.0.0.1'),
  metrics_port: integer('Port of /metrics. 0 takes any free one.', [0, 65535]).prefault(4601),
  trust_proxy: list(
    'Reverse proxies whose X-Forwarded-For is trusted: addresses or networks.',
    scalar('An address or a network.', { type: 'string', examples: ['10.0.0.0/8'] }, (value) =>
      typeof value === 'string' && isNetwork(value) ? read(value) : wrong('an address or a network such as 10.0.0.0/8'),
    ),
  ),
  docs: flag('Serve the documentation under /docs, to everybody.').prefault(true),
  // A connection costs a file descriptor and about 10 kB. This is the only limit on clients without a key.
  max_connections: integer(
    'Open connections of each worker. Further ones are closed at once.',
    [10, 1_000_000],
  ).prefault(10_000),
  workers: integerOrAuto(
    'Processes that serve. auto: one for each core, and with SQLite one. More than one needs PostgreSQL.',
    [1, WORKERS_MAX],
  ).prefault(1),
  allowed_origins: list(
    'Web pages that may call /v1 from a browser (CORS). Every visitor of such a page can read its key.',
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

export const boundsSchema = section('Limits of a request before it is parsed.', {
  body_bytes: size('Body after decompression.', ['1KiB', '256MiB']).prefault('32MiB'),
  expansion_ratio: integer(
    'Largest decompressed size of a body, as a multiple of its compressed size.',
    [1, 10_000],
  ).prefault(100),
  json_values: integer('JSON values in a body.', [100, 10_000_000]).prefault(200_000),
  json_depth: integer('Nesting depth of a body.', [8, 1000]).prefault(64),
  header_bytes: size('Request line and headers together.', ['4KiB', '1MiB']).prefault('16KiB'),
  header_timeout: duration('Time to receive all headers.', ['100ms', '10m']).prefault('10s'),
  // A coding agent may upload megabytes over a slow line. The response does not count.
  request_timeout: duration('Time to receive the whole body.', ['100ms', '1h']).prefault('60s'),
  // Longer than the idle timeout of common load balancers, so that they close first.
  keep_alive_timeout: duration('How long an idle connection stays open.', ['0s', '1h']).prefault('75s'),
  frame_bytes: size('One event, or one line of an event, in a provider’s stream.', ['64KiB', '64MiB']).prefault('4MiB'),
})

export const drainSchema = section('Graceful shutdown after SIGTERM.', {
  timeout: duration('How long running requests may continue. A second signal aborts them.', ['0s', '1h']).prefault(
    '30s',
  ),
  linger: duration('How long new requests are still accepted while /readyz fails. Use 5s behind a load balancer.', [
    '0s',
    '10m',
  ]).prefault('0s'),
})

/** A path prefix like one of ours would hide it. */
const OWN_PATHS = /\/(v1|admin|scim|console|docs|schema|healthz|readyz|openapi\.json)(\/|$)/

function isWebUrl(written: string): boolean {
  if (!URL.canParse(written)) return false
  const url = new URL(written)
  return /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username && !url.password
}

function isNetwork(written: string): boolean {
  const [address = '', bits, ...more] = written.split('/')
  const family = isIP(address)
  // A zone such as %eth0 names a link of this machine, never a proxy.
  if (family === 0 || address.includes('%') || more.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}

const isOrigin = (written: string): boolean =>
  URL.canParse(written) && /^https?:/.test(written) && new URL(written).origin === written

type DatabaseChoice = { readonly kind: 'sqlite' } | { readonly kind: 'postgres'; readonly url: string }

export const storageSchema = section('Where data is stored.', {
  data: optionalText(
    'Folder of ledger.db, content.db, keyring.json and admin.sock; relative to this file. ' +
      '--data and MILLRACE_DATA take precedence; without any of them, $XDG_DATA_HOME/millrace.',
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
  may_lose_commits: flag(
    'Start although PostgreSQL has fsync or synchronous_commit off: a power failure may then lose charges.',
  ).prefault(false),
})

export const keyRingSchema = section(
  'The secret that encrypts keys, credentials and stored content. Without one, keyring.json in the data folder holds it.',
  {
    secret_key: optionalText(
      'At least 32 characters; several separated by spaces, of which the first one encrypts. ' +
        'Better set as MILLRACE_SECRET_KEY or MILLRACE_SECRET_KEY_FILE.',
      (text) =>
        parseSecrets(text) === undefined
          ? wrong(
              'a secret of at least 32 characters, or several of them with spaces between',
              'Generate one: openssl rand -base64 32. Keep it: without it stored secrets are lost.',
            )
          : read(text),
    ).prefault(null),
  },
)

export const retentionSchema = section('How long data is kept.', {
  state: duration('Stored responses and the items they refer to.', ['1m', '3650d']).prefault('72h'),
  state_bytes: size('Disk space of all stored responses, compressed. The next to expire go first. 0: none is stored.', [
    '0B',
    '1024GiB',
  ]).prefault('1GiB'),
  idempotency: duration('Responses kept for a repeated Idempotency-Key.', ['1m', '30d']).prefault('24h'),
  idempotency_bytes: size(
    'Disk space of all responses kept for that, compressed. The next to expire go first. 0: none is kept.',
    ['0B', '1024GiB'],
  ).prefault('256MiB'),
})

export const ledgerSchema = section('How the ledger is written.', {
  mark_interval: duration(
    'How often the progress of running streams is recorded: the most that a crash leaves uncharged.',
    ['10ms', '10s'],
  ).prefault('100ms'),
  node_lease: duration('On PostgreSQL: other nodes end the requests of a node that has been silent for this long.', [
    '1s',
    '10m',
  ]).prefault('15s'),
})

export const holdSchema = section('How much is reserved for a request without an output limit.', {
  uncapped_share_percent: integer(
    'Share of the available money if the model’s maximum is not affordable.',
    [1, 100],
  ).prefault(25),
  uncapped_tokens_min: integer('Never fewer output tokens than this.', [1, 1_000_000]).prefault(1024),
})

const SECRET_LENGTH_MIN = 32

/** Secrets separated by spaces; the first is the primary one. Undefined if one is too short. */
export function parseSecrets(text: string): readonly [string, ...string[]] | undefined {
  const [primary = '', ...others] = text.trim().split(/\s+/)
  return [primary, ...others].some((secret) => secret.length < SECRET_LENGTH_MIN) ? undefined : [primary, ...others]
}
