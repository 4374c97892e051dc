import { z } from 'zod'
import type { Cycle } from '../model/allowance.ts'
import { keylessSchema } from './keyless-schema.ts'
import { importSchema, modelGlob, modelSchema } from './model-schema.ts'
import type { ConfigPath } from './problem.ts'
import {
  choice,
  duration,
  durationOrOff,
  flag,
  integer,
  integerOrOff,
  list,
  optionalText,
  parseDuration,
  type Reading,
  read,
  scalar,
  section,
  sizeOrAuto,
  text,
  usd,
  wrong,
} from './scalars.ts'
import {
  boundsSchema,
  drainSchema,
  holdSchema,
  keyRingSchema,
  ledgerSchema,
  retentionSchema,
  serverSchema,
  storageSchema,
} from './server-schema.ts'
import { signInSchema } from './sign-in-schema.ts'
import { identifier, upstreamSchema } from './upstream-schema.ts'

/** Stripe's own names for keys: secret and restricted ones, for tests and for money. */
const SECRET_KEY = /^(sk|rk)_(test|live)_[A-Za-z0-9]{8,}$/
const WEBHOOK_SECRET = /^whsec_[A-Za-z0-9+/=]{8,}$/
const PRICE_ID = /^price_[A-Za-z0-9_]{3,}$/

/** Whole cents, because Stripe takes no smaller part of a dollar. */
const NANO_PER_CENT = 10_000_000n

const wholeCents = (description: string) =>
  usd(description, '999999').refine(
    (amount) => amount > 0n && amount % NANO_PER_CENT === 0n,
    'must be whole cents above zero',
  )

const planSoldSchema = section('A plan that account owners can buy.', {
  plan: text('The id of the plan in this file.'),
  price: text('The recurring price of it at Stripe.', {
    pattern: PRICE_ID,
    expected: 'the id of a price, such as price_1Abc',
  }),
})

const paymentsSchema = section('How account owners pay by card.', {
  stripe: section('Stripe takes the cards. Needs the package stripe. Without this section, nothing is sold by card.', {
    secret_key: text('Secret or restricted key of the Stripe account. Best from a variable or a file.', {
      pattern: SECRET_KEY,
      expected: 'a key of Stripe that begins with sk_ or rk_',
    }),
    webhook_secret: text('Signing secret of the webhook endpoint /stripe/webhook. Best from a variable or a file.', {
      pattern: WEBHOOK_SECRET,
      expected: 'the signing secret of an endpoint, which begins with whsec_',
    }),
    api_base: scalar<string>(
      'Address of Stripe’s API. Anything else is a stand-in for tests.',
      { type: 'string', examples: ['https://api.stripe.com'] },
      (value) =>
        typeof value === 'string' && isApiBase(value)
          ? read(new URL(value).origin)
          : wrong(
              'an address such as https://api.stripe.com',
              'Scheme, host and port only; http only on this machine.',
            ),
    ).prefault('https://api.stripe.com'),
    top_up_min: wholeCents('The least that is paid at once').prefault('5.00'),
    top_up_max: wholeCents('The most that is paid at once').prefault('1000.00'),
    automatic_top_up: flag('Let owners have a saved card charged when their balance is low.').prefault(true),
    renewal_grace: duration(
      'How long a plan that renews goes on after a paid period, because Stripe charges up to an hour later.',
      ['0s', '7d'],
    ).prefault('3h'),
    plans: list('The plans that owners can buy.', planSoldSchema),
  })
    .refine(({ top_up_min: min, top_up_max: max }) => min <= max, {
      path: ['top_up_max'],
      message: 'must be at least top_up_min',
      params: { whole: true, cure: 'Raise it, or lower top_up_min.' },
    })
    .optional(),
})

export type ParsedPayments = z.output<typeof paymentsSchema>

function isApiBase(written: string): boolean {
  if (!URL.canParse(written)) return false
  const url = new URL(written)
  if (url.pathname !== '/' || url.search || url.hash || url.username || url.password) return false
  return (
    url.protocol === 'https:' || (url.protocol === 'http:' && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname))
  )
}

const ADDRESS = String.raw`[^\s@<>(),;:"\\[\]]{1,64}@[\p{L}\p{N}](?:[\p{L}\p{N}.-]{0,250}[\p{L}\p{N}])?`
/** `millrace@example.com`, or `Millrace <millrace@example.com>`. */
const SENDER = new RegExp(String.raw`^(?:[^\p{Cc}<>"@,;]{1,100} <${ADDRESS}>|${ADDRESS})$`, 'u')
const ONE_ADDRESS = 'one mail address, such as millrace@example.com or Millrace <millrace@example.com>'

const mailSchema = section(
  'The mail server that notices and invitations are handed over to. Without it, none is sent.',
  {
    host: text('Its name or address.', {
      pattern: /^[A-Za-z0-9.:_-]+$/,
      expected: 'a host name or an address',
      charactersMax: 255,
    }),
    port: integer('Its port: usually 587 with starttls, 465 with tls.', [1, 65535]).prefault(587),
    tls: choice(
      'starttls: begin TLS on a plain connection, and send nothing without it. tls: TLS from the first byte. none: no TLS, for a mail server on this machine.',
      ['starttls', 'tls', 'none'],
    ).prefault('starttls'),
    user: optionalText('Name to sign in with; null: without signing in.').prefault(null),
    password: optionalText(`Its password, preferably as \${NAME} or \${file:/path}.`).prefault(null),
    from: text('Sender of the mails, as Millrace <millrace@example.com>.', {
      ...{ pattern: SENDER, expected: ONE_ADDRESS, charactersMax: 400 },
    }),
    reply_to: optionalText('Where answers go; null: to the sender.', (value) =>
      SENDER.test(value) ? read(value) : wrong(ONE_ADDRESS),
    ).prefault(null),
  },
).superRefine(({ user, password }, context) => {
  if ((user === undefined) !== (password === undefined))
    context.addIssue({
      ...{
        code: 'custom',
        path: [user === undefined ? 'user' : 'password'],
        message: 'user and password belong together',
      },
      params: { cure: 'Write both, or none.', whole: true },
    })
})

const noticesSchema = section('Notices to owners and operators.', {
  allow_private_webhooks: flag(
    'Send to webhooks at private addresses, and over plain HTTP on this machine. Owners enter their addresses: only for servers whose owners you trust.',
  ).prefault(false),
})

const HOST_NAME = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i

const consoleSchema = section('The web console, where account owners manage keys and see their money.', {
  enabled: flag('Serve the console under /console.').prefault(true),
  hosts: list(
    'Additional host names, without ports, that the console is served on. The host of server.public_url is always included.',
    scalar('A host name.', { type: 'string', examples: ['millrace.internal'] }, (value) =>
      typeof value === 'string' && value.length <= 253 && HOST_NAME.test(value)
        ? read(value.toLowerCase())
        : wrong('a host name such as millrace.internal', 'Without scheme, port and path.'),
    ),
  ),
  // Prefer TLS in front of the server; this is for trusted networks.
  allow_http: flag('Allow sign-in over plain HTTP from other machines.').prefault(false),
})

export const overloadSchema = section(
  'When this process rejects new requests because it is overloaded. Running requests continue.',
  {
    memory_budget: sizeOrAuto(
      'Memory for all running requests: 256KiB each, plus their bodies and what is parsed from them. auto: half of the memory available to the process.',
      ['1MiB', '1024GiB'],
    ).prefault('auto'),
    // Bursts of agents that start together end sooner; a longer queue would only delay the rejections.
    queue: integer('Requests that may wait for capacity before their bodies are read.', [0, 10_000]).prefault(64),
    // Shorter than any client's own timeout.
    queue_wait: duration('How long a request waits in the queue at most.', ['10ms', '1m']).prefault('2s'),
    loop_delay: durationOrOff('Event loop delay (99th percentile) above which new requests are rejected.', [
      '10ms',
      '1m',
    ]).prefault('250ms'),
    loop_delay_for: duration(
      'How long the delay must stay above the limit before requests are rejected, and below it before they are accepted again.',
      ['100ms', '10m'],
    ).prefault('5s'),
  },
)

const routingSchema = section('What happens with lanes that fail, rate-limit, or reject our credential.', {
  put_aside: flag(
    'Open the circuit of such a lane, so that requests skip it for a while. false: every request tries it first.',
  ).prefault(true),
  aside_first: duration('How long the circuit of a failing lane stays open. Doubles with each consecutive failure.', [
    '100ms',
    '1h',
  ]).prefault('10s'),
  aside_longest: duration('The longest that a circuit stays open.', ['100ms', '1h']).prefault('5m'),
  patience: duration(
    'How long a request waits when the circuits of all lanes of its model are open and one becomes half-open within that time. 0s: requests do not wait.',
    ['0s', '60s'],
  ).prefault('10s'),
  retry_percent: integerOrOff(
    'Retry budget: failovers allowed per 100 successful requests of a model. off: no limit.',
    [0, 1000],
  ).prefault(20),
  retries_per_second: integer(
    'Failovers per second that are always allowed, whatever the retry budget.',
    [0, 1_000_000],
  ).prefault(3),
})

const planSchema = section('What a Builder subscription grants.', {
  id: identifier('The id by which accounts are assigned to it.'),
  models: z.array(modelGlob).min(1, 'at least one model').meta({ description: 'Models that the plan covers.' }),
  windows: z
    .array(
      section('A period with its own allowance.', {
        every: scalar<Cycle>(
          '5h, 7d: starts with the first use. week: from Monday, UTC. month: from the billing day.',
          { type: 'string', pattern: '^(week|month|\\d+(m|h|d)|\\$\\{.+\\})$' },
          readWindow,
        ),
        allowance: usd('What may be spent in the period', '1000000'),
      }),
    )
    .min(1, 'at least one window')
    .meta({ description: 'A request needs allowance in every window.' }),
})

export function readWindow(value: unknown): Reading<Cycle> {
  if (value === 'week') return read({ kind: 'week' })
  if (value === 'month') return read({ kind: 'month', day: 'billing' })
  const ms = typeof value === 'string' ? parseDuration(value) : undefined
  return ms !== undefined && ms >= 60_000 && ms <= 366 * 86_400_000
    ? read({ kind: 'anchored', ms })
    : wrong('a length from 1m to 366d such as 5h or 7d, or week, or month')
}

const COUNT = [1, 1_000_000_000_000] as const

const burst = () => duration('Burst size, as seconds’ worth of the rate.', ['1s', '1h']).prefault('60s')

const ratesSchema = (subject: string) =>
  section(`Limits of ${subject}. A key that is left out sets no limit.`, {
    requests_per_minute: integer('Requests per minute.', COUNT).optional(),
    tokens_per_minute: integer('Tokens per minute, input and output.', COUNT).optional(),
    concurrent: integer('Concurrent requests.', COUNT).optional(),
    burst: burst(),
  }).prefault({})

const limitsSchema = section('Default limits. A key’s own limits override them.', {
  key: ratesSchema('one key'),
  account: ratesSchema('all keys of one account together'),
  account_model: ratesSchema('one account on one model'),
  model: ratesSchema('all accounts together on one model'),
  address: section('Limits of one client address (IPv6: one /64) without a valid key.', {
    refused_per_minute: integerOrOff('Requests per minute that get 401; further ones get 429.', COUNT).prefault(300),
    burst: burst(),
  }).prefault({}),
  keys_per_account: integer('Keys per account that are not revoked.', [1, 10_000]).prefault(200),
})

const telemetrySchema = section('Logs, metrics and traces. The server never calls home.', {
  log: section('One line per request, without contents.', {
    level: choice('The lowest level that is logged.', [
      'trace',
      'debug',
      'info',
      'warn',
      'error',
      'fatal',
      'silent',
    ]).prefault('info'),
    format: choice('auto: text on a terminal, JSON elsewhere.', ['auto', 'json', 'pretty']).prefault('auto'),
  }).prefault({}),
  metrics: flag('Serve /metrics.').prefault(true),
  traces: section('OpenTelemetry spans, for an SDK that the process is started with.', {
    enabled: flag('Make spans of requests and of calls of providers.').prefault(false),
    from_clients: flag(
      'Continue the trace that a client names in traceparent. false: each request begins its own trace, for clients you do not know.',
    ).prefault(true),
  }).prefault({}),
})

const streamsSchema = section('How streams behave while a model is silent.', {
  keep_alive: duration('Silence after which a keep-alive comment is sent.', ['10ms', '10m']).prefault('15s'),
  silence_before_head: duration('Silence after which the response head is sent even without content.', [
    '10ms',
    '10m',
  ]).prefault('10s'),
})

/** The whole file. Every list item and every section is also checked on its own, so that one error hides no other. */
export const configSchema = section('Configuration of Millrace.', {
  include: list(
    'Further files that belong to this one.',
    scalar(
      'A file, or several by * in the name; relative to this file.',
      { type: 'string', examples: ['models/*.yaml'] },
      (value) => (typeof value === 'string' && value !== '' ? read(value) : wrong('a path such as models/*.yaml')),
    ),
  ),
  server: serverSchema.prefault({}),
  bounds: boundsSchema.prefault({}),
  drain: drainSchema.prefault({}),
  storage: storageSchema.prefault({}),
  key_ring: keyRingSchema.prefault({}),
  upstreams: list('Providers that lanes run on.', upstreamSchema),
  models: list('The models clients can call, what they cost, and the lanes behind them.', modelSchema),
  imports: list(
    'Models of the built-in catalogue, with prices that millrace check --pin has written down.',
    importSchema,
  ),
  plans: list('Builder subscriptions.', planSchema),
  payments: paymentsSchema.prefault({}),
  limits: limitsSchema.prefault({}),
  routing: routingSchema.prefault({}),
  overload: overloadSchema.prefault({}),
  console: consoleSchema.prefault({}),
  mail: mailSchema.optional(),
  notices: noticesSchema.prefault({}),
  sign_in: signInSchema.prefault({}),
  keyless: keylessSchema.prefault({}),
  hosted_tools: choice(
    'Tools that only a provider can run. ignore: dropped and named in a header. reject: declaring one is an error.',
    ['ignore', 'reject'],
  ).prefault('ignore'),
  streams: streamsSchema.prefault({}),
  hold: holdSchema.prefault({}),
  ledger: ledgerSchema.prefault({}),
  retention: retentionSchema.prefault({}),
  telemetry: telemetrySchema.prefault({}),
})

export const LIST_SECTIONS = ['upstreams', 'models', 'plans'] as const
export type ListSection = (typeof LIST_SECTIONS)[number]

/** The schema without its wrappers (optional, default). */
export function bareSchema(schema: z.ZodType): z.ZodType {
  let bare = schema
  while (bare instanceof z.ZodOptional || bare instanceof z.ZodPrefault) bare = bare.unwrap() as z.ZodType
  return bare
}

/** The schema of a key, with its default; undefined if the key does not exist. */
export function schemaAt(root: z.ZodType, path: ConfigPath): z.ZodType | undefined {
  let schema: z.ZodType | undefined = root
  for (const step of path) {
    if (schema === undefined) return undefined
    const bare = bareSchema(schema)
    if (bare instanceof z.ZodObject)
      schema = Object.hasOwn(bare.shape, step) ? (bare.shape[step] as z.ZodType) : undefined
    else if (bare instanceof z.ZodArray) schema = bare.element as z.ZodType
    else if (bare instanceof z.ZodRecord) schema = bare.valueType as z.ZodType
    else return undefined
  }
  return schema
}

/** The keys that a map may hold. */
export function keysOf(schema: z.ZodType | undefined): string[] {
  const bare = schema === undefined ? undefined : bareSchema(schema)
  return bare instanceof z.ZodObject ? Object.keys(bare.shape) : []
}
