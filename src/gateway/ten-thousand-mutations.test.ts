import { expect, it } from 'vitest'
import { MUTATIONS, type Mutation } from '../../test/fixtures/gateway/mutations.ts'
import { randomFrom } from '../../test/fixtures/lib/seeded-random.ts'
import type { AccountId } from '../model/ids.ts'
import { createSeals } from './seals.ts'

const SEED = 20_271
const RUNS = 10_000

const owner = 'acct_one' as AccountId
const sealingKeys = [{ secret: Buffer.alloc(32, 1) }, { secret: Buffer.alloc(32, 2) }] as const
const kinds = Object.entries(MUTATIONS) as [string, Mutation][]

it('ten thousand envelopes that were changed on the way are all refused', () => {
  const random = randomFrom(SEED)
  const seals = createSeals(sealingKeys)
  const former = createSeals([sealingKeys[1]])
  const contents = ['', 'a', 'ab', 'abc', 'ä漢🙂', JSON.stringify(['chat', 'origin', 'words']), 'long '.repeat(400)]
  const envelopes = contents.flatMap((content) =>
    [seals, former].map((by) => ({ content, envelope: by.seal('reasoning', owner, content) })),
  )
  const ours = new Set(envelopes.map(({ envelope }) => envelope))
  const refused: Record<string, number> = {}
  for (let count = 0; count < RUNS; ) {
    const [kind, mutate] = kinds[random(kinds.length)]!
    const [one, other] = [envelopes[random(envelopes.length)]!, envelopes[random(envelopes.length)]!]
    const changed = mutate(one.envelope, other.envelope, random)
    if (changed === undefined || ours.has(changed)) continue
    expect(seals.open('reasoning', owner, changed), `${kind}: ${JSON.stringify(changed)}`).toBe(undefined)
    refused[kind] = (refused[kind] ?? 0) + 1
    count += 1
  }
  expect(Object.keys(refused)).toHaveLength(kinds.length)
  for (const { content, envelope } of envelopes) expect(seals.open('reasoning', owner, envelope)).toBe(content)
  console.info(`ten thousand changed envelopes: seed ${SEED}`, refused)
})
