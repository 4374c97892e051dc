import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BODY_KINDS } from '../../src/db/postgres/bodies.ts'
import type { RequestId } from '../../src/model/ids.ts'
import { ACCOUNT, answered, ended, started, userMessage } from '../fixtures/db/content/stored-responses.ts'
import { randomFrom } from '../fixtures/lib/seeded-random.ts'
import { bodyOf, DAY_MS, type DaysBench, EVENTS, HOUR_MS, openDaysBench } from './content-days-bench.ts'
import { postgres } from './postgres-ledger.ts'

describe.skipIf(!postgres)('contents that two nodes store, delete and sweep for days', () => {
  let bench: DaysBench
  beforeAll(async () => {
    bench = await openDaysBench()
  })
  afterAll(() => bench.close())

  const seed = Number(process.env.MILLRACE_SEED ?? Date.now() % 1_000_000_000)
  const STEPS = 40

  it(`are there exactly as long as a naive model says (MILLRACE_SEED=${seed})`, { timeout: 240_000 }, async () => {
    const below = randomFrom(seed)
    interface Stored {
      readonly expiresAt: number
      readonly parent: string | undefined
      readonly items: readonly string[]
      readonly hasEvents: boolean
      isHidden: boolean
    }
    const responses = new Map<string, Stored>()
    const answers = new Map<string, number>()
    const running = new Map<string, { expiresAt: number; parent: string | undefined }>()
    let dropped = 0
    const isShown = (name: string) => !responses.get(name)!.isHidden && responses.get(name)!.expiresAt > bench.time
    const wholeOf = (name: string | undefined): string[] =>
      name === undefined ? [] : [...wholeOf(responses.get(name)!.parent), ...responses.get(name)!.items]
    const expectAll = async () => {
      for (const [name, { hasEvents }] of responses) {
        expect(await bench.textsOf(name), name).toEqual(isShown(name) ? wholeOf(name) : 'not-found')
        const frames = !isShown(name) ? 'not-found' : hasEvents ? EVENTS : 'no-log'
        expect(await bench.framesOf(name), name).toEqual(frames)
      }
      for (const [name, expiresAt] of answers) {
        const found = await bench.nodes[below(2)]!.answers.find(`req_${name}` as RequestId, ACCOUNT)
        expect(await found?.read(), name).toEqual(expiresAt > bench.time ? bodyOf(name) : undefined)
      }
      expect(await bench.faults()).toEqual([])
    }
    for (let step = 0; step < STEPS; step++) {
      const shown = [...responses.keys()].filter(isShown)
      const pick = () => (shown.length === 0 || below(3) === 0 ? undefined : shown[below(shown.length)])
      const works: Promise<unknown>[] = []
      const finish = (name: string, { expiresAt, parent }: { expiresAt: number; parent: string | undefined }) => {
        const input = Array.from({ length: below(3) }, () => userMessage(`said ${below(12)}`))
        const output = [answered(`msg_${name}`, `answer ${name}`)]
        const hasEvents = below(2) === 0
        responses.set(name, { expiresAt, parent, items: [...input, ...output].map(String), hasEvents, isHidden: false })
        const more = { ...(parent && { parent: `resp_${parent}` }), ...(hasEvents && { events: EVENTS }) }
        return bench.nodes[below(2)]!.responses.finish(ended(name, { expiresAt, input, output, ...more }))
      }
      const soon = () => bench.time + 1 + below(4 * DAY_MS)
      for (let each = 0; each < 3; each++) works.push(finish(`${step}-${each}`, { expiresAt: soon(), parent: pick() }))
      const late = [...running.keys()][0]
      if (late !== undefined && below(3) === 0) {
        works.push(finish(late, running.get(late)!))
        running.delete(late)
      }
      const begun = { expiresAt: soon(), parent: pick() }
      running.set(`run-${step}`, begun)
      const parent = begun.parent && { parent: `resp_${begun.parent}` }
      works.push(
        bench.nodes[below(2)]!.responses.begin(started(`run-${step}`, { expiresAt: begun.expiresAt, ...parent })),
      )
      answers.set(`k${step}`, soon())
      works.push(bench.nodes[below(2)]!.keep(`k${step}`, answers.get(`k${step}`)!))
      works.push(bench.nodes[0]!.sweep(), ...(below(2) === 0 ? [bench.nodes[1]!.sweep()] : []))
      expect((await Promise.all(works)).filter((done) => done === false)).toEqual([])
      const gone = shown[below(shown.length)]
      if (gone !== undefined && below(3) === 0) {
        responses.get(gone)!.isHidden = true
        await Promise.all([
          bench.nodes[0]!.responses.remove({ account: ACCOUNT }, `resp_${gone}`),
          bench.nodes[1]!.sweep(),
        ])
      }
      bench.time += below([HOUR_MS, 8 * HOUR_MS, 30 * HOUR_MS][below(3)]!)
      const before = await bench.days()
      await Promise.all([bench.nodes[below(2)]!.sweep(), bench.nodes[below(2)]!.sweep()])
      const after = new Set(await bench.days())
      dropped += before.filter((day) => !after.has(day)).length
      if (step % 6 === 0) await expectAll()
    }
    await expectAll()
    console.info(`seed ${seed}: ${responses.size} responses, ${answers.size} answers, ${dropped} days dropped`)
    expect(dropped).toBeGreaterThan(5)
    await bench.nodes[0]!.responses.recover()
    bench.time += 30 * DAY_MS
    for (let run = 0; run < 3; run++) await bench.nodes[0]!.sweep()
    for (const table of ['responses', ...Object.keys(BODY_KINDS)])
      expect([table, await bench.rowsOf(`SELECT FROM millrace.${table}`)]).toEqual([table, []])
    expect([await bench.days(), await bench.faults(), bench.failures]).toEqual([[], [], []])
  })
})
