import { expect } from 'vitest'
import { nanoOf } from '../../support/test-account.ts'
import { CACHED_PICO, type MillServed, OUTPUT_PICO, type ScriptedModelSetup } from './scripted-model-server.ts'

/** What it all has to cost: worked out from what the mills have counted, and from nothing that the house says. */
export interface Bill {
  /** By the id of the request. */
  readonly charges: ReadonlyMap<string, bigint>
  /** How often an answer came from another mill than the one before. */
  readonly changes: number
  /** How often reasoning came back to the mill that had sealed it. */
  readonly sealsBack: number
  /** Adds the request that has just been answered; the answer tells the same charge. */
  add(requestId: string, usage: DeliveredUsage): MillServed
}

export interface DeliveredUsage {
  readonly input_tokens?: number
  readonly prompt_tokens?: number
  readonly millrace: { readonly charge: string }
}

export function createBill(setup: ScriptedModelSetup): Bill {
  const charges = new Map<string, bigint>()
  let last: string | undefined
  const bill = {
    charges,
    changes: 0,
    sealsBack: 0,
    add(requestId: string, usage: DeliveredUsage) {
      const all = setup.takeServed()
      const [served] = all
      if (served === undefined || all.length > 1) throw new Error(`${requestId} was served ${all.length} times`)
      const charge = chargeFor(served, setup.rules.inputPico)
      expect([usage.input_tokens ?? usage.prompt_tokens, nanoOf(usage.millrace.charge)]).toEqual([
        served.counted.input,
        charge,
      ])
      charges.set(requestId, charge)
      if (last !== undefined && last !== served.mill) bill.changes += 1
      last = served.mill
      bill.sealsBack += served.sealsBack
      return served
    },
  }
  return bill
}

/** Each request is rounded up once, to whole nano-dollars. */
function chargeFor({ counted: { input, cached, output } }: MillServed, inputPico: number): bigint {
  const pico =
    BigInt(input - cached) * BigInt(inputPico) +
    BigInt(cached) * BigInt(CACHED_PICO) +
    BigInt(output) * BigInt(OUTPUT_PICO)
  return (pico + 999n) / 1000n
}

const CREDITED = nanoOf('1000.00')

/** Ends the server; what is in its rows is what the bill says, and nothing else. */
export async function expectExactCharges(
  { server, mills }: ScriptedModelSetup,
  { charges }: Bill,
  lost: number,
): Promise<bigint> {
  const owner = 'owner@example.com'
  const wallet = await server.json('wallet', 'show', owner)
  server.kill('SIGTERM')
  const { code } = await server.ended
  expect(code, server.output()).toBe(0)
  expect(await server.json('db', 'verify')).toMatchObject({ ok: true })
  const { receipts, held } = await server.readLedgerRows(async (db) => ({
    receipts: await db.selectFrom('receipts').select(['request_id', 'state', 'outcome', 'charge_nano']).execute(),
    held: await db.selectFrom('buckets').select('row').where('held_nano', '!=', 0n).execute(),
  }))
  expect(held, 'buckets on which money is still held').toEqual([])
  const total = [...charges.values()].reduce((sum, charge) => sum + charge, 0n)
  expect(receipts.reduce((sum, { charge_nano }) => sum + (charge_nano ?? 0n), 0n)).toBe(total)
  expect([nanoOf(String(wallet.balance)), nanoOf(String(wallet.held))]).toEqual([CREDITED - total, 0n])
  const settled = receipts.filter(({ state }) => state === 'settled')
  expect(new Map(settled.map(({ request_id, charge_nano }) => [request_id, charge_nano]))).toEqual(charges)
  expect(receipts.length - settled.length, 'what failed has cost nothing').toBe(lost)
  for (const [name, { refused }] of Object.entries(mills)) expect(refused, `refused by ${name}`).toEqual([])
  return total
}
