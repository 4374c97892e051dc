import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import {
  ask,
  COMPLETED,
  chatRequest,
  closeTestEdges,
  connectRaw,
  getRequest,
  head,
  later,
  openTestEdge,
} from '../../test/fixtures/server/edge.ts'

afterEach(closeTestEdges)

it('no keep-alive is made for a client that disconnected before its turn began', async () => {
  const [asked, found, ended] = [later<void>(), later<void>(), later<void>()]
  let comments = 0
  const { port } = await openTestEdge({
    async lookUpAnswer() {
      asked.come()
      await found.comes
      return { kind: 'first', claim: { scope: '', fingerprint: '', expiresAt: 0 }, release() {} }
    },
    async serveTurn({ sink }) {
      sink.onSilence(() => {
        comments += 1
        return undefined
      })
      await ended.comes
      sink.end(Buffer.from('data: [DONE]\n\n'))
      return COMPLETED
    },
    options: { stream: { headDelayMs: 10, keepAliveMs: 10 } },
  })
  const client = connectRaw(port)
  client.send(chatRequest({ headers: ['idempotency-key: one'], body: '{"stream":true}' }))
  await asked.comes
  client.socket.resetAndDestroy()
  for (let times = 0; times < 2; times++) await ask(port, getRequest('/healthz'))
  found.come()
  await sleep(100)
  ended.come()
  expect(comments).toBe(0)
})

it('a file behind another answer is not made any further after a disconnect', async () => {
  const [begun, over] = [later<void>(), later<void>()]
  async function* pieces() {
    try {
      for (;;) {
        begun.come()
        yield Buffer.alloc(64 * 1024, 'x')
      }
    } finally {
      over.come()
    }
  }
  const file = () => new Response(ReadableStream.from(pieces()), { headers: { 'content-type': 'text/csv' } })
  const { edge, port } = await openTestEdge({
    accountStatus: () => new Promise(() => {}),
    console: {
      site: { publicUrl: undefined, hosts: ['test'], allowHttp: true },
      files: async () => ({ find: () => undefined, page: undefined }),
      api: { fetch: file },
      sessions: { find: async () => undefined },
      devices: { remember: () => '' },
      signOn: {
        begin: async () => ({ kind: 'refused', problem: 'unknown_provider' }),
        finish: async () => ({ kind: 'refused', problem: 'expired', confirms: false }),
      },
      addressLimiter: { take: () => ({ kind: 'taken' }) },
      findPlaygroundCaller: async () => ({ kind: 'refused', reason: 'unknown' }),
    },
  })
  const client = connectRaw(port)
  client.send(Buffer.concat([getRequest('/v1/key'), head({ target: '/console/api/file' })]))
  await begun.comes
  client.socket.resetAndDestroy()
  await over.comes
  await edge.stopAccepting()
})
