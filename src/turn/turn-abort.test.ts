import { describe, expect, it } from 'vitest'
import type { Sink } from './sink.ts'
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

function open() {
  const client = source()
  const shutdown = source()
  const abort = createTurnAbort({ onGone: client.on } as Pick<Sink, 'onGone'> as Sink, (listener) =>
    shutdown.on(() => listener('draining')),
  )
  return { client, shutdown, abort }
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
})
