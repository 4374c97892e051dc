import { afterEach, describe, expect, it, vi } from 'vitest'
import type { DisconnectPolicy } from '../catalog/catalog.ts'
import type { AccountRow } from '../model/ids.ts'
import { Cancellation, createDrains, type ServerAbortReason } from './cancellation.ts'

/** Listeners that can be counted and called. */
function source<Emitted extends unknown[]>() {
  const listeners = new Set<(...emitted: Emitted) => void>()
  return {
    listeners,
    fire: (...emitted: Emitted) => {
      for (const listener of [...listeners]) listener(...emitted)
    },
    on(listener: (...emitted: Emitted) => void) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

const ACCOUNT = 1 as AccountRow

function open({ atOnceMax = 1, isHeard = true } = {}) {
  const client = source<[]>()
  const server = source<[ServerAbortReason]>()
  const time = { nowMicros: 0 }
  const drains = createDrains({ nowMicros: () => time.nowMicros }, { msMax: 1000, atOnceMax })
  const stop = new Cancellation(
    { onServerAbort: server.on, drains },
    ACCOUNT,
    isHeard ? { onDisconnect: client.on } : undefined,
  )
  const stand = () => ({
    stopped: stop.stopped,
    reason: stop.abortReason,
    disconnectedEarly: stop.disconnectedEarly,
  })
  return { client, server, stop, stand, drains, time }
}

const HERE = { stopped: false, reason: undefined, disconnectedEarly: false }
const LEFT = { stopped: true, reason: 'client-gone', disconnectedEarly: true }

describe('a client that goes', () => {
  it('before its answer is whole stops the provider', () => {
    const { client, stand } = open()
    expect(stand()).toEqual(HERE)
    client.fire()
    expect(stand()).toEqual(LEFT)
  })

  it('with its finish reason has its answer: the usage is awaited', () => {
    const { client, stop, stand } = open()
    stop.answerIsComplete = true
    client.fire()
    expect(stand()).toEqual({ stopped: false, reason: 'client-gone', disconnectedEarly: false })
  })

  it.each(['client', 'cancel'])(
    'with a finish reason that was not the last one leaves an answer that goes on (%s)',
    (who) => {
      const { client, stop, stand } = open()
      stop.answerIsComplete = true
      if (who === 'client') client.fire()
      else stop.cancel()
      expect(stand()).toEqual({ stopped: false, reason: 'client-gone', disconnectedEarly: false })
      stop.answerGoesOn()
      expect(stand()).toEqual(LEFT)
      const staying = open()
      staying.stop.answerIsComplete = true
      staying.stop.answerGoesOn()
      expect(staying.stand()).toEqual(HERE)
    },
  )

  it('after the server has ended the turn changes nothing but that it has left', () => {
    const { client, server, stand } = open()
    server.fire('draining')
    client.fire()
    expect(stand()).toEqual({ stopped: true, reason: 'draining', disconnectedEarly: true })
  })

  it('is not reported when the answer is finished for a retry', () => {
    const { client, stand } = open({ isHeard: false })
    client.fire()
    expect([client.listeners.size, stand()]).toEqual([0, HERE])
  })
})

describe('a server that ends its turns', () => {
  it.each(['draining', 'ledger-gone'] as const)('stops the provider (%s)', (why) => {
    const { server, stand } = open()
    server.fire(why)
    expect(stand()).toEqual({ stopped: true, reason: why, disconnectedEarly: false })
  })

  it('waits for no usage, and the first reason stands', () => {
    const { client, server, stop, stand } = open()
    stop.answerIsComplete = true
    server.fire('ledger-gone')
    client.fire()
    expect(stand()).toEqual({ stopped: true, reason: 'ledger-gone', disconnectedEarly: false })
    const left = open()
    left.client.fire()
    left.server.fire('draining')
    expect(left.stand()).toEqual(LEFT)
  })
})

describe('why a provider was stopped', () => {
  it('is not told of one that is read on, nor of one whose client went with the whole answer', () => {
    const drained = open()
    drained.stop.disconnectPolicy = 'drain'
    drained.client.fire()
    expect(drained.stop.stoppedFor).toBeUndefined()
    drained.server.fire('draining')
    expect(drained.stop.stoppedFor).toBe('client-gone')

    const whole = open()
    whole.stop.answerIsComplete = true
    whole.client.fire()
    whole.server.fire('draining')
    expect([whole.stop.stoppedFor, whole.stop.stopped]).toEqual([undefined, true])
  })

  it.each(['draining', 'ledger-gone'] as const)('is the word of a server that ends its turns (%s)', (why) => {
    const { stop, server } = open()
    expect(stop.stoppedFor).toBeUndefined()
    stop.answerIsComplete = true
    server.fire(why)
    expect(stop.stoppedFor).toBe(why)
  })
})

describe('the end of a turn', () => {
  it('leaves no listener for a shutdown behind', () => {
    const { server, stop, stand } = open()
    expect(server.listeners.size).toBe(1)
    stop.release()
    expect(server.listeners.size).toBe(0)
    expect(stand()).toEqual(HERE)
  })

  it('begins no drain for a client that goes later', () => {
    const { client, drains, stop } = open()
    stop.disconnectPolicy = 'drain'
    stop.release()
    client.fire()
    expect(drains.running).toBe(0)
  })
})

describe('a provider that is read on for a client that has gone', () => {
  afterEach(() => void vi.useRealTimers())

  const drained = (bounds = {}) => {
    vi.useFakeTimers()
    const opened = open(bounds)
    opened.stop.disconnectPolicy = 'drain'
    opened.client.fire()
    return opened
  }

  it('is not stopped until its time is up, and no timer is left', () => {
    const { stop, stand, drains, time } = drained()
    expect([stand(), drains.running]).toEqual([{ ...LEFT, stopped: false }, 1])
    time.nowMicros = 999_999
    vi.advanceTimersByTime(5000)
    expect(stand().stopped).toBe(false)
    time.nowMicros = 1_000_000
    vi.advanceTimersByTime(500)
    expect([stand(), drains.running, vi.getTimerCount()]).toEqual([LEFT, 0, 0])
    stop.release()
    expect(drains.running).toBe(0)
  })

  it('is left in peace once its turn is over', () => {
    const { stop, stand, drains, time } = drained()
    stop.release()
    expect([drains.running, vi.getTimerCount()]).toEqual([0, 0])
    time.nowMicros = 9e9
    vi.advanceTimersByTime(5000)
    expect(stand().stopped).toBe(false)
  })

  it('is stopped at once when the server ends, for the reason that was first', () => {
    const { stand, server } = drained()
    server.fire('draining')
    expect(stand()).toEqual(LEFT)
  })

  it('is stopped at once when as many are read on as may be', () => {
    const { stand, drains } = drained({ atOnceMax: 0 })
    expect([stand(), drains.running]).toEqual([LEFT, 0])
  })

  it('has not finished for that client, whenever it says why it ends', () => {
    const { stop, stand } = drained()
    stop.answerIsComplete = true
    expect(stand().disconnectedEarly).toBe(true)
  })

  it('is not begun to be read on when it was stopped already', () => {
    const { client, server, stop, drains } = open()
    stop.disconnectPolicy = 'drain'
    server.fire('draining')
    client.fire()
    expect(drains.running).toBe(0)
  })
})

describe('when its client goes, a provider', () => {
  const isStopped = (policy: DisconnectPolicy) => {
    const { client, stop, drains } = open()
    stop.disconnectPolicy = policy
    client.fire()
    stop.release()
    return [stop.stopped, drains.running]
  }

  it('is cut unless the operator has written that it is read on', () => {
    expect([isStopped('cancel_estimate'), isStopped('cancel_free'), isStopped('drain')]).toEqual([
      [true, 0],
      [true, 0],
      [false, 0],
    ])
  })
})
