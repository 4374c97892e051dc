import { expect, it } from 'vitest'
import { openBrowser, signUp } from '../../support/console-session.ts'
import { openRawSocket } from '../../support/raw-socket.ts'
import { onPostgres } from '../../support/server-on-postgres.ts'
import { startServer } from '../../support/start-server.ts'
import { openAccount } from '../../support/test-account.ts'
import { useServer } from '../../support/use-server.ts'

const server = useServer()

const TURN = '{"model":"swift","messages":[{"role":"user","content":"hi"}]}'

/** The head of an act as a page of the console sends it. */
const actOf = (path: string, lines: readonly string[], port = server().port): string =>
  [
    `POST ${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    `origin: http://127.0.0.1:${port}`,
    'content-type: application/json',
    ...lines,
    '\r\n',
  ].join('\r\n')

it('a malformed body gets an answer, and the connection closes', async () => {
  const socket = await openRawSocket(server())
  socket.write(`${actOf('/console/api/session', ['transfer-encoding: chunked'])}ZZZZ\r\n`)
  await socket.closed
  expect(socket.received).toMatch(/^HTTP\/1\.1 400 /)
  expect(socket.received).toContain('malformed_request')
})

it.each(['{"email":', ''])('a truncated body gets an answer, and the connection closes: %j', async (begun) => {
  const socket = await openRawSocket(server())
  socket.write(actOf('/console/api/session', ['content-length: 100']) + begun)
  socket.closeOwnHalf()
  await socket.closed
  expect(socket.received).toMatch(/^HTTP\/1\.1 400 /)
  expect(socket.received).toContain('malformed_request')
})

it('Expect: 100-continue is honored', async () => {
  const socket = await openRawSocket(server())
  const body = '{"email":"a@b.example","password":"x"}'
  const lines = ['expect: 100-continue', `content-length: ${body.length}`]
  socket.write(actOf('/console/api/session', lines))
  expect((await socket.answer()).status).toBe(100)
  socket.write(body)
  expect((await socket.answer()).status).toBe(403)
  socket.destroy()
})

it.each(['http://user:word@127.0.0.1', 'http://127.0.0.1:99999', 'http://evil.example', 'http://['])(
  'an absolute-form target (%s) is served by its path',
  async (named) => {
    const socket = await openRawSocket(server())
    socket.write(`GET ${named}/console/api/session HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`)
    expect((await socket.answer()).status).toBe(200)
    socket.destroy()
  },
)

it('a body that is not JSON, or has another content type, is refused', async () => {
  const browser = openBrowser(server())
  const broken = await browser.send('POST /session', { body: '{"email":' })
  expect([broken.status, broken.error?.code, broken.error?.message]).toEqual([
    ...[400, 'invalid_arguments', 'The body is not JSON.'],
  ])
  for (const type of ['text/plain', 'application/jsonp', undefined]) {
    const reported = await browser.send('POST /session', { body: '{}', headers: { 'content-type': type } })
    expect([reported.status, reported.error?.code], type).toEqual([415, 'json_needed'])
  }
})

it('an internal error shows the request id and no details', async () => {
  const other = await startServer()
  try {
    const account = await openAccount(other)
    const owner = await signUp(other, { email: 'owner@fault.example', account: account.id })
    await other.app.operations.db.schema.dropTable(onPostgres ? 'millrace.wishes' : 'wishes').execute()
    const reported = await owner.send('GET /wallet')
    expect([reported.status, reported.error?.code]).toEqual([500, 'internal_error'])
    expect(reported.error?.request_id).toBe(reported.headers.get('x-request-id'))
    expect(reported.text).not.toMatch(/wishes|SQL/i)
    expect((await owner.send('GET /session')).status).toBe(200)
  } finally {
    await other.close()
  }
})

it('prototype names are not playground endpoints', async () => {
  const account = await openAccount(server())
  const owner = await signUp(server(), { email: 'owner@hostile.example', account: account.id })
  for (const name of ['constructor', 'toString', '__proto__', 'responses/compact']) {
    const response = await fetch(`http://127.0.0.1:${server().port}/console/api/playground/${name}`, {
      method: 'POST',
      headers: {
        ...{ 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
        ...{ cookie: owner.cookie!, 'x-csrf-token': owner.csrf! },
      },
      body: TURN,
    })
    expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([
      404,
      'not_found',
    ])
  }
  expect(await account.receipts()).toEqual([])
})

it('a stopping server starts no playground turn on an open connection', async () => {
  const other = await startServer()
  try {
    const account = await openAccount(other)
    const owner = await signUp(other, { email: 'owner@drain.example', account: account.id })
    const socket = await openRawSocket(other)
    const lines = [`cookie: ${owner.cookie}`, `x-csrf-token: ${owner.csrf}`, `content-length: ${TURN.length}`]
    const whole = actOf('/console/api/playground/chat/completions', lines, other.port) + TURN
    socket.write(whole.slice(0, 40))
    // When the server has answered a later request, it has begun to read this one.
    await owner.call('GET /session')
    void other.serving.stopAccepting()
    socket.write(whole.slice(40))
    await socket.closed
    expect(socket.received).toMatch(/^HTTP\/1\.1 503 /)
    expect(socket.received).toContain('server_draining')
    expect(await account.receipts()).toEqual([])
  } finally {
    await other.close()
  }
})
