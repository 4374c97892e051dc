import { composeBody } from './body-grammar.mjs'
import { composeJunk } from './junk-grammar.mjs'

const PATHS = [
  ...['/v1/chat/completions', '/v1/responses', '/v1/responses/compact', '/v1/models', '/v1/models/fuzz', '/v1/key'],
  ...['/v1/responses/resp_00000000000000000000000000', '/v1/requests/req_00000000000000000000000000', '/v1'],
  ...['/healthz', '/readyz', '/', '/v1/embeddings', '/v1/responses/', '/v1/models/', '/metrics', '/v1/audio/speech'],
]
const TURNS = ['/v1/chat/completions', '/v1/responses', '/v1/responses/compact']
const METHODS = ['GET', 'POST', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE', 'PROPFIND', 'QUERY']
const PATH_PIECES = [
  '..',
  '.',
  '%2e%2e',
  '%00',
  '%',
  '%zz',
  '%c3%28',
  '//',
  ';',
  '\\',
  '~',
  'a'.repeat(5000),
  '%F0%9F%99%82',
  '@',
  ':',
]
const QUERIES = [
  '?',
  '?a=b',
  '?stream=true&starting_after=-1',
  '?starting_after=9e99',
  '?%00=%',
  '?include[]=x&include=y',
  `?${'q'.repeat(4000)}`,
]

/** What is sent, whether it is one whole request, and of which kind it was. */
export function composeRequest(random, about) {
  if (random.chance(0.12)) return composeJunk(random, about)
  return random.chance(0.75) ? composeTurn(random, about) : composeOther(random, about)
}

function composeTurn(random, about) {
  const path = random.chance(0.97) ? random.pick(TURNS) : mutatePath(random, random.pick(TURNS))
  const { bytes, headers: bodyHeaders, kind, compacts } = composeBody(random, path)
  const headers = [...headersOf(random, about), ...bodyHeaders]
  return { ...frame(random, { method: 'POST', path, headers, bytes, kind }), compacts }
}

function composeOther(random, about) {
  const method = random.chance(0.6) ? 'GET' : random.pick(METHODS)
  const path = random.chance(0.6) ? random.pick(PATHS) : mutatePath(random, random.pick(PATHS))
  const bytes = random.chance(0.2) ? Buffer.from('{"a":1}') : undefined
  return frame(random, { method, path, headers: headersOf(random, about), bytes, kind: 'another path or method' })
}

function mutatePath(random, path) {
  const parts = path.split('/')
  const times = 1 + random.below(2)
  for (let time = 0; time < times; time++)
    parts.splice(random.below(parts.length + 1), random.below(2), random.pick(PATH_PIECES))
  const mutated = parts.join('/') + (random.chance(0.3) ? random.pick(QUERIES) : '')
  return mutated.startsWith('/') ? mutated : `/${mutated}`
}

function headersOf(random, { key }) {
  const headers = [
    ['host', random.chance(0.98) ? '127.0.0.1' : random.pick(['', 'a b', '[::1', 'x'.repeat(300), 'evil.example'])],
  ]
  headers.push(...authorization(random, key))
  if (random.chance(0.12)) headers.push(['idempotency-key', idempotencyKey(random)])
  if (random.chance(0.1)) headers.push(random.pick(ODD_HEADERS)(random))
  return headers
}

function authorization(random, key) {
  const dice = random.below(100)
  if (dice < 88) return [['authorization', `Bearer ${key}`]]
  if (dice < 90) return []
  if (dice < 91)
    return [
      ['authorization', `Bearer ${key}`],
      ['authorization', `Bearer ${key}`],
    ]
  const wrong = [
    `bearer ${key}`,
    `Bearer  ${key} `,
    `Bearer ${key}x`,
    `Bearer ${key.slice(0, -1)}`,
    key,
    'Basic YTpi',
    'Bearer',
    'Bearer ',
  ]
  const odd = [
    `Bearer ' OR 1=1 --`,
    `Bearer ${'k'.repeat(3000)}`,
    'Bearer \u00e4\u00ff',
    `Bearer ${key}, Bearer ${key}`,
    'Bearer __proto__',
  ]
  return [['authorization', random.pick([...wrong, ...odd])]]
}

const idempotencyKey = (random) =>
  random.pick([
    `k-${random.below(50)}`,
    `k-${random.below(1e9)}`,
    '',
    ' ',
    'x'.repeat(255),
    'x'.repeat(256),
    '\u00ff',
    '"quoted"',
    '__proto__',
  ])

const ODD_HEADERS = [
  () => ['expect', '100-continue'],
  () => ['expect', 'the-impossible'],
  () => ['upgrade', 'websocket'],
  () => ['upgrade', 'h2c'],
  () => ['connection', 'close'],
  () => ['connection', 'keep-alive, x-foo'],
  () => ['origin', 'https://evil.example'],
  () => ['x-request-id', '\u00e4'.repeat(100)],
  () => ['x-forwarded-for', '1.2.3.4, garbage, ::1'],
  () => ['accept', 'text/html;q=0.1, */*'],
  () => ['accept-encoding', 'br, gzip;q=nan'],
  () => ['cookie', 'a='.repeat(500)],
  () => ['__proto__', 'x'],
  () => ['constructor', 'x'],
  () => ['transfer-encoding', 'identity'],
  () => ['te', 'trailers, deflate'],
  (random) => ['x-long', 'l'.repeat(random.below(20_000))],
  (random) => [`x-${random.below(1000)}`, ''],
]

/** The bytes of a request: as they should be, or in chunks, in as many writes as there are. */
function frame(random, { method, path, headers, bytes, kind }) {
  const isChunked = bytes !== undefined && random.chance(0.1)
  const framing =
    bytes === undefined ? [] : isChunked ? [['transfer-encoding', 'chunked']] : [['content-length', bytes.length]]
  const head = [`${method} ${path} HTTP/1.1`, ...[...headers, ...framing].map(([name, value]) => `${name}: ${value}`)]
  const start = Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1')
  const body = bytes === undefined ? Buffer.alloc(0) : isChunked ? chunked(random, bytes) : bytes
  const isTwiceFramed = isChunked && headers.some(([name]) => name === 'transfer-encoding')
  const whole = Buffer.concat([start, body])
  return {
    kind: isTwiceFramed ? `${kind}, framed twice` : kind,
    pieces: cut(random, whole),
    isWhole: true,
    isHead: method === 'HEAD',
  }
}

function chunked(random, bytes) {
  const parts = []
  for (let at = 0; at < bytes.length; ) {
    const size = 1 + random.below(Math.max(1, Math.floor(bytes.length / 2)))
    const part = bytes.subarray(at, at + size)
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'))
    at += size
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')])
}

function cut(random, bytes) {
  if (!random.chance(0.05)) return [bytes]
  const at = [random.below(bytes.length), random.below(bytes.length)].sort((one, other) => one - other)
  return [bytes.subarray(0, at[0]), bytes.subarray(at[0], at[1]), bytes.subarray(at[1])].filter(
    ({ length }) => length > 0,
  )
}
