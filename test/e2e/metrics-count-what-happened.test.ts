import { beforeAll, describe, expect, it } from 'vitest'
import { openRawSocket } from '../support/raw-socket.ts'
import { chat } from '../support/send-chat.ts'
import { openAccount } from '../support/test-account.ts'
import { useServer } from '../support/use-server.ts'

describe('metrics', () => {
  const server = useServer()
  let port: number
  beforeAll(async () => {
    const listening = await server().serving.listenMetrics({ host: '127.0.0.1', port: 0 })
    if (listening.kind !== 'listening') throw new Error(listening.kind)
    port = listening.port
  })

  const series = async (): Promise<Map<string, number>> => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]))
  }

  it('count two ledger operations for a turn and one for a credit; garbage on a socket is no request', async () => {
    const account = await openAccount(server())
    await chat(server(), account)
    const socket = await openRawSocket(server())
    socket.write('hello\r\n\r\n')
    expect((await socket.answer()).status).toBe(400)
    const counted = await series()
    expect(counted.get('millrace_ledger_batch_operations_sum')).toBe(3)
    const requests = [...counted].filter(([name]) => name.startsWith('millrace_http_requests_total'))
    expect(requests).toEqual([['millrace_http_requests_total{endpoint="/v1/chat/completions",status="200"}', 1]])
    expect(server().serving.requestsServed).toBe(1)
  })

  it('are all that the metrics port serves', async () => {
    for (const path of ['/', '/v1/models', '/metrics/x']) {
      const reported = await fetch(`http://127.0.0.1:${port}${path}`)
      expect([reported.status, await reported.text()]).toEqual([404, 'Metrics are at /metrics\n'])
    }
    const page = await fetch(`http://127.0.0.1:${port}/metrics?x=y`)
    expect([page.status, (await page.text()).includes('millrace_build_info')]).toEqual([200, true])
  })

  it('show where the audit log ends, as verify does', async () => {
    await openAccount(server())
    const { audited, audit_head } = await server().operate('db.verify', {})
    const ends = [...(await series())].filter(([name]) => name.startsWith('millrace_audit_trail'))
    expect(ends).toEqual([
      ['millrace_audit_trail_rows', audited],
      ['millrace_audit_trail_head', Number(`0x${audit_head.slice(0, 12)}`)],
    ])
    expect(audited).toBeGreaterThan(0)
  })
})
