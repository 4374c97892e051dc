import { describe, expect, it } from 'vitest'
import { expectProblem } from '../support/expect-problem.ts'
import { fillDiskFor } from '../support/full-disk.ts'
import { readMetrics } from '../support/read-metrics.ts'
import { framesOf } from '../support/read-stream.ts'
import { chat, get, hello, send } from '../support/send-chat.ts'
import { onPostgres } from '../support/server-on-postgres.ts'
import { openAccount } from '../support/test-account.ts'
import { until } from '../support/until.ts'
import { useServer } from '../support/use-server.ts'

describe('a ledger write outage', () => {
  const server = useServer()

  let makeRoom = async () => {}
  /** The disk is full for every batch with such a change: nothing of it is recorded. */
  const breakOn = async (change: 'INSERT' | 'UPDATE') => {
    makeRoom = await fillDiskFor(server().app.operations.db, `${change} ON receipts`)
  }
  const repair = async () => {
    await makeRoom()
    await until(() => server().app.ledgerAvailable())
  }

  /** By outcome; refusals before admission run none. */
  const turnsEnded = async (): Promise<Record<string, number>> => {
    const series = Object.entries(await readMetrics(server()))
    const turns = series.flatMap(([name, count]) => {
      const outcome = /^millrace_turns_total.*outcome="(\w+)"/.exec(name)?.[1]
      return outcome === undefined || outcome === 'refused' || count === 0 ? [] : [[outcome, count] as const]
    })
    return Object.fromEntries(turns)
  }

  it('is answered with ledger_unavailable, charges nothing, and recovers by itself', async () => {
    const account = await openAccount(server())
    const before = await account.wallet()
    await breakOn('INSERT')
    for (const body of [{}, { stream: true }]) {
      const answer = await chat(server(), account, body)
      expectProblem(answer, 'ledger_unavailable')
      expect(answer.headers.get('retry-after')).toBe('2')
      await until(() => server().app.ledgerAvailable())
    }
    await repair()
    expect(await account.wallet()).toEqual(before)
    // In the file a hold is written while the provider works: the JSON answer was whole when it failed, the stream was withheld.
    // PostgreSQL places the hold first, and refuses it.
    expect(await turnsEnded()).toEqual(onPostgres ? {} : { ledger_unavailable: 2 })
    expect((await chat(server(), account)).status).toBe(200)
    expect(await account.receipts()).toHaveLength(1)
    await until(async () => (await turnsEnded()).completed === 1)
  })

  it('does not leak concurrency slots', async () => {
    const account = await openAccount(server())
    const made = await account.createKey({ limits: { concurrent: 1 } })
    await breakOn('INSERT')
    expectProblem(await chat(server(), made), 'ledger_unavailable')
    await repair()
    expect((await chat(server(), made)).status).toBe(200)
    expect((await chat(server(), made)).status).toBe(200)
  })

  it('lets a running answer end: its charge goes to the journal and is recorded later', async () => {
    const account = await openAccount(server())
    const response = await send(server(), account, {
      model: 'calm',
      stream: true,
      stream_options: { include_usage: true },
      messages: hello('count to 5'),
    })
    await breakOn('UPDATE')
    const frames: string[] = []
    for await (const frame of framesOf(response)) frames.push(frame)
    expect(frames.at(-1)).toBe('data: [DONE]')
    const usage = JSON.parse(frames.at(-2)!.slice('data: '.length)).usage
    const { json: before } = await get(server(), account, `/requests/${response.headers.get('x-request-id')}`)
    expect(before).toMatchObject({ state: 'open' })

    await repair()
    const { json } = await get(server(), account, `/requests/${response.headers.get('x-request-id')}`)
    expect(json).toMatchObject({ outcome: 'completed', charge: usage.millrace.charge })
    expect((await chat(server(), account)).status).toBe(200)
  })

  it('is answered with ledger_unavailable where a run could not be recorded', async () => {
    const account = await openAccount(server())
    const ask = () => chat(server(), account, {}, { headers: { 'x-millrace-run': 'one' } })
    makeRoom = await fillDiskFor(server().app.operations.db, 'INSERT ON runs')
    expectProblem(await ask(), 'ledger_unavailable')
    await makeRoom()
    expect((await ask()).status).toBe(200)
    expect(await account.receipts()).toHaveLength(1)
  })

  it('makes /readyz fail while it lasts', async () => {
    const account = await openAccount(server())
    await breakOn('INSERT')
    expectProblem(await chat(server(), account), 'ledger_unavailable')
    await repair()
    const ready = await fetch(`${server().baseUrl.replace('/v1', '')}/readyz`)
    expect(await ready.json()).toEqual({ status: 'ready' })
  })
})
