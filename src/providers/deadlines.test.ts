import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type DeadlinePhase, Deadlines, timeLimitsOf } from './deadlines.ts'

const TIMEOUTS = {
  connectTimeoutMs: 5,
  firstByteTimeoutMs: 120,
  jsonAnswerTimeoutMs: 1100,
  idleTimeoutMs: 90,
  noProgressTimeoutMs: 300,
  totalTimeoutMs: 1800,
}
const DATA = Buffer.from('data: x\n\n')
const PING = Buffer.from(': ping\n\n')

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** Each setImmediate takes a millisecond of this clock, and a deadline waits for two. */
const LOOP_TURN_MS = 2

/** A call whose time the test makes pass. */
function running(delivery: 'stream' | 'json', timeouts = TIMEOUTS) {
  let now = 0
  const expired: { phase: DeadlinePhase; at: number }[] = []
  const deadlines = new Deadlines(
    () => now * 1000,
    timeLimitsOf(timeouts, delivery),
    (phase) => expired.push({ phase, at: now - LOOP_TURN_MS }),
  )
  const pass = (ms: number) => {
    for (let n = 0; n < ms; n++) {
      now++
      vi.advanceTimersByTime(1)
    }
  }
  return { deadlines, pass, expired }
}

describe('a stream', () => {
  test('must start before the first-byte deadline', () => {
    const { pass, expired } = running('stream')
    pass(119)
    expect(expired).toEqual([])
    pass(200)
    expect(expired).toEqual([{ phase: 'first-byte', at: 120 }])
  })

  test('must stay within the idle deadline', () => {
    const { deadlines, pass, expired } = running('stream')
    pass(100)
    deadlines.headArrived()
    pass(80)
    deadlines.bytesArrived(DATA)
    pass(89)
    deadlines.bytesArrived(PING)
    pass(200)
    expect(expired).toEqual([{ phase: 'idle', at: 359 }])
  })

  test('needs content, not only keep-alives', () => {
    const { deadlines, pass, expired } = running('stream')
    deadlines.headArrived()
    pass(50)
    deadlines.bytesArrived(DATA)
    for (let n = 0; n < 10 && expired.length === 0; n++) {
      pass(50)
      deadlines.bytesArrived(PING)
    }
    expect(expired).toEqual([{ phase: 'no-progress', at: 350 }])
  })

  test('must end within the total deadline', () => {
    const { deadlines, pass, expired } = running('stream')
    deadlines.headArrived()
    for (let n = 0; n < 60 && expired.length === 0; n++) {
      pass(50)
      deadlines.bytesArrived(DATA)
    }
    expect(expired).toEqual([{ phase: 'total', at: 1800 }])
  })

  test('does not time out on a slow reader, except for the total', () => {
    const { deadlines, pass, expired } = running('stream')
    deadlines.headArrived()
    deadlines.bytesArrived(DATA)
    deadlines.pause()
    pass(1000)
    expect(expired).toEqual([])
    deadlines.resume()
    pass(89)
    expect(expired).toEqual([])
    pass(50)
    expect(expired).toEqual([{ phase: 'idle', at: 1090 }])
  })

  test('has no timer after it ends', () => {
    const { deadlines, pass, expired } = running('stream')
    deadlines.headArrived()
    deadlines.stop()
    pass(3000)
    expect([expired, vi.getTimerCount()]).toEqual([[], 0])
  })
})

describe('an answer in one piece', () => {
  test('must start before its own deadline', () => {
    const { pass, expired } = running('json')
    pass(1099)
    expect(expired).toEqual([])
    pass(200)
    expect(expired).toEqual([{ phase: 'first-byte', at: 1100 }])
  })

  test('may start late; leading whitespace does not start the idle deadline', () => {
    const { deadlines, pass, expired } = running('json')
    pass(1000)
    deadlines.headArrived()
    pass(500)
    for (let n = 0; n < 5; n++) {
      deadlines.bytesArrived(Buffer.from('\n'))
      pass(50)
    }
    expect(expired).toEqual([])
    pass(100)
    expect(expired[0]?.phase).toBe('idle')
  })

  test('must stay within the idle deadline after it starts', () => {
    const { deadlines, pass, expired } = running('json')
    deadlines.headArrived()
    pass(200)
    deadlines.bytesArrived(Buffer.from('{'))
    pass(100)
    expect(expired).toEqual([{ phase: 'idle', at: 290 }])
  })
})

describe('a suspended process', () => {
  /** Time passes, and nothing runs. */
  const stopped = (ms: number) => {
    const clock = { now: 0 }
    const expired: DeadlinePhase[] = []
    const deadlines = new Deadlines(
      () => clock.now * 1000,
      timeLimitsOf(TIMEOUTS, 'stream'),
      (phase) => expired.push(phase),
    )
    deadlines.headArrived()
    clock.now += ms
    vi.advanceTimersByTime(TIMEOUTS.idleTimeoutMs)
    const pass = (more: number) => {
      for (let n = 0; n < more; n++) {
        clock.now++
        vi.advanceTimersByTime(1)
      }
    }
    return { deadlines, expired, pass }
  }

  test('reads waiting bytes before it ends a stream', () => {
    const { deadlines, expired, pass } = stopped(60_000)
    expect(expired).toEqual([])
    deadlines.bytesArrived(DATA)
    pass(TIMEOUTS.idleTimeoutMs - 5)
    expect(expired).toEqual([])
    pass(10)
    expect(expired).toEqual(['idle'])
  })

  test('does not count the suspended time against the total', () => {
    const { deadlines, expired, pass } = stopped(60_000)
    for (let n = 0; n < 20; n++) {
      deadlines.bytesArrived(DATA)
      pass(TIMEOUTS.idleTimeoutMs - 5)
    }
    expect(expired).toEqual([])
    deadlines.bytesArrived(DATA)
    pass(TIMEOUTS.totalTimeoutMs)
    expect(expired).toHaveLength(1)
  })

  test('ends a stream without new bytes', () => {
    const { expired, pass } = stopped(60_000)
    pass(5)
    expect(expired).toEqual(['idle'])
  })
})

test('one timer serves any number of bytes', () => {
  const { deadlines } = running('stream')
  deadlines.headArrived()
  for (let n = 0; n < 1000; n++) deadlines.bytesArrived(DATA)
  expect(vi.getTimerCount()).toBe(1)
  deadlines.stop()
})

/** Whether each chunk is a keep-alive: after one, the time without progress goes on. */
const judged = (...chunks: string[]) =>
  chunks.map((chunk, index) => {
    const { deadlines, pass, expired } = running('stream', { ...TIMEOUTS, idleTimeoutMs: 1000 })
    deadlines.headArrived()
    for (const earlier of chunks.slice(0, index)) deadlines.bytesArrived(Buffer.from(earlier))
    pass(200)
    deadlines.bytesArrived(Buffer.from(chunk))
    pass(200)
    return expired.length > 0
  })

describe('a keep-alive', () => {
  test.each([': ping\n\n', ':\n:\r\n\r\n', '\n', ' \r\n\t', '', ': cut in the mid'])('%j is one', (text) => {
    expect(judged(text)).toEqual([true])
  })

  test.each(['data: x\n\n', ': ping\n\ndata: x\n', ': a\r\nevent: b\r\n', '{"a"', ' {', 'dle\n\n'])(
    '%j is more',
    (text) => {
      expect(judged(text)).toEqual([false])
    },
  )

  test('is still one when truncated', () => {
    expect(judged(': pi', 'ng', '\n', '\n:', ' x\r', '\n\r', '\n')).toEqual([true, true, true, true, true, true, true])
    expect(judged('data: x\n\n: pi', 'ng\n\n')).toEqual([false, true])
  })

  test('is none when truncated text looks like one', () => {
    expect(judged('data', ': x\n', ': ping\n')).toEqual([false, false, true])
    expect(judged(': ping\nda', 'ta', '\n', ': ping')).toEqual([false, false, false, true])
    expect(judged(': pi', 'ng\ndata: x')).toEqual([true, false])
  })
})
