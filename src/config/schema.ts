import { z } from 'zod'
import type { Cycle } from '../model/allowance.ts'
import { modelGlob, modelSchema } from './model-schema.ts'
import type { ConfigPath } from './problem.ts'
import {
  duration,
  durationOrOff,
  flag,
  integer,
  integerOrOff,
  list,
  parseDuration,
  type Reading,
  read,
  scalar,
  section,
  sizeOrAuto,
  usd,
  word,
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
import { identifier, upstreamSchema } from './upstream-schema.ts'

const consoleSchema = section('The web console, where people make keys and see their money.', {
  enabled: flag('Whether it is served, under /console.').prefault(true),
  hosts: list(
    'Further host names, without ports, under which people open it; that of server.public_url is one already.',
    scalar('A host name.', { type: 'string', examples: ['millrace.internal'] }, (value) =>
      typeof value === 'string' && isHostName(value)
        ? read(value.toLowerCase())
        : wrong('a host name such as millrace.internal', 'Without scheme, port and path.'),
    ),
  ),
  // TLS in front of the server is the honest cure; this is for networks that somebody trusts entirely.
  allow_http: flag('Whether people may sign in over plain HTTP from other machines.').prefault(false),
})

const isHostName = (text: string): boolean =>
  text.length <= 253 && /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i.test(text)

export const overloadSchema = section(
  'When turns are sent away because this process cannot take on more. What runs already goes on.',
  {
    memory_budget: sizeOrAuto(
      'Memory for all turns together: 256KiB each, their bodies, and what is parsed of them. auto: half of what the process may use.',
      { min: '1MiB', max: '1024GiB' },
    ).prefault('auto'),
    // Bursts of agents that begin together are over in less; more would only come to be refused later.
    queue: integer('Turns that may wait for a place, before their bodies are read.', {
      min: 0,
      max: 10_000,
    }).prefault(64),
    // Shorter than the patience of any client.
    queue_wait: duration('How long each of them waits at most.', { min: '10ms', max: '1m' }).prefault('2s'),
    loop_delay: durationOrOff('How late the event loop may be (99th percentile) before new turns are sent away.', {
      min: '10ms',
      max: '1m',
    }).prefault('250ms'),
    loop_delay_for: duration('How long without a break it has to be so late, and how long better, to count.', {
      min: '100ms',
      max: '10m',
    }).prefault('5s'),
  },
)

const routingSchema = section('How lanes are chosen that fail, limit us, or refuse our credential.', {
  put_aside: flag(
    'Whether such a lane is left alone for a while. false: every request asks it first, and waits for it.',
  ).prefault(true),
  aside_first: duration('How long a lane is left alone that fails; twice as long each time in a row.', {
    min: '100ms',
    max: '1h',
  }).prefault('10s'),
  aside_longest: duration('The longest that a failing lane is left alone.', { min: '100ms', max: '1h' }).prefault('5m'),
  patience: duration(
    'How long a request waits when every lane of its model is left alone and one of them is asked again within that time. 0s: not at all.',
    { min: '0s', max: '60s' },
  ).prefault('10s'),
  retry_percent: integerOrOff(
    'How many requests of a model may be asked elsewhere after a lane has failed, in a hundred that succeed. off: all.',
    { min: 0, max: 1000 },
  ).prefault(20),
  retries_per_second: integer('As many may be asked elsewhere in any case, even where nothing succeeds.', {
    min: 0,
    max: 1_000_000,
  }).prefault(3),
})

const windowSchema = section('A stretch of time with an allowance of its own.', {
  every: scalar<Cycle>(
    '5h, 7d: starts with the first use. week: from Monday, UTC. month: from the day of billing.',
    { type: 'string', pattern: '^(week|month|\\d+(m|h|d)|\\$\\{.+\\})$' },
    readWindow,
  ),
  allowance: usd('What may be used in it', '1000000'),
})

const planSchema = section('What a Builder subscription grants.', {
  id: identifier('How accounts are put on it.'),
  models: z.array(modelGlob).min(1, 'at least one model').meta({ description: 'Models that it covers.' }),
  windows: z.array(windowSchema).min(1, 'at least one window').meta({ description: 'All of them must have room.' }),
})

export function readWindow(value: unknown): Reading<Cycle> {
  if (value === 'week') return read({ kind: 'week' })
  if (value === 'month') return read({ kind: 'month', day: 'billing' })
  const ms = typeof value === 'string' ? parseDuration(value) : undefined
  const day = 86_400_000
  return ms !== undefined && ms >= 60_000 && ms <= 366 * day
    ? read({ kind: 'anchored', ms })
    : wrong('a length from 1m to 366d such as 5h or 7d, or week, or month')
}

const COUNT = { min: 1, max: 1_000_000_000_000 }

const burst = () =>
  duration('How many seconds’ worth of the rates may be taken at once after a pause.', {
    min: '1s',
    max: '1h',
  }).prefault('60s')

const ratesSchema = (subject: string) =>
  section(`What ${subject} may do. A key that is left out sets no limit.`, {
    requests_per_minute: integer('Requests in a minute.', COUNT).optional(),
    tokens_per_minute: integer('Tokens in a minute, input and output.', COUNT).optional(),
    concurrent: integer('Requests at once.', COUNT).optional(),
    burst: burst(),
  }).prefault({})

const addressSchema = section('What one address (of IPv6: one /64) may do without a valid key.', {
  refused_per_minute: integerOrOff('Requests in a minute that get 401; further ones get 429.', COUNT).prefault(300),
  burst: burst(),
}).prefault({})

const limitsSchema = section('Limits that apply to everybody; those of a key itself come before them.', {
  key: ratesSchema('one key'),
  account: ratesSchema('all keys of one account together'),
  account_model: ratesSchema('one account with one model'),
  model: ratesSchema('everybody together with one model'),
  address: addressSchema,
  keys_per_account: integer('Keys that one account may have which are not revoked.', { min: 1, max: 10_000 }).prefault(
    200,
  ),
})

const telemetrySchema = section('What the server says about itself. It never calls home.', {
  log: section('One line for each request, without contents.', {
    level: word('The least that is worth a line.', [
      'trace',
      'debug',
      'info',
      'warn',
      'error',
      'fatal',
      'silent',
    ]).prefault('info'),
    format: word('auto: text on a terminal, JSON elsewhere.', ['auto', 'json', 'pretty']).prefault('auto'),
  }).prefault({}),
  metrics: flag('Whether /metrics is served.').prefault(true),
})

const streamsSchema = section('How streams behave while a model is silent.', {
  keep_alive: duration('Silence after which a sign of life goes out.', { min: '10ms', max: '10m' }).prefault('15s'),
  silence_before_head: duration('Silence after which the head of the answer goes out although no content is there.', {
    min: '10ms',
    max: '10m',
  }).prefault('10s'),
})

/** The whole file. Every list item and every section is also judged on its own, so that one fault hides no other. */
export const configSchema = section('Configuration of Millrace.', {
  server: serverSchema.prefault({}),
  bounds: boundsSchema.prefault({}),
  drain: drainSchema.prefault({}),
  storage: storageSchema.prefault({}),
  key_ring: keyRingSchema.prefault({}),
  upstreams: list('Providers that lanes run on.', upstreamSchema),
  models: list('What clients may ask for, what it costs, and who answers.', modelSchema),
  plans: list('Builder subscriptions.', planSchema),
  limits: limitsSchema.prefault({}),
  routing: routingSchema.prefault({}),
  overload: overloadSchema.prefault({}),
  console: consoleSchema.prefault({}),
  hosted_tools: word(
    'Tools that only a provider could run. ignore: left out and named in a header. reject: declaring one is an error.',
    ['ignore', 'reject'],
  ).prefault('ignore'),
  streams: streamsSchema.prefault({}),
  hold: holdSchema.prefault({}),
  ledger: ledgerSchema.prefault({}),
  retention: retentionSchema.prefault({}),
  telemetry: telemetrySchema.prefault({}),
})

export type ParsedConfig = z.output<typeof configSchema>
export type ParsedUpstream = z.output<typeof upstreamSchema>
export type ParsedModel = z.output<typeof modelSchema>
export type ParsedPlan = z.output<typeof planSchema>
export const LIST_SECTIONS = ['upstreams', 'models', 'plans'] as const
export type ListSection = (typeof LIST_SECTIONS)[number]

/** What stands around a schema (optional, a default) taken off. */
export function bareSchema(schema: z.ZodType): z.ZodType {
  let bare = schema
  while (bare instanceof z.ZodOptional || bare instanceof z.ZodPrefault) bare = bare.unwrap() as z.ZodType
  return bare
}

/** The schema of a key, with its default; undefined where there is no such key. */
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

/** Names that a map may hold. */
export function keysOf(schema: z.ZodType | undefined): string[] {
  const bare = schema === undefined ? undefined : bareSchema(schema)
  return bare instanceof z.ZodObject ? Object.keys(bare.shape) : []
}
