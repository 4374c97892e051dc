import { assert, asyncProperty, constantFrom, option, uniqueArray } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { expectProblem } from '../support/expect-problem.ts'
import { chat, get } from '../support/send-chat.ts'
import { openSubscriber } from '../support/subscriber.ts'
import { openAccount } from '../support/test-account.ts'
import { PLANS_CONFIG } from '../support/test-config.ts'
import { useServer } from '../support/use-server.ts'

/** Ids, variants and patterns; each is good for at least one kind of key. */
const ENTRIES = [
  'swift',
  'swift-low',
  'calm-high',
  'paid',
  'vendor/slashed',
  'vendor/*',
  '*-only',
  '*a*',
  '*',
  'trap-high',
]

const SEED = 20_261_120
const RUNS = 24

describe('visible models are callable', () => {
  const server = useServer({ config: PLANS_CONFIG })

  const everyId = () => [...server().app.operations.catalog().entries.keys()]

  it('for any key, listed models answer and unlisted ones are not found', async () => {
    const seen = { keys: 0, listed: 0, hidden: 0 }
    const people = {
      none: await openAccount(server()),
      pro: await openSubscriber(server(), 'pro'),
      wide: await openSubscriber(server(), 'wide'),
    }
    const lists = option(uniqueArray(constantFrom(...ENTRIES), { minLength: 1, maxLength: 4 }), { nil: undefined })
    const kinds = constantFrom('wallet' as const, 'builder' as const)
    await assert(
      asyncProperty(
        kinds,
        constantFrom('none' as const, 'pro' as const, 'wide' as const),
        lists,
        async (kind, on, models) => {
          const made = await people[on].createKey({ kind, ...(models ? { models } : {}) })
          const { json } = await get(server(), made, '/models')
          const forCodex = (await get(server(), made, '/models?client_version=0')).json.models
          expect(forCodex.map(({ slug }: { slug: string }) => slug)).toEqual(
            json.data.map(({ id }: { id: string }) => id),
          )
          const listed = new Set<string>(json.data.map((entry: { id: string }) => entry.id))
          seen.keys += 1
          for (const id of everyId()) {
            const [one, called] = await Promise.all([
              get(server(), made, `/models/${id}`),
              chat(server(), made, { model: id, max_tokens: 1 }),
            ])
            if (listed.has(id)) {
              seen.listed += 1
              expect(one.json, id).toEqual(json.data.find((entry: { id: string }) => entry.id === id))
              // A builder key without a subscription may call it as soon as it has one.
              if (kind === 'wallet' || on !== 'none') expect(called.status, id).toBe(200)
              else expectProblem(called, 'subscription_inactive')
            } else {
              seen.hidden += 1
              expectProblem(one, 'model_not_found', { param: 'model' })
              expectProblem(called, 'model_not_found', { param: 'model' })
            }
          }
        },
      ),
      { seed: SEED, numRuns: RUNS },
    )
    console.log(`seed ${SEED}: ${seen.keys} keys, ${seen.listed} visible and ${seen.hidden} hidden models called`)
    expect(seen.listed).toBeGreaterThan(0)
    expect(seen.hidden).toBeGreaterThan(0)
  })

  it('lists every effort variant beside its model, and nothing twice', async () => {
    const account = await openAccount(server())
    const { json } = await get(server(), account, '/models')
    const ids = json.data.map((entry: { id: string }) => entry.id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids).toEqual(expect.arrayContaining(['swift', 'swift-low', 'swift-medium', 'swift-high', 'vendor/slashed']))
    expect(ids).not.toContain('unpriced')
    expect(ids).not.toContain('builder-only')
  })
})
