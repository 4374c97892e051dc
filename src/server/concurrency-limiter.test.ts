import { describe, expect, it } from 'vitest'
import { type AcquireOutcome, createConcurrencyLimiter, type Slot, TURN_BYTES } from './concurrency-limiter.ts'

const MiB = 1024 * 1024

function openGuard(terms = { memoryBytes: MiB, queueLength: 2, queueMs: 60_000 }) {
  const state = { terms, isStrained: false, shed: [] as string[] }
  let drawn = 0
  const guard = createConcurrencyLimiter({
    rules: {
      get current() {
        return { load: state.terms }
      },
    },
    loop: state,
    random: (size) => new Uint8Array(size).fill(drawn++),
    onShed: (reason) => state.shed.push(reason),
  })
  const enter = () => guard.acquire({ onLeave: () => () => {} })
  const placeOf = async (entry: AcquireOutcome | Promise<AcquireOutcome>): Promise<Slot> => {
    const entered = await entry
    if (entered.kind !== 'acquired') throw new Error(entered.kind)
    return entered.slot
  }
  return { state, guard, enter, placeOf }
}

describe('the concurrency limiter', () => {
  it('runs as many turns as fit in memory, reserves an eighth for bodies, and queues the others in order', async () => {
    const { state, guard, enter, placeOf } = openGuard()
    const first = await placeOf(enter())
    await placeOf(enter())
    await placeOf(enter())
    const waits = [enter(), enter()]
    expect(guard.figures).toMatchObject({ running: 3, bytesTaken: 3 * TURN_BYTES, waiting: 2 })
    expect(await enter()).toMatchObject({ kind: 'refused', problem: { code: 'server_is_overloaded' } })
    expect(state.shed).toEqual(['queue_full'])
    first.release()
    first.release()
    await placeOf(waits[0]!)
    expect(guard.figures).toMatchObject({ running: 3, waiting: 1 })
  })

  it('counts a body as it arrives, refuses the byte too many, and gives all of it back', async () => {
    const { state, guard, enter, placeOf } = openGuard()
    const place = await placeOf(enter())
    const other = await placeOf(enter())
    expect(place.take(MiB - 2 * TURN_BYTES)).toBeUndefined()
    expect(place.take(1)).toMatchObject({ code: 'server_is_overloaded' })
    expect(guard.figures.bytesTaken).toBe(MiB)
    place.release()
    other.release()
    expect(guard.figures).toMatchObject({ running: 0, bytesTaken: 0 })
    expect(state.shed).toEqual(['body'])
  })

  it('leaves others as much as the bodies take that one account is sending, and lets its only one take what is free', async () => {
    const { state, guard, enter, placeOf } = openGuard({ memoryBytes: 4 * MiB, queueLength: 2, queueMs: 60_000 })
    const [first, second, third] = [await placeOf(enter()), await placeOf(enter()), await placeOf(enter())]
    const other = await placeOf(enter())
    expect(first.beginBody(1)).toBeUndefined()
    expect(first.take(MiB)).toBeUndefined()
    expect(second.beginBody(1)).toBeUndefined()
    expect(second.take(MiB / 4 + 1)).toMatchObject({ code: 'server_is_overloaded', message: /this account/ })
    expect(second.take(MiB / 4)).toBeUndefined()
    expect(third.beginBody(1)).toMatchObject({ code: 'server_is_overloaded' })
    expect(state.shed).toEqual(['body', 'body'])
    // What has arrived counts no more for what the account is sending.
    first.endBody()
    expect(third.beginBody(1)).toBeUndefined()
    expect(other.beginBody(2)).toBeUndefined()
    expect(other.take(MiB)).toBeUndefined()
    for (const place of [first, second, third, other]) place.release()
    const late = await placeOf(enter())
    expect(late.beginBody(1)).toBeUndefined()
    expect(late.take(3 * MiB)).toBeUndefined()
    late.release()
    expect(guard.figures).toMatchObject({ running: 0, bytesTaken: 0 })
  })

  it('refuses a request as too large when it would not fit alone', async () => {
    const { state, guard, enter, placeOf } = openGuard()
    const place = await placeOf(enter())
    expect(place.take(MiB)).toMatchObject({ code: 'request_too_large' })
    expect(guard.figures.bytesTaken).toBe(TURN_BYTES)
    expect(state.shed).toEqual([])
  })

  it('counts what a turn keeps instead of what it took, and gives the rest to waiting turns', async () => {
    const { guard, enter, placeOf } = openGuard()
    const place = await placeOf(enter())
    await placeOf(enter())
    expect(place.take(MiB / 2 - MiB / 8)).toBeUndefined()
    const waits = enter()
    expect(guard.figures.waiting).toBe(1)
    expect(place.keep(1000)).toBeUndefined()
    await placeOf(waits)
    expect(guard.figures.bytesTaken).toBe(3 * TURN_BYTES + 1000)
    expect(place.keep(MiB / 2)).toMatchObject({ code: 'server_is_overloaded' })
    expect(place.keep(MiB / 4)).toBeUndefined()
    expect(guard.figures.bytesTaken).toBe(MiB)
    place.release()
    expect(place.keep(5)).toBeUndefined()
    expect(guard.figures.bytesTaken).toBe(2 * TURN_BYTES)
  })

  it('sheds a turn that waited too long, and forgets a disconnected client', async () => {
    const { state, guard, enter, placeOf } = openGuard({ memoryBytes: MiB, queueLength: 2, queueMs: 10 })
    for (let count = 0; count < 3; count++) await placeOf(enter())
    expect(await enter()).toMatchObject({ kind: 'refused' })
    expect(state.shed).toEqual(['memory'])
    let leave = () => {}
    const goes = guard.acquire({
      onLeave(listener) {
        leave = listener
        return () => {}
      },
    })
    leave()
    expect(await goes).toEqual({ kind: 'disconnected' })
    expect(guard.figures.waiting).toBe(0)
    expect(state.shed).toEqual(['memory'])
  })

  it('runs one turn however small the memory is', async () => {
    const { guard, enter, placeOf } = openGuard({ memoryBytes: TURN_BYTES, queueLength: 0, queueMs: 10 })
    const place = await placeOf(enter())
    expect(await enter()).toMatchObject({ kind: 'refused' })
    place.release()
    await placeOf(enter())
    expect(guard.figures.running).toBe(1)
  })

  it('listens for a disconnect until the wait is over, however it ends', async () => {
    const { guard, enter, placeOf } = openGuard({ memoryBytes: MiB, queueLength: 2, queueMs: 10 })
    const places = [await placeOf(enter()), await placeOf(enter()), await placeOf(enter())]
    let listening = 0
    const wait = () =>
      guard.acquire({
        onLeave() {
          listening++
          return () => {
            listening--
          }
        },
      })
    const waits = [wait(), wait()]
    expect(listening).toBe(2)
    places[0]?.release()
    expect([(await waits[0])?.kind, (await waits[1])?.kind]).toEqual(['acquired', 'refused'])
    expect(listening).toBe(0)
  })

  it('sheds every turn while the loop is strained, with a Retry-After of one to three seconds', async () => {
    const { state, enter } = openGuard()
    state.isStrained = true
    const entries = await Promise.all([enter(), enter(), enter(), enter()])
    expect(entries.map((entry) => entry.kind === 'refused' && entry.problem.retryAfterSeconds)).toEqual([1, 2, 3, 1])
    for (const entry of entries)
      expect(entry).toMatchObject({ problem: { message: expect.stringMatching(/try again in [123]s\.$/) as string } })
    state.isStrained = false
    expect(await enter()).toMatchObject({ kind: 'acquired' })
  })

  it('takes other terms from then on', async () => {
    const { state, enter, placeOf } = openGuard()
    const places = [await placeOf(enter()), await placeOf(enter()), await placeOf(enter())]
    const waits = enter()
    state.terms = { ...state.terms, memoryBytes: 8 * MiB }
    places[0]?.release()
    await placeOf(waits)
    await placeOf(enter())
    state.terms = { ...state.terms, memoryBytes: MiB, queueLength: 0 }
    expect(await enter()).toMatchObject({ kind: 'refused' })
  })
})
