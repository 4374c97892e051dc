import { randomInt } from 'node:crypto'
import { formatUsd, type NanoUsd } from '../../../src/model/money.ts'
import { randomFrom } from '../../fixtures/lib/seeded-random.ts'
import type { Agent } from './agent.ts'
import type { Bill } from './bill.ts'

/** What the agent chooses; `AGENT_SEED` makes it choose the same again. */
export function seedOfRun(): ReturnType<typeof randomFrom> {
  const seed = Number(process.env.AGENT_SEED ?? randomInt(2 ** 31))
  console.log(`AGENT_SEED=${seed}`)
  return randomFrom(seed)
}

export function describeRun({ shortenings }: Pick<Agent, 'shortenings'>, bill: Bill, total: bigint): void {
  const counts = new Map<string, number>()
  for (const { kind, variant } of shortenings)
    counts.set(`${kind} ${variant}`, (counts.get(`${kind} ${variant}`) ?? 0) + 1)
  const kinds = [...counts].map(([kind, count]) => `${count} ${kind}`).join(', ')
  const smaller = shortenings.map(({ bytesBefore, bytesAfter }) => `${bytesBefore}>${bytesAfter}`)
  console.log(
    `${bill.charges.size} requests, ${shortenings.length} compactions (${kinds}), ` +
      `${bill.changes} changes of the lane, ${bill.sealsBack} seals back, ${formatUsd(total as NanoUsd)} USD\n` +
      `bytes before>after: ${smaller.join(' ')}`,
  )
}
