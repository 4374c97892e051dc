import { afterEach, describe, expect, it, vi } from 'vitest'
import { createDrains } from './drains.ts'
import { createTurnAbort } from './turn-abort.ts'

/** Listeners that can be counted and called. */
function source() {
  const listeners = new Set<() => void>()
  return {
    listeners,
    fire: () => [...listeners].forEach((listener) => void listener()),
    on(listener: () => void) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

function open({ atOnceMax = 1 } = {}) {
  const client = source()
  const shutdown = source()
  const time = { ticks: 0 }
  const drains = createDrains({ ticks: () => time.ticks }, { msMax: 1000, atOnceMax })
  const abort = createTurnAbort(
    { onGone: client.on },
    { onCut: (listener) => shutdown.on(() => listener('draining')), drains },
  )
  return { client, shutdown, abort, drains, time }
}

describe('the abort of a turn', () => {
  it('leaves no listener behind', () => {
    const { client, shutdown, abort } = open()
    expect([client.listeners.size, shutdown.listeners.size]).toEqual([1, 1])
    abort.release()
    expect([client.listeners.size, shutdown.listeners.size]).toEqual([0, 0])
    expect([abort.signal.stopped, abort.reason]).toEqual([false, undefined])
  })

  it('comes when the client goes, and when the server stops; the first reason stands', () => {
    const gone = open()
    gone.client.fire()
    gone.shutdown.fire()
    expect([gone.abort.signal.stopped, gone.abort.reason]).toEqual([true, 'client-gone'])
    const stopped = open()
    stopped.shutdown.fire()
    expect([stopped.abort.signal.stopped, stopped.abort.reason]).toEqual([true, 'draining'])
  })

  it('waits for the usage once the answer has its finish reason, but not when the server stops', () => {
    const { client, shutdown, abort } = open()
    abort.letItFinish()
    client.fire()
    expect([abort.signal.stopped, abort.reason]).toEqual([false, 'client-gone'])
    shutdown.fire()
    expect(abort.signal.stopped).toBe(true)
  })

  it('waits for nothing on a lane that is asked after one whose end was no answer', () => {
    const { client, abort } = open()
    abort.letItFinish()
    abort.whenClientGoes('cut')
    client.fire()
    expect([abort.signal.stopped, abort.leftEarly]).toEqual([true, true])
  })
})

describe('a provider that is read on for a client that has gone', () => {
  afterEach(() => void vi.useRealTimers())

  const drained = (bounds = {}) => {
    vi.useFakeTimers()
    const opened = open(bounds)
    opened.abort.whenClientGoes('drain')
    opened.client.fire()
    return opened
  }

  it('is not stopped until its time is up, and no timer is left', () => {
    const { abort, drains, time } = drained()
    expect([abort.signal.stopped, abort.reason, abort.leftEarly, drains.running]).toEqual([
      false,
      'client-gone',
      true,
      1,
    ])
    time.ticks = 999_999
    vi.advanceTimersByTime(5000)
    expect(abort.signal.stopped).toBe(false)
    time.ticks = 1_000_000
    vi.advanceTimersByTime(500)
    expect([abort.signal.stopped, drains.running, vi.getTimerCount()]).toEqual([true, 0, 0])
    abort.release()
    expect(drains.running).toBe(0)
  })

  it('is left in peace once its turn is over', () => {
    const { abort, drains, time } = drained()
    abort.release()
    expect([drains.running, vi.getTimerCount()]).toEqual([0, 0])
    time.ticks = 9e9
    vi.advanceTimersByTime(5000)
    expect(abort.signal.stopped).toBe(false)
  })

  it('is stopped at once when the server ends', () => {
    const { abort, shutdown } = drained()
    shutdown.fire()
    expect([abort.signal.stopped, abort.reason]).toEqual([true, 'client-gone'])
  })

  it('is stopped at once when as many are read on as may be', () => {
    const { abort, drains } = drained({ atOnceMax: 0 })
    expect([abort.signal.stopped, abort.leftEarly, drains.running]).toEqual([true, true, 0])
  })

  it('has not finished for that client, whenever it says why it ends', () => {
    const { abort } = drained()
    abort.letItFinish()
    expect(abort.leftEarly).toBe(true)
  })
})
