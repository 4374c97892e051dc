import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Attempt } from '../../../src/model/ending.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'
import {
  LONGEST_S,
  type Outage,
  type OutageSetup,
  openOutageSetup,
  play,
  RETRY_AFTER_S,
  type Second,
} from './outage-script.ts'

// Thousands of requests, of which some wait for a lane that says nothing.
vi.setConfig({ testTimeout: 120_000 })

/** When the outage begins and ends, in virtual seconds. */
const FROM = 10
const MINUTES = 3
const UNTIL = FROM + 60 * MINUTES
/** Times are up to a fifth shorter, so that not all nodes come back at once. */
const SHORTEST = 0.8

/** What the configuration promises of each outage. */
interface Bounds {
  /** How often the lane is asked in the first minute, and in each of the others. */
  readonly firstMinute: number
  readonly minute: number
  /** Seconds from the recovery until its answers are heard again. */
  readonly recovery: number
}

const probesOfAMinute = Math.ceil(60 / (SHORTEST * LONGEST_S))
/** Five failures put it aside; then it is tried after ten seconds, twenty more, forty more. */
const FAILING: Bounds = { firstMinute: 5 + 3, minute: probesOfAMinute + 1, recovery: LONGEST_S + 1 }
/** Where there is no other lane, three requests within ten seconds call it all the same. */
const PROBES = 3 * (60 / 10) + 3
const ALONE: Bounds = { ...FAILING, firstMinute: FAILING.firstMinute + PROBES, minute: FAILING.minute + PROBES }
const BOUNDS: Readonly<Record<Outage, Bounds>> = {
  dead: FAILING,
  slow: FAILING,
  failing: FAILING,
  'overloaded inside the stream': FAILING,
  // The machine's own time goes on beside the played one: where it is busy, a minute sees the end of one more wait.
  throttling: { firstMinute: 60 / RETRY_AFTER_S + 1, minute: 60 / RETRY_AFTER_S + 1, recovery: RETRY_AFTER_S + 1 },
  'locking us out': { firstMinute: 2, minute: 1, recovery: 240 + 1 },
}
const OUTAGES = Object.keys(BOUNDS) as readonly Outage[]

let setup: OutageSetup
beforeEach(async () => {
  setup = await openOutageSetup()
})
afterEach(async () => {
  await expectBalancedLedger(setup.server)
  await setup.close()
})

const report: Record<string, object> = {}
afterAll(() => console.table(report))

const requestsOf = (seconds: readonly Second[]): number =>
  seconds.reduce((sum, { firstReceived }) => sum + firstReceived, 0)
const answersOf = (seconds: readonly Second[]) => seconds.flatMap(({ answers }) => answers)
const codesOf = (seconds: readonly Second[]): string[] => [
  ...new Set(answersOf(seconds).map(({ status, code }) => `${status} ${code ?? ''}`.trim())),
]
const byMinute = (seconds: readonly Second[]): number[] =>
  Array.from({ length: Math.ceil(seconds.length / 60) }, (_, minute) =>
    requestsOf(seconds.slice(60 * minute, 60 * (minute + 1))),
  )

/** Seconds after the recovery: the first answer of the lane, and the first second with nothing but its answers. */
function recoveryOf(after: readonly Second[]): { readonly parsedOutput: number; readonly whole: number } {
  const find = (fits: (second: Second) => boolean) => after.findIndex(fits)
  return {
    parsedOutput: find(({ firstReceived }) => firstReceived > 0),
    whole: find(
      ({ firstReceived, secondReceived, answers }) => firstReceived === answers.length && secondReceived === 0,
    ),
  }
}

/** What the longest of them has added to the time of its request, as its receipt has it: the lane's own deadline, if it is silent. */
async function waitedForFirst({ account }: OutageSetup): Promise<number> {
  const attempts = (await account.receipts()).flatMap((receipt) => JSON.parse(receipt.attempts ?? '[]') as Attempt[])
  const inVain = attempts.filter(({ lane, outcome }) => lane === 'first/m' && outcome !== 'finished')
  return Math.max(...inVain.map(({ ms }) => ms))
}

describe('a lane with a fallback', () => {
  it.each(OUTAGES)('that is %s: clients fail over, and its circuit closes again in time', async (outage) => {
    const bounds = BOUNDS[outage]
    const played = await play(setup, 'both', UNTIL + bounds.recovery + 10, (at) => {
      if (at === FROM) setup.is('first', outage)
      if (at === UNTIL) setup.is('first', undefined)
    })
    const [before, during, after] = [played.slice(0, FROM), played.slice(FROM, UNTIL), played.slice(UNTIL)]
    expect(codesOf(played)).toEqual(['200'])
    expect(requestsOf(before)).toBe(answersOf(before).length)

    const [firstMinute = 0, ...minutes] = byMinute(during)
    expect(firstMinute).toBeLessThanOrEqual(bounds.firstMinute)
    expect(Math.max(...minutes)).toBeLessThanOrEqual(bounds.minute)
    // No request waits for it twice.
    expect(Math.max(...answersOf(during).map(({ waitedForFirst }) => waitedForFirst))).toBe(1)

    const recovery = recoveryOf(after)
    expect(recovery.parsedOutput).toBeGreaterThanOrEqual(0)
    expect(recovery.parsedOutput).toBeLessThanOrEqual(bounds.recovery)
    expect(recovery.whole).toBeGreaterThanOrEqual(recovery.parsedOutput)
    expect(recovery.whole).toBeLessThanOrEqual(recovery.parsedOutput + 2)
    const sends = requestsOf(during)
    const waited = await waitedForFirst(setup)
    report[outage] = {
      'asked by minute': [firstMinute, ...minutes].join(' '),
      bounds: `${bounds.firstMinute}, ${bounds.minute}`,
      'requests that waited': `${sends} of ${answersOf(during).length}`,
      'for ms': `${waited} at most`,
      'back after s': `${recovery.parsedOutput}, wholly ${recovery.whole}`,
      'bound s': bounds.recovery,
    }
  })

  it('that flaps is called less and less, and clients fail over', async () => {
    const isDown = (at: number) => at >= FROM && at < UNTIL && Math.floor((at - FROM) / 20) % 2 === 0
    const played = await play(setup, 'both', UNTIL + LONGEST_S + 10, (at) =>
      setup.is('first', isDown(at) ? 'dead' : undefined),
    )
    expect(codesOf(played)).toEqual(['200'])
    const failures = byMinute(
      played
        .slice(FROM, UNTIL)
        .filter(({ at }) => isDown(at))
        .map((second) => second),
    )
    const inVain = played.filter(({ at }) => isDown(at)).reduce((sum, { firstReceived }) => sum + firstReceived, 0)
    // Eight times down, which the gateway cannot foresee: five failures for each time that it was back, and the probes.
    expect(inVain).toBeLessThanOrEqual(8 * 5)
    expect(recoveryOf(played.slice(UNTIL)).whole).toBeLessThanOrEqual(LONGEST_S + 3)
    report.flapping = {
      'asked by minute': failures.join(' '),
      'requests that waited': `${inVain} of ${answersOf(played.filter(({ at }) => isDown(at))).length}`,
    }
  })
})

describe('without a fallback', () => {
  it('a dead lane is probed rarely, and clients get an accurate Retry-After', async () => {
    const played = await play(setup, 'lone', UNTIL + LONGEST_S + 10, (at) => {
      if (at === FROM) setup.is('first', 'dead')
      if (at === UNTIL) setup.is('first', undefined)
    })
    const during = played.slice(FROM, UNTIL)
    expect(codesOf(during)).toEqual(['503 server_is_overloaded', '503 no_lane_available'])
    const [firstMinute = 0, ...minutes] = byMinute(during)
    expect(firstMinute).toBeLessThanOrEqual(ALONE.firstMinute)
    expect(Math.max(...minutes)).toBeLessThanOrEqual(ALONE.minute)
    const waits = answersOf(during).flatMap(({ retryAfter }) => retryAfter ?? Number.NaN)
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(1)
    expect(Math.max(...waits)).toBeLessThanOrEqual(LONGEST_S)
    // The request whose own failure puts the lane aside is told so.
    const openCircuit = answersOf(during).filter(
      ({ code, retryAfter = 0 }) => code === 'server_is_overloaded' && retryAfter > 1,
    )
    expect(openCircuit.length).toBeGreaterThan(2)
    const parsedOutput = played.slice(UNTIL).findIndex(({ answers }) => answers.some(({ status }) => status === 200))
    expect(parsedOutput).toBeGreaterThanOrEqual(0)
    expect(parsedOutput).toBeLessThanOrEqual(LONGEST_S + 1)
    const unserved = (await setup.account.receipts()).filter(({ outcome }) => outcome === 'upstream_failed')
    expect(unserved).toHaveLength(answersOf(played).filter(({ status }) => status === 503).length)
    expect(unserved.filter(({ charge_nano: charge }) => charge !== 0n)).toEqual([])
    report['dead and alone'] = {
      'asked by minute': [firstMinute, ...minutes].join(' '),
      bounds: `${ALONE.firstMinute}, ${ALONE.minute}`,
      'requests that waited': `${requestsOf(during)} of ${answersOf(during).length}`,
      'back after s': parsedOutput,
      'bound s': LONGEST_S + 1,
    }
  })

  it('Retry-After is accurate to the second', async () => {
    const [refusedOnce] = await play(setup, 'lone', 1, () => setup.is('first', 'throttling'))
    expect(refusedOnce?.answers.map(({ code }) => code)).toEqual(['upstream_busy'])
    expect(refusedOnce?.firstReceived).toBe(1)
    expect(refusedOnce?.answers[0]?.retryAfter).toBe(RETRY_AFTER_S)
    setup.is('first', undefined)
    let [last] = await play(setup, 'lone', 1, () => {})
    while (last!.answers[0]!.status === 429) {
      const { retryAfter, code } = last!.answers[0]!
      expect(code).toBe('upstream_busy')
      expect(retryAfter).toBeLessThanOrEqual(RETRY_AFTER_S - 1)
      // `play` has let one second pass already.
      setup.server.advance((retryAfter! - 2) * 1000)
      const [early] = await play(setup, 'lone', 1, () => {})
      expect(early?.answers.map(({ status }) => status)).toEqual([429])
      ;[last] = await play(setup, 'lone', 1, () => {})
    }
    expect(last?.answers.map(({ status }) => status)).toEqual([200])
  })

  it('route explain shows where a request would go', async () => {
    const explain = (model: string) => setup.server.operate('route.explain', { model })
    const closed = { aside: null }
    expect(await explain('both')).toMatchObject({
      model: 'both',
      has_price: true,
      lanes: [
        { id: 'first/m', priority: 1, weight: 1, first_percent: 100, ...closed },
        { id: 'second/m', priority: 2, weight: 1, first_percent: 0, ...closed },
      ],
    })
    await play(setup, 'both', 1, () => setup.is('first', 'locking us out'))
    const { lanes } = await explain('both')
    expect(lanes.map(({ id, first_percent, aside }) => [id, first_percent, aside?.reason])).toEqual([
      ['second/m', 100, undefined],
      ['first/m', 0, 'locked-out'],
    ])
    const left = lanes[1]?.aside?.seconds_left ?? 0
    expect(left).toBeGreaterThan(60 * SHORTEST - 5)
    setup.server.advance(left * 1000)
    expect((await explain('lone')).lanes[0]).toMatchObject({
      ...{ first_percent: 100, asked: true },
      aside: { reason: 'locked-out', seconds_left: 0 },
    })
    expect(await setup.server.attempt('route.explain', { model: 'nobody' })).toMatchObject({
      reason: 'model_not_found',
    })
  })

  it('the lane that route explain names first gets the next request', async () => {
    const model = 'both'
    // Between what is told and the request no time may pass that ends a wait.
    const still = await openOutageSetup({ clock: 'still' })
    const reported: (string | undefined)[] = []
    const played = await play(still, model, 120, async (at) => {
      if (at === FROM) still.is('first', 'failing')
      if (at === 80) still.is('first', undefined)
      const { lanes } = await still.server.operate('route.explain', { model })
      reported.push(lanes.find(({ first_percent }) => first_percent === 100)?.id)
    })
    await still.close()
    const whom = ({ firstReceived, secondReceived }: Second) =>
      firstReceived > 0 ? 'first/m' : secondReceived > 0 ? 'second/m' : undefined
    expect(reported).toEqual(played.map(whom))
    // It was asked, put aside, tried and back.
    expect(new Set(reported).size).toBe(2)
  })

  it('with all lanes down only half-open probes are sent, and both lanes recover', async () => {
    const played = await play(setup, 'both', UNTIL + LONGEST_S + 10, (at) => {
      if (at === FROM) for (const lane of ['first', 'second'] as const) setup.is(lane, 'failing')
      if (at === UNTIL) for (const lane of ['first', 'second'] as const) setup.is(lane, undefined)
    })
    const during = played.slice(FROM, UNTIL)
    expect(codesOf(during)).toEqual(['503 server_is_overloaded', '503 no_lane_available'])
    const [firstMinute = 0, ...minutes] = byMinute(during)
    expect(firstMinute).toBeLessThanOrEqual(ALONE.firstMinute)
    expect(Math.max(...minutes)).toBeLessThanOrEqual(ALONE.minute)
    expect(during.reduce((sum, { secondReceived }) => sum + secondReceived, 0)).toBeLessThanOrEqual(
      ALONE.firstMinute + (MINUTES - 1) * ALONE.minute,
    )
    const parsedOutput = played.slice(UNTIL).findIndex(({ answers }) => answers.some(({ status }) => status === 200))
    expect(parsedOutput).toBeGreaterThanOrEqual(0)
    expect(parsedOutput).toBeLessThanOrEqual(LONGEST_S + 1)
    report['all down'] = {
      'asked by minute': [firstMinute, ...minutes].join(' '),
      bounds: `${ALONE.firstMinute}, ${ALONE.minute}`,
      'requests that waited': `${requestsOf(during)} of ${answersOf(during).length}`,
      'back after s': parsedOutput,
      'bound s': LONGEST_S + 1,
    }
  })
})
