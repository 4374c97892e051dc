const NOTHING_GOOD = [
  '\r\n\r\n\r\n',
  '\0\0\0\0',
  'GET\r\n\r\n',
  'GET / HTTP/9.9\r\n\r\n',
  'GET / HTTP/1.0\r\n\r\n',
  'GET  / HTTP/1.1\r\nhost: a\r\n\r\n',
  'get /healthz HTTP/1.1\r\nhost: a\r\n\r\n',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  'CONNECT 10.0.0.1:443 HTTP/1.1\r\nhost: 10.0.0.1\r\n\r\n',
  'OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n',
  'GET http://evil.example/v1/key HTTP/1.1\r\nhost: evil.example\r\n\r\n',
  'POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n{}',
  'POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: 99999999999999999999\r\n\r\n{}',
  'POST /v1/responses HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n0\r\n\r\n',
  'POST /v1/responses HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n',
  'GET /healthz HTTP/1.1\r\nhost : a\r\n\r\n',
  'GET /healthz HTTP/1.1\r\nhost: a\r\n folded\r\n\r\n',
  'GET /healthz HTTP/1.1\nhost: a\n\n',
  'GET /healthz HTTP/1.1\r\nhost: a\r\nx\r\n\r\n',
  `GET /healthz HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`,
  `GET /${'y'.repeat(40_000)} HTTP/1.1\r\nhost: a\r\n\r\n`,
]

/** What is no whole request, or may not be one: a head that was spoiled, a body that is not as long as it says. */
export function composeJunk(random, { key }) {
  const bytes = random.chance(0.3)
    ? Buffer.from(random.pick(NOTHING_GOOD), 'latin1')
    : spoil(random, honest(random, key))
  return { kind: 'junk', pieces: [bytes], isWhole: false, isHead: /^HEAD /.test(bytes.toString('latin1', 0, 5)) }
}

function honest(random, key) {
  const body = JSON.stringify({ model: 'fuzz', messages: [{ role: 'user', content: 'x'.repeat(random.below(200)) }] })
  const headers = ['host: a', `authorization: Bearer ${key}`, 'content-type: application/json']
  const length = random.chance(0.7) ? body.length : random.below(2 * body.length)
  const head = ['POST /v1/chat/completions HTTP/1.1', ...headers, `content-length: ${length}`]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`, 'latin1')
}

const BYTES = [0, 9, 10, 13, 32, 34, 37, 44, 47, 58, 123, 127, 128, 255]

function spoil(random, bytes) {
  let spoilt = Buffer.from(bytes)
  const times = 1 + random.below(4)
  for (let time = 0; time < times; time++) {
    const at = random.below(spoilt.length)
    const dice = random.below(4)
    if (dice === 0) spoilt[at] = random.pick(BYTES)
    else if (dice === 1)
      spoilt = Buffer.concat([spoilt.subarray(0, at), Buffer.from([random.pick(BYTES)]), spoilt.subarray(at)])
    else if (dice === 2) spoilt = Buffer.concat([spoilt.subarray(0, at), spoilt.subarray(at + 1 + random.below(8))])
    else spoilt = spoilt.subarray(0, Math.max(1, at))
  }
  return spoilt
}
