import { expect, it, vi } from 'vitest'
import { createLog } from './log.ts'
import { createLogWatch } from './log-watch.ts'

function openWatch() {
  let micros = 7
  const clock = { now: () => 0, nowMicros: () => micros++ }
  const log = createLog(
    { clock: { ...clock, wallNow: () => 0 } as never },
    { level: 'silent', format: 'json', destination: 1 },
  )
  const watch = createLogWatch(log, clock)
  const request = (id: number, facts: object = {}) => log.request({ request_id: `req_${id}`, status: 200, ...facts })
  const idsOf = (lines: readonly string[]) => lines.map((line) => Number(JSON.parse(line).request_id.slice(4)))
  return { log, watch, request, idsOf }
}

it('shows the lines that come after the first look, whatever the level, and each of them once', () => {
  const { log, watch, request, idsOf } = openWatch()
  request(1)
  const first = watch.read(undefined, {})
  expect(first).toMatchObject({ lines: [], lost: 0, more: false })
  request(2)
  request(3)
  const second = watch.read(first.next, {})
  expect(idsOf(second.lines)).toEqual([2, 3])
  expect(watch.read(second.next, {}).lines).toEqual([])
  log.info({ a: 1 }, 'something')
  expect(watch.read(second.next, {}).lines.map((line) => JSON.parse(line))).toMatchObject([{ msg: 'something', a: 1 }])
  watch.close()
})

it('filters by account and by failure, and goes on behind what it left out', () => {
  const { log, watch, request, idsOf } = openWatch()
  const { next } = watch.read(undefined, {})
  request(1, { account_id: 'acct_a' })
  request(2, { account_id: 'acct_b', status: 429 })
  request(3, { account_id: 'acct_a', turn: { model: 'm', outcome: 'upstream_failed', problem: 'upstream_error' } })
  log.warn({}, 'of no account')
  expect(idsOf(watch.read(next, { account: 'acct_a' }).lines)).toEqual([1, 3])
  expect(idsOf(watch.read(next, { account: 'acct_a', errors: true }).lines)).toEqual([3])
  const failed = watch.read(next, { errors: true })
  expect(failed.lines.map((line) => JSON.parse(line).msg)).toEqual(['request', 'request', 'of no account'])
  request(4)
  expect(idsOf(watch.read(failed.next, {}).lines)).toEqual([4])
  watch.close()
})

it('keeps a bounded number of lines, and tells a slow reader how many it lost', () => {
  const { watch, request, idsOf } = openWatch()
  let { next } = watch.read(undefined, {})
  for (let id = 0; id < 20_000; id++) request(id)
  const seen: number[] = []
  let lost = 0
  for (let more = true; more; ) {
    const answer = watch.read(next, {})
    expect(answer.lines.length).toBeLessThanOrEqual(500)
    seen.push(...idsOf(answer.lines))
    lost += answer.lost
    ;({ next, more } = answer)
  }
  expect(seen.length).toBeLessThanOrEqual(5001)
  expect(seen.length + lost).toBe(20_000)
  expect(seen).toEqual(Array.from(seen, (_, index) => 20_000 - seen.length + index))
  watch.close()
})

it('keeps nothing when nobody has looked for a while, and takes the place of an earlier watch for none', () => {
  vi.useFakeTimers()
  try {
    const { watch, request, idsOf } = openWatch()
    const { next } = watch.read(undefined, {})
    request(1)
    vi.advanceTimersByTime(31_000)
    request(2)
    const again = watch.read(next, {})
    expect(again).toMatchObject({ lines: [], lost: 0 })
    request(3)
    expect(idsOf(watch.read(again.next, {}).lines)).toEqual([3])
    watch.close()
  } finally {
    vi.useRealTimers()
  }
})
