import { effortOf } from '../model/effort.ts'
import type { NanoUsd, PicoPerToken } from '../model/money.ts'
import type { Upstream } from './catalog.ts'
import { type CatalogDefinition, loadCatalog, type ModelDefinition, type PriceList } from './load-catalog.ts'

const DEMO: Upstream = {
  id: 'demo',
  wire: 'demo',
  dialect: 'generic',
  baseUrl: undefined,
  apiVersion: undefined,
  apiKey: undefined,
  allowPrivate: false,
  timeouts: {
    connectMs: 5000,
    firstByteMs: 120_000,
    jsonAnswerMs: 900_000,
    idleMs: 90_000,
    noProgressMs: 300_000,
    totalMs: 1_800_000,
  },
  headers: new Map(),
  disconnectPolicy: 'cancel_estimate',
}

const rate = (micro: bigint) => micro as PicoPerToken

export const PRICE: PriceList = {
  input: rate(3_000_000n),
  cachedInput: rate(300_000n),
  cacheWrite: rate(3_750_000n),
  output: rate(15_000_000n),
  perRequest: 0n as NanoUsd,
  tiers: [],
}

/** A model for tests: everything ordinary but what is said. */
export const modelDefinition = (
  id: string,
  more: Partial<Omit<ModelDefinition, 'efforts'>> & { efforts?: string[] | undefined } = {},
): ModelDefinition => ({
  id,
  ownedBy: 'millrace',
  createdAt: 1_795_132_800,
  inputs: ['text'],
  inputTokensMax: {},
  contextTokens: 1000,
  maxOutputTokens: 100,
  bytesPerToken: 4,
  choicesMax: 1,
  price: PRICE,
  kinds: ['wallet', 'builder'],
  passFields: [],
  lanes: [{ upstream: 'demo', model: id, priority: 1, weight: 1 }],
  ...more,
  efforts: more.efforts?.map(effortOf),
})

export const definitionOf = (...models: ModelDefinition[]): CatalogDefinition => ({ upstreams: [DEMO], models })
export const catalogOf = (...models: ModelDefinition[]) => loadCatalog(definitionOf(...models), () => 1)
