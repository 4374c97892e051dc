import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Stopper } from '../lib/async.ts'
import { timeLimitsOf } from './deadlines.ts'
import { ProviderExchange } from './send.ts'
import type { UpstreamOutcome } from './upstream-answer.ts'

const LIMITS = timeLimitsOf(
  {
    connectTimeoutMs: 1000,
    firstByteTimeoutMs: 1000,
    jsonAnswerTimeoutMs: 1000,
    idleTimeoutMs: 1000,
    noProgressTimeoutMs: 1000,
    totalTimeoutMs: 1000,
  },
  'stream',
)
const KiB = 1024

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** An answer whose head has arrived. `provider` is what undici calls, `body` what the turn reads. */
function answering() {
  const done: string[] = []
  const outcomes: UpstreamOutcome[] = []
  const provider = new ProviderExchange(() => 0, {
    ...{ upstream: { id: 'u' }, limits: LIMITS, signal: new Stopper() },
    settle: (outcome) => outcomes.push(outcome),
  })
  provider.onConnect(() => done.push('cut'))
  provider.onHeaders(200, [], () => done.push('resume'))
  const [outcome] = outcomes
  if (outcome?.kind !== 'answer') throw new Error('no answer')
  const { body } = outcome
  const push = (text: string) => provider.onData(Buffer.from(text))
  const read = async () => String(Buffer.concat(await body.read()))
  return { provider, body, push, read, done }
}

describe('an answer between a provider that pushes and a turn that reads', () => {
  test('returns everything that has arrived, and one parser turn to a waiting reader', async () => {
    const { provider, push, read } = answering()
    push('a')
    push('b')
    expect(await read()).toBe('ab')
    const waiting = read()
    push('c')
    push('d')
    expect(await waiting).toBe('cd')
    push('e')
    provider.onComplete()
    expect([await read(), await read(), await read()]).toEqual(['e', '', ''])
  })

  test('ends for a waiting reader', async () => {
    const { provider, read } = answering()
    const waiting = read()
    provider.onComplete()
    expect(await waiting).toBe('')
  })

  test('fails after what has arrived was read, and then every time', async () => {
    const { provider, push, read } = answering()
    push('a')
    provider.onError(new Error('gone'))
    push('b')
    provider.onComplete()
    expect(await read()).toBe('a')
    await expect(read()).rejects.toMatchObject({ name: 'UpstreamBrokenOff' })
    await expect(read()).rejects.toMatchObject({ name: 'UpstreamBrokenOff' })
  })

  test('fails a waiting reader after the chunks of the same parser turn', async () => {
    const { provider, push, read } = answering()
    const waiting = read()
    push('last words')
    provider.onError(new Error('gone'))
    expect(await waiting).toBe('last words')
    await expect(read()).rejects.toMatchObject({ name: 'UpstreamBrokenOff' })
  })

  test('pauses the socket above 16 KiB without a reader, and resumes it when they are read', async () => {
    const { push, read, done } = answering()
    expect([push('a'.repeat(16 * KiB)), push('b'), push('c')]).toEqual([true, false, false])
    expect(done).toEqual([])
    expect(await read()).toHaveLength(16 * KiB + 2)
    expect([done, push('d')]).toEqual([['resume'], true])
  })

  test('pauses the socket above 64 KiB for a waiting reader', async () => {
    const { push, read, done } = answering()
    const waiting = read()
    expect([push('a'.repeat(64 * KiB)), push('b')]).toEqual([true, false])
    expect(await waiting).toHaveLength(64 * KiB + 1)
    expect(done).toEqual(['resume'])
  })

  test('drops everything after its release, resumes the socket, and is cut after 64 KiB', () => {
    const { body, push, done } = answering()
    push('a'.repeat(16 * KiB + 1))
    body.release()
    expect(done).toEqual(['resume'])
    expect(push('b'.repeat(64 * KiB))).toBe(true)
    expect(done).toEqual(['resume'])
    push('c')
    expect([done, vi.getTimerCount()]).toEqual([['resume', 'cut'], 0])
  })

  test('is cut a second after its release', () => {
    const { body, done } = answering()
    body.release()
    vi.advanceTimersByTime(999)
    expect(done).toEqual([])
    vi.advanceTimersByTime(1)
    expect([done, vi.getTimerCount()]).toEqual([['cut'], 0])
  })

  test('is not resumed once it is over', async () => {
    const { provider, push, read, done } = answering()
    push('a'.repeat(16 * KiB + 1))
    provider.onComplete()
    expect(await read()).toHaveLength(16 * KiB + 1)
    expect([done, await read()]).toEqual([[], ''])
  })
})
