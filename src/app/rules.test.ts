import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openTestLedger, type TestLedger } from '../../test/fixtures/admin/test-ledger.ts'
import { loaded } from '../../test/fixtures/config/config.ts'
import { runOperation } from '../admin/operations.ts'
import { createRuleBook, type MissingPlan, type RuleBook, SWAPPED_SECTIONS } from './rules.ts'

const MODELS = `upstreams: [{ id: demo, wire: demo }]
models:
  - { id: demo, context_tokens: 1000, max_output_tokens: 100, price: { input: "1", output: "1" }, lanes: [{ upstream: demo, model: demo }] }
`
const withPlan = (id: string, allowance = '1') =>
  loaded({
    yaml: `${MODELS}plans: [{ id: ${id}, models: [demo], windows: [{ every: 5h, allowance: "${allowance}" }] }]`,
  }).config

let folder: string
let ledger: TestLedger
let rules: RuleBook
let missing: (readonly MissingPlan[])[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-rules-'))
  ledger = await openTestLedger(folder)
  missing = []
  const { db, clock } = ledger.services
  rules = await createRuleBook({ db, clock, onPlansMissing: (plans) => missing.push(plans) }, withPlan('pro'))
})
afterEach(async () => {
  await ledger.close()
  await rm(folder, { recursive: true })
})

const operate = async (name: string, args: object) => {
  const status = () => ({ running: false, version: '', node: '', data: '' }) as const
  const outcome = await runOperation({ ...ledger.services, catalog: () => rules.current.catalog, status }, name, args)
  if (outcome.kind === 'refused') throw new Error(outcome.message)
  return outcome.value
}

test('a plan missing in the configuration is reported once, and is inactive until it is back', async () => {
  await operate('accounts.create', { email: 'a@example.com' })
  await operate('plans.assign', { account: 'a@example.com', plan: 'pro' })
  expect(missing).toEqual([])
  await rules.replace(withPlan('max'))
  expect(missing).toEqual([[{ plan: 'pro', accounts: 1 }]])
  const show = () => operate('plans.show', { account: 'a@example.com' })
  expect(await show()).toMatchObject({ state: 'not_configured', plan: 'pro', windows: [] })
  await rules.replace(withPlan('pro', '2.50'))
  expect(missing).toHaveLength(1)
  expect(await show()).toMatchObject({ state: 'active', windows: [{ name: '5h', limit: '2.50', opened: false }] })
  await operate('plans.end', { account: 'a@example.com' })
  await rules.replace(withPlan('max'))
  expect(missing).toHaveLength(1)
})

test('what takes effect while the server runs is what the rules are made of, no more and no less', async () => {
  const asked = new Set<string | symbol>()
  const config = new Proxy(withPlan('pro'), {
    get(target, section, receiver) {
      asked.add(section)
      return Reflect.get(target, section, receiver)
    },
  })
  await rules.replace(config)
  expect([...asked].toSorted()).toEqual([...SWAPPED_SECTIONS].toSorted())
})

test('what happens to tools that a provider runs is swapped with the rest', async () => {
  expect(rules.current.hostedTools).toBe('ignore')
  await rules.replace({ ...withPlan('pro'), hostedTools: 'reject' })
  expect(rules.current.hostedTools).toBe('reject')
})
