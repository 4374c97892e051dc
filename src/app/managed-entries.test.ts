import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { testSeals } from '../../test/fixtures/admin/notices.ts'
import { openTestLedger, type TestLedger } from '../../test/fixtures/admin/test-ledger.ts'
import { runOperation } from '../admin/operations.ts'
import { loadSettings } from '../config/load-config.ts'
import type { ManagedEntry } from '../contract/managed.ts'
import { createManaged, type ManagedOutcome } from './managed-entries.ts'
import { createRuleBook } from './rules.ts'

const AHEAD_MS = 60_000
const price = (output: string) => ({ input: '0', output })
const MODEL = { id: 'sandbox-1', context_tokens: 1000, max_output_tokens: 100, price: price('1') }

let folder: string
let ledger: TestLedger
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-managed-'))
  ledger = await openTestLedger(folder)
})
afterEach(async () => {
  await ledger.close()
  await rm(folder, { recursive: true })
})

function openManaged(clock: TestLedger['services']['clock'], path: string | null) {
  const load = (entries: readonly ManagedEntry[]) =>
    loadSettings({ environment: { HOME: folder }, cwd: folder }, { config: path }, entries)
  const file = load([])
  if (file.kind === 'invalid') throw new Error(file.message)
  return createManaged({
    ...{ db: ledger.services.db, clock, secrets: testSeals, settings: file.settings, waits: true },
    loadSettings: load,
    log: { error: () => {} },
    callProviders: () => {
      throw new Error('there is no provider here')
    },
  })
}

/** A model whose price of 1 USD becomes 2 USD in a minute, and a server that begins to start before. */
async function beginStart(path: string | null = null) {
  const { clock } = ledger.services
  const change = {
    upstreams: [{ id: 'managed', wire: 'demo' }],
    models: [{ ...MODEL, lanes: [{ upstream: 'managed', model: 'demo' }] }],
  }
  const announced = {
    prices: [{ model: MODEL.id, price: price('2'), from: new Date(clock.now() + AHEAD_MS).toISOString() }],
  }
  const status = () => ({ running: false, version: '', node: '', data: '' }) as const
  for (const body of [change, announced]) {
    const outcome = await runOperation({ ...ledger.services, status }, 'managed.change', body)
    if (outcome.kind === 'refused') throw new Error(outcome.message)
  }
  const time = { ahead: 0 }
  const late = { ...clock, now: () => clock.now() + time.ahead }
  const managed = openManaged(late, path)
  return { managed, time, openRules: openRules(late) }
}

const openRules =
  (clock: TestLedger['services']['clock']) =>
  ({ settings, asOf }: Awaited<ReturnType<ReturnType<typeof createManaged>['loadAtStart']>>) =>
    createRuleBook({ db: ledger.services.db, clock, onPlansMissing: () => {} }, settings.config, asOf)

type Rules = Awaited<ReturnType<ReturnType<typeof openRules>>>
const priceIn = (rules: Rules) => {
  const found = rules.current.catalog.models.find(({ id }) => id === MODEL.id)?.price
  return { version: found?.version, output: found?.output }
}
const OLD = { version: 1, output: 1_000_000n }
const NEW = { version: 2, output: 2_000_000n }

test('a price that takes effect while a server starts is in force when it has started', async () => {
  const { managed, time, openRules } = await beginStart()
  const started = await managed.loadAtStart()
  time.ahead = AHEAD_MS + 1
  const rules = await openRules(started)
  managed.reloadBy(async () => {
    const next = await managed.load()
    if (next.kind === 'invalid') return next.message
    await rules.replace(next.settings.config, next.asOf)
    return null
  })
  await managed.catchUp()
  managed.close()
  expect(priceIn(rules)).toEqual(NEW)
})

test('a price that is recorded when the next one is in force already does not become a version after it', async () => {
  const { managed, time, openRules } = await beginStart()
  const rules = await openRules(await managed.loadAtStart())
  time.ahead = AHEAD_MS - 1000
  const before = await managed.load()
  if (before.kind === 'invalid') throw new Error(before.message)
  await rules.replace(before.settings.config, before.asOf)
  const late = await managed.load()
  if (late.kind === 'invalid') throw new Error(late.message)
  time.ahead = AHEAD_MS + 1
  await rules.replace(late.settings.config, late.asOf)
  expect(priceIn(rules)).toEqual(OLD)
  const after = await managed.load()
  if (after.kind === 'invalid') throw new Error(after.message)
  await rules.replace(after.settings.config, after.asOf)
  managed.close()
  expect(priceIn(rules)).toEqual(NEW)
})

test('a file that is emptied while a server starts removes nothing, and is read again at the end of the start', async () => {
  const path = join(folder, 'millrace.yaml')
  const upstream = 'upstreams: [{ id: sandbox, wire: demo }]'
  await writeFile(path, upstream)
  const { managed } = await beginStart(path)
  await writeFile(path, '')
  const { settings } = await managed.loadAtStart()
  expect(settings.config.upstreams).toHaveLength(1)
  expect(await managed.load()).toEqual({ kind: 'invalid', message: 'The file is empty or missing.' })
  await writeFile(path, upstream)
  const reloaded: ManagedOutcome[] = []
  managed.reloadBy(async () => {
    reloaded.push(await managed.load())
    return null
  })
  await managed.catchUp()
  managed.close()
  expect(reloaded).toMatchObject([{ kind: 'loaded', settings: { config: { models: [{ id: MODEL.id }] } } }])
})

test('a file that has only comments at the start may stay so', async () => {
  const path = join(folder, 'millrace.yaml')
  await writeFile(path, '# nothing yet')
  const { managed } = await beginStart(path)
  await managed.loadAtStart()
  expect(await managed.load()).toMatchObject({ kind: 'loaded', settings: { config: { models: [{ id: MODEL.id }] } } })
  managed.close()
})
