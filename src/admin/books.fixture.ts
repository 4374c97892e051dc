import { join } from 'node:path'
import { createCallerFinder } from '../auth/callers.ts'
import { digestKey, mintKey } from '../auth/secrets.ts'
import { loadCatalog } from '../catalog/load-catalog.ts'
import { type Database, openDatabase } from '../db/open-database.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { UNOBSERVED } from '../ledger/observer.fixture.ts'
import { openLedger } from '../ledger/open-ledger.ts'
import { recordPrices } from '../ledger/prices.ts'
import { type Clock, systemClock } from '../lib/clock.ts'
import { secureRandom } from '../lib/random-id.ts'
import { createSteadyClock } from '../lib/steady-clock.ts'
import { effortOf } from '../model/effort.ts'
import { type NanoUsd, parsePricePerMillion } from '../model/money.ts'
import { createEstimateErrors } from '../pricing/estimate.ts'
import { everyLaneRequested } from '../routing/lane-health.fixture.ts'
import { actorLogOf, COMMAND_LINE } from './audit.ts'
import { createCountedInputs } from './models.ts'
import type { OperationDeps } from './operations.ts'
import { createPeopleDeps } from './people-deps.ts'
import { createRedeemTries } from './redeem-code.ts'

/** Real books in a folder of a test's own: the smallest composition that the operator's use cases run on. */
export interface TestLedger {
  readonly deps: Omit<OperationDeps, 'status'>
  readonly database: Database
  readonly ledger: Ledger
  readonly finder: ReturnType<typeof createCallerFinder>
  close(): Promise<void>
}

const PEPPER = Buffer.alloc(32, 7)

const price = (input: string, output: string) => ({
  input: parsePricePerMillion(input)!,
  cachedInput: parsePricePerMillion(input)!,
  cacheWrite: parsePricePerMillion(input)!,
  output: parsePricePerMillion(output)!,
})

const cachePrice = (read: string, written: string) => ({
  cachedInput: parsePricePerMillion(read)!,
  cacheWrite: parsePricePerMillion(written)!,
})

const definition = {
  upstreams: [
    {
      id: 'demo',
      wire: 'demo' as const,
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
      disconnectPolicy: 'cancel_estimate' as const,
    },
  ],
  models: ['demo', 'plan-only'].map((id) => ({
    id,
    ownedBy: 'test',
    createdAt: 0,
    description: undefined,
    efforts: ['low', 'high'].map(effortOf),
    inputs: ['text'],
    contextTokens: 1000,
    maxOutputTokens: 100,
    inputTokensMax: {},
    bytesPerToken: 4,
    choicesMax: 1,
    price: {
      ...price('1.00', '2.50'),
      perRequest: 0n as NanoUsd,
      tiers: [{ aboveInputTokens: 500, ...price('2.00', '5.00'), ...cachePrice('0.50', '2.50') }],
    },
    kinds: id === 'demo' ? (['wallet', 'builder'] as const) : (['builder'] as const),
    passFields: [],
    lanes: [{ upstream: 'demo', model: id, priority: 1, weight: 1 }],
  })),
}

/** Rejects with DatabaseLocked when somebody else has the folder. */
export async function openTestLedger(folder: string, clock: Clock = systemClock): Promise<TestLedger> {
  const random = secureRandom
  const database = await openDatabase({ path: join(folder, 'ledger.db'), clock })
  const { db, patientDb, file, journal } = database
  const ledger = await openLedger({ db, patientDb, file, journal, clock, markIntervalMs: 100, observer: UNOBSERVED })
  const prices = new Map(definition.models.map((model) => [model.id, model.price]))
  const versions = await recordPrices({ db, now: clock.now }, prices)
  const catalog = loadCatalog(definition, (id) => versions.get(id)!)
  const finder = createCallerFinder({ db, pepper: PEPPER, clock })
  const people = createPeopleDeps({
    ...{ db, file, clock, random, secret: PEPPER },
    consoleUrl: () => 'http://127.0.0.1:4600/console',
    lockouts: { keep: () => {}, drop: () => {} },
    onFailure: () => {},
  })
  return {
    database,
    ledger,
    finder,
    deps: {
      db,
      clock,
      random,
      ledger,
      catalog: () => catalog,
      keyRates: () => ({}),
      health: everyLaneRequested,
      countedInputs: createCountedInputs(() => {}),
      estimateErrors: createEstimateErrors(),
      mintKey: (kind) => mintKey({ pepper: PEPPER, random }, kind),
      digestCode: (letters) => digestKey(PEPPER, letters),
      redeemTries: createRedeemTries(clock),
      ledgerClock: createSteadyClock(clock, { floorMs: 0, onEvent: () => {} }),
      files: {
        ledger: file,
        content: {
          driver: 'none',
          all: async () => [],
          atomic: async () => [],
          atomicEach: async () => [],
          close: async () => {},
        },
      },
      forgetAll: finder.forgetAll,
      forgetKey: finder.forget,
      forgetAccount: finder.forgetAccount,
      liveKeysMax: () => 50,
      auditLog: actorLogOf(people.audit, COMMAND_LINE),
      people,
    },
    async close() {
      await ledger.close()
      await database.close()
    },
  }
}
