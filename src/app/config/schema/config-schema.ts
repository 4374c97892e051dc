import type { z } from 'zod'
import { consoleSchema } from './console-schema.ts'
import { modelSchema } from './model-schema.ts'
import { overloadSchema } from './overload-schema.ts'
import { limitsSchema, planSchema } from './plan-schema.ts'
import { routingSchema } from './routing-schema.ts'
import { duration, flag, word } from './scalars.ts'
import { list, section } from './section.ts'
import { boundsSchema, drainSchema, serverSchema } from './server-schema.ts'
import { holdSchema, keyRingSchema, ledgerSchema, retentionSchema, storageSchema } from './storage-schema.ts'
import { upstreamSchema } from './upstream-schema.ts'

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
