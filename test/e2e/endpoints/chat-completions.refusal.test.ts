import { readFile } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, it } from 'vitest'
import { PROBLEMS, type ProblemCode } from '../../../src/model/problem.ts'
import { expectProblem } from '../../support/expect-problem.ts'
import { fillDiskFor } from '../../support/full-disk.ts'
import { openRawSocket } from '../../support/raw-socket.ts'
import { readStream } from '../../support/read-stream.ts'
import { type Answer, answerOf, chat, hello, type SendOptions, send } from '../../support/send-chat.ts'
import { startServer } from '../../support/start-server.ts'
import { openAccount } from '../../support/test-account.ts'
import { TEST_CONFIG } from '../../support/test-config.ts'
import { until } from '../../support/until.ts'
import { useServer } from '../../support/use-server.ts'

/** What this file does not provoke itself, with the test that does: other endpoints, plans, and providers that fail. */
const ELSEWHERE: Partial<Record<ProblemCode, string>> = {
  context_length_exceeded: 'test/e2e/faults/fault-table.ts',
  previous_response_not_found: 'test/e2e/responses/previous-response-id.test.ts',
  item_not_found: 'test/e2e/responses/previous-response-id.test.ts',
  invalid_encrypted_content: 'test/e2e/reasoning/reasoning-comes-back-to-responses-clients.test.ts',
  insufficient_scope: 'test/e2e/security/matrix.long.test.ts',
  response_cancelled: 'test/e2e/responses/followed-streams.test.ts',
  response_not_found: 'test/e2e/responses/stored-response-access.test.ts',
  key_spend_cap_reached: 'test/e2e/plans/allowance-edge.test.ts',
  person_spend_cap_reached: 'test/e2e/plans/shared-caps.test.ts',
  team_budget_reached: 'test/e2e/plans/shared-caps.test.ts',
  run_budget_exceeded: 'test/e2e/plans/runs.test.ts',
  run_required: 'test/e2e/plans/key-runs.test.ts',
  quota_reached: 'test/e2e/plans/shared-caps.test.ts',
  quota_in_flight: 'test/e2e/plans/shared-caps.test.ts',
  request_exceeds_allowance: 'test/e2e/plans/allowance-edge.test.ts',
  allowance_exhausted: 'test/e2e/plans/allowance-edge.test.ts',
  upstream_rejected: 'test/e2e/faults/fault-table.ts',
  upstream_busy: 'test/e2e/faults/failover-order.test.ts',
  upstream_timeout: 'test/e2e/faults/failover-order.test.ts',
  upstream_error: 'test/e2e/faults/failover-order.test.ts',
  provider_misconfigured: 'test/e2e/faults/fault-row.ts',
  content_filter: 'test/e2e/faults/fault-table.ts',
  invalid_prompt: 'src/gateway/upstream-errors.provider-refusal.test.ts',
  bio_policy: 'src/gateway/upstream-errors.provider-refusal.test.ts',
  cyber_policy: 'src/gateway/upstream-errors.provider-refusal.test.ts',
  insufficient_quota: 'src/gateway/upstream-errors.provider-refusal.test.ts',
  server_is_overloaded: 'test/e2e/overload/concurrency-limit.test.ts',
  no_lane_available: 'src/gateway/open-circuits.test.ts',
  request_not_found: 'test/e2e/endpoints/requests.refusal.test.ts',
  run_not_found: 'test/e2e/plans/runs.test.ts',
  internal_error: 'src/server/sinks.test.ts',
}

const refused = new Set<ProblemCode>()

/** Checks the whole envelope, and notes that the code has been seen. */
function expectRefusal(answer: Answer, code: ProblemCode, expected: Parameters<typeof expectProblem>[2] = {}): void {
  expectProblem(answer, code, expected)
  refused.add(code)
}

describe('POST /v1/chat/completions refuses', () => {
  const server = useServer()

  const emitted = (request: string) => async () => {
    const socket = await openRawSocket(server())
    socket.write(request)
    const answer = await socket.answer()
    socket.destroy()
    return answer
  }
  const HEAD = 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n'

  describe('because of the body', () => {
    const bodies: readonly (readonly [ProblemCode, object | string | Buffer, string | null])[] = [
      ['invalid_json', '', null],
      ['invalid_json', '{"model":"swift",}', null],
      ['invalid_json', '[]', null],
      ['invalid_json', 'null', null],
      ['invalid_json', '{} {}', null],
      ['invalid_json', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), null],
      ['missing_required_parameter', {}, 'model'],
      ['missing_required_parameter', { model: '' }, 'model'],
      ['missing_required_parameter', { model: 'swift' }, 'messages'],
      ['missing_required_parameter', { model: 'swift', messages: [{}] }, 'messages[0].role'],
      ['missing_required_parameter', { model: 'swift', messages: [{ role: 'user' }] }, 'messages[0].content'],
      ['invalid_type', { model: 5 }, 'model'],
      ['invalid_type', { model: 'swift', messages: ['Hi'] }, 'messages[0]'],
      ['invalid_type', { model: 'swift', messages: [{ role: 'user', content: 5 }] }, 'messages[0].content'],
      ['invalid_type', { model: 'swift', messages: [{ role: 'user', content: [5] }] }, 'messages[0].content[0]'],
      ['invalid_value', { model: 'swift', messages: [] }, 'messages'],
      ['invalid_value', { model: 'swift', messages: [{ role: 'owner', content: '' }] }, 'messages[0].role'],
      ['invalid_value', { model: 'swift', messages: hello(), top_p: 2 }, 'top_p'],
      ['unsupported_parameter', { model: 'swift', messages: hello(), models: ['calm'] }, 'models'],
      ['unsupported_parameter', { model: 'swift', messages: hello(), Stream: true }, 'Stream'],
      ['unsupported_value', { model: 'swift', messages: hello(), service_tier: 'priority' }, 'service_tier'],
      ['unsupported_value', { model: 'swift', messages: hello(), n: 2 }, 'n'],
      ['unsupported_value', { model: 'swift', messages: hello(), reasoning_effort: 'max' }, 'reasoning_effort'],
      [
        'unsupported_content',
        {
          model: 'swift',
          messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://x' } }] }],
        },
        'messages[0].content[0]',
      ],
      [
        'unsupported_content',
        { model: 'swift', messages: [{ role: 'user', content: [{ type: 'hologram' }] }] },
        'messages[0].content[0]',
      ],
      [
        'reasoning_effort_conflict',
        { model: 'swift-low', reasoning_effort: 'high', messages: hello() },
        'reasoning_effort',
      ],
      ['duplicate_field', '{"model":"swift","model":"swift"}', 'model'],
      ['model_not_found', { model: 'nowhere', messages: hello() }, 'model'],
      ['request_too_large', `{"model":${'['.repeat(100)}${']'.repeat(100)}}`, null],
    ]

    it.each(bodies)('%s %j', async (code, body, param) => {
      const account = await openAccount(server())
      expectRefusal(await answerOf(await send(server(), account, body)), code, { param })
      expect(await account.receipts()).toEqual([])
    })

    it('unsupported_tool when a hosted tool is forced', async () => {
      const account = await openAccount(server())
      const answer = await chat(server(), account, {
        tools: [{ type: 'web_search' }],
        tool_choice: { type: 'web_search' },
      })
      expectRefusal(answer, 'unsupported_tool')
    })

    it('with status and JSON for stream requests too', async () => {
      const account = await openAccount(server())
      expectRefusal(await chat(server(), account, { stream: true, temperature: 3 }), 'invalid_value')
      expectRefusal(await chat(server(), account, { stream: true, model: 'nowhere' }), 'model_not_found')
    })
  })

  describe('because of the headers', () => {
    const heads: readonly (readonly [ProblemCode, SendOptions['headers'], RegExp])[] = [
      ['missing_api_key', { authorization: '' }, /Authorization: Bearer/],
      ['invalid_api_key', { authorization: 'Bearer sk-123' }, /mistyped/],
      ['unsupported_media_type', { 'content-type': 'text/plain' }, /application\/json/],
      ['unsupported_media_type', { 'content-type': 'application/json; charset=latin1' }, /UTF-8/],
      ['unsupported_media_type', { 'content-encoding': 'lzma' }, /gzip/],
      ['browser_not_allowed', { origin: 'https://evil.example.com' }, /web page/],
      ['idempotency_key_invalid', { 'idempotency-key': 'two words' }, /visible ASCII/],
    ]

    it.each(heads)('%s for %j', async (code, headers, message) => {
      const account = await openAccount(server())
      expectRefusal(await chat(server(), account, {}, { headers: { ...headers } }), code, { message })
    })

    it.each([
      ['malformed_request', 'POST /v1/chat/completions HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}'],
      ['malformed_request', 'nonsense\r\n\r\n'],
      ['malformed_request', `${HEAD}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n`],
      ['duplicate_header', `${HEAD}authorization: Bearer a\r\nauthorization: Bearer b\r\ncontent-length: 0\r\n\r\n`],
      ['duplicate_header', `${HEAD}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`],
      ['duplicate_header', `${HEAD}content-type: a/b\r\ncontent-type: application/json\r\ncontent-length: 0\r\n\r\n`],
      ['expectation_failed', `${HEAD}expect: miracles\r\ncontent-length: 0\r\n\r\n`],
      ['websocket_not_supported', `${HEAD}upgrade: websocket\r\nconnection: upgrade\r\n\r\n`],
      ['headers_too_large', `${HEAD}x-filler: ${'x'.repeat(40_000)}\r\n\r\n`],
      ['method_not_allowed', 'GET /v1/chat/completions HTTP/1.1\r\nhost: x\r\n\r\n'],
      ['method_not_allowed', 'DELETE /v1/chat/completions HTTP/1.1\r\nhost: x\r\n\r\n'],
      ['endpoint_not_provided', 'POST /v1/chat/completion HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n'],
      ['endpoint_not_provided', 'POST /chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n'],
    ] as const)('%s for %j', async (code, request) => {
      expectRefusal(await emitted(request)(), code)
    })

    it('request_too_large by decompressed size', async () => {
      const account = await openAccount(server())
      const bomb = gzipSync(Buffer.alloc(8 * 1024 * 1024, '['))
      const answer = await answerOf(await send(server(), account, bomb, { headers: { 'content-encoding': 'gzip' } }))
      expectRefusal(answer, 'request_too_large', { message: /100 times/ })
    })
  })

  describe('because of the account or key', () => {
    it('insufficient_balance with the affordable number of tokens', async () => {
      const account = await openAccount(server(), { credit: '0.05' })
      const answer = await chat(server(), account, { model: 'paid', max_tokens: 100 })
      expectRefusal(answer, 'insufficient_balance', { message: /max_tokens to 50 or less/ })
      expectRefusal(await chat(server(), account, { model: 'paid' }), 'insufficient_balance', { message: /0\.05/ })
    })

    it('balance_in_flight when running requests hold the balance', async () => {
      const account = await openAccount(server(), { credit: '0.002' })
      const body = { model: 'calm', stream: true, max_tokens: 4000, messages: hello('count to 20') }
      const running = await send(server(), account, body)
      expectRefusal(await chat(server(), account, { ...body, stream: false }), 'balance_in_flight')
      await readStream(running)
    })

    it('subscription_inactive for a builder key without a plan', async () => {
      const account = await openAccount(server())
      expectRefusal(await chat(server(), await account.createKey({ kind: 'builder' })), 'subscription_inactive')
    })

    it('account_suspended', async () => {
      const account = await openAccount(server())
      const { db } = server().app.operations
      await db.updateTable('accounts').set({ status: 'suspended' }).where('id', '=', account.id).execute()
      expectRefusal(await chat(server(), account), 'account_suspended')
    })

    it('key_address_not_allowed', async () => {
      const account = await openAccount(server())
      const made = await account.createKey({ addresses: ['203.0.113.0/24'] })
      expectRefusal(await chat(server(), made), 'key_address_not_allowed')
    })

    it('rate_limit_exceeded and request_too_large_for_limit', async () => {
      const account = await openAccount(server())
      const made = await account.createKey({ limits: { requests_per_minute: 1, tokens_per_minute: 100 } })
      expectRefusal(await chat(server(), made, { max_tokens: 500 }), 'request_too_large_for_limit')
      expect((await chat(server(), made, { max_tokens: 5 })).status).toBe(200)
      expectRefusal(await chat(server(), made, { max_tokens: 5 }), 'rate_limit_exceeded')
    })
  })

  describe('because of the idempotency key', () => {
    const keyed = (key: string) => ({ headers: { 'idempotency-key': key } })

    it('idempotency_in_progress and idempotency_key_reused', async () => {
      const account = await openAccount(server())
      const body = { model: 'calm', messages: hello('count to 60') }
      const running = chat(server(), account, body, keyed('one'))
      await until(async () => (await account.receipts()).length === 1)
      const again = await chat(server(), account, body, keyed('one'))
      expectRefusal(again, 'idempotency_in_progress')
      expect(again.headers.get('retry-after')).toBe('2')
      expectRefusal(await chat(server(), account, {}, keyed('one')), 'idempotency_key_reused')
      expect((await running).status).toBe(200)
      expectRefusal(await chat(server(), account, {}, keyed('one')), 'idempotency_key_reused')
      expect(await account.receipts()).toHaveLength(1)
    })

    it('idempotency_not_replayable when the answer was not kept', async () => {
      const forgetful = await startServer({ config: `${TEST_CONFIG}\nretention: { idempotency_bytes: 0 }\n` })
      const account = await openAccount(forgetful)
      expect((await chat(forgetful, account, {}, keyed('one'))).status).toBe(200)
      expectRefusal(await chat(forgetful, account, {}, keyed('one')), 'idempotency_not_replayable')
      expect(await account.receipts()).toHaveLength(1)
      await forgetful.close()
    })
  })

  describe('because of the server’s state', () => {
    it('ledger_unavailable', async () => {
      const account = await openAccount(server())
      const { db } = server().app.operations
      const makeRoom = await fillDiskFor(db, 'INSERT ON receipts')
      expectRefusal(await chat(server(), account), 'ledger_unavailable')
      await makeRoom()
      await until(() => server().app.ledgerAvailable())
    })

    it('server_draining', async () => {
      const stopping = await startServer()
      const account = await openAccount(stopping)
      const answer = chat(stopping, account, { model: 'calm', messages: hello('count to 5000') })
      await until(async () => (await account.receipts()).length === 1)
      stopping.serving.abortTurns()
      expectRefusal(await answer, 'server_draining')
      await stopping.close()
    })

    it('request_timeout', async () => {
      const hasty = await startServer({
        config: `${TEST_CONFIG}\nbounds: { header_timeout: 100ms, request_timeout: 200ms }\n`,
      })
      const account = await openAccount(hasty)
      const socket = await openRawSocket(hasty)
      const auth = `authorization: Bearer ${account.key}\r\ncontent-type: application/json\r\n`
      socket.write(`${HEAD}${auth}content-length: 100\r\n\r\n{"model":`)
      expectRefusal(await socket.answer(), 'request_timeout')
      await hasty.close()
    })
  })

  it.each(Object.entries(ELSEWHERE))('%s is tested in %s', async (code, path) => {
    expect(await readFile(new URL(`../../../${path}`, import.meta.url), 'utf8')).toMatch(new RegExp(`['" ]${code}['"]`))
  })

  afterAll(() => {
    const silent = Object.keys(PROBLEMS).filter((code) => !refused.has(code as ProblemCode) && !(code in ELSEWHERE))
    expect(silent, 'codes that no test has provoked').toEqual([])
    const both = [...refused].filter((code) => code in ELSEWHERE)
    expect(both, 'codes that are listed as met elsewhere, and are met here').toEqual([])
  })
})
