import { describe, expect, it } from 'vitest'
import { type Drainable, type ShutdownOptions, shutDown } from './shutdown.ts'

/** An edge whose turns end when the test says so; everything that happens is written down in order. */
function fixture(
  running: number,
  options: Partial<ShutdownOptions> & { onConnectionsCut?: (finish: () => void) => void } = {},
) {
  const story: string[] = []
  const signals: (() => void)[] = []
  let resolveIdle = () => {}
  const idle = new Promise<void>((resolve) => {
    resolveIdle = resolve
  })
  const state = { running }
  const edge: Drainable = {
    announceDrain: () => story.push('not ready'),
    stopAccepting: async () => {
      story.push('deaf')
    },
    abortTurns: () => story.push('cut'),
    closeAllConnections: () => {
      options.onConnectionsCut?.(finish)
    },
    turnsEnded: () => (state.running === 0 ? Promise.resolve() : idle),
    get turnsRunning() {
      return state.running
    },
    requestsServed: 3,
  }
  const deps: ShutdownOptions = {
    edge,
    drainMs: 60_000,
    lingerMs: 0,
    settleMs: 60_000,
    report: (message) => story.push(message),
    nextSignal: () => new Promise((resolve) => signals.push(resolve)),
    close: async () => {
      story.push('closed')
    },
    ...options,
  }
  const finish = () => {
    state.running = 0
    resolveIdle()
  }
  return { deps, story, finish, signal: () => signals.shift()?.() }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('shutDown', () => {
  it('closes at once when nothing runs', async () => {
    const { deps, story } = fixture(0)
    expect(await shutDown(deps)).toEqual({ requests: 3, lost: 0 })
    expect(story).toEqual(['not ready', 'deaf', 'closed', 'Stopped. 3 requests, 0 lost.'])
  })

  it('waits for running requests and does not cut them', async () => {
    const { deps, story, finish } = fixture(1)
    const ended = shutDown(deps)
    await turn()
    finish()
    expect(await ended).toEqual({ requests: 3, lost: 0 })
    expect(story).toEqual([
      'not ready',
      'deaf',
      'Stopping: 1 request open, waiting up to 60 s (Ctrl+C again to cut).',
      'closed',
      'Stopped. 3 requests, 0 lost.',
    ])
  })

  it('cuts at the second signal and still lets the turns settle', async () => {
    const { deps, story, finish, signal } = fixture(2)
    const ended = shutDown(deps)
    await turn()
    signal()
    await turn()
    expect(story.at(-1)).toBe('cut')
    finish()
    expect((await ended).lost).toBe(0)
  })

  it('cuts when the drain time is over, and reports how many did not settle', async () => {
    const { deps, story } = fixture(2, { drainMs: 1, settleMs: 1 })
    expect(await shutDown(deps)).toEqual({ requests: 3, lost: 2 })
    expect(story).toContain('cut')
    expect(story.at(-1)).toBe('Stopped. 3 requests, 2 lost.')
  })

  it('breaks the connection of a turn that cannot get its end out, and counts it as settled', async () => {
    const { deps, story } = fixture(1, { drainMs: 1, settleMs: 5, onConnectionsCut: (finish) => finish() })
    expect((await shutDown(deps)).lost).toBe(0)
    expect(story.at(-1)).toBe('Stopped. 3 requests, 0 lost.')
  })

  it('does not wait for the settling after a third signal', async () => {
    const { deps, signal } = fixture(1)
    const ended = shutDown(deps)
    await turn()
    signal()
    await turn()
    signal()
    expect((await ended).lost).toBe(1)
  })
})
