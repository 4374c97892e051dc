// Faults in how a request is taken in and how its answer leaves.

export const OF_THE_EDGE = [
  {
    name: 'two-idempotency-keys',
    says: 'a repeated Idempotency-Key is taken',
    caughtBy: ['src/server/routes.test.ts'],
    replacements: [{ file: 'src/server/handle.ts', find: `  'idempotency-key',\n`, put: '' }],
  },
  {
    name: 'two-framings',
    says: 'a Transfer-Encoding beside chunked is believed',
    caughtBy: ['src/server/bare-answers.test.ts'],
    replacements: [
      {
        file: 'src/server/handle.ts',
        find: `coding.toLowerCase() === 'chunked'`,
        put: `coding.toLowerCase().includes('chunked')`,
      },
    ],
  },
  {
    name: 'chunks-before-their-time',
    says: 'chunks are believed in HTTP/1.0',
    caughtBy: ['src/server/bare-answers.test.ts'],
    replacements: [{ file: 'src/server/handle.ts', find: ' && httpVersionMinor > 0', put: '' }],
  },
  {
    name: 'behind-the-close',
    says: 'what comes behind an answer that closes its connection is served',
    caughtBy: ['src/server/bare-answers.test.ts'],
    replacements: [
      {
        file: 'src/server/request-context.ts',
        find: 'if (connection.isClosing) ignoreRequest(request, socket)',
        put: 'if (false) ignoreRequest(request, socket)',
      },
    ],
  },
  {
    name: 'upgrade-body-runs',
    says: 'behind an offered Upgrade the body of a pipelined request runs as a request',
    caughtBy: ['src/server/smuggled-requests.test.ts'],
    replacements: [
      { file: 'src/server/request-context.ts', find: 'request.headers.upgrade !== undefined ||', put: 'false ||' },
    ],
  },
  {
    name: 'invented-address',
    says: 'the address that a client has invented in X-Forwarded-For is believed',
    caughtBy: ['src/server/client-address.test.ts'],
    replacements: [{ file: 'src/server/client-address.ts', find: 'named.pop()', put: 'named.shift()' }],
  },
  {
    name: 'not-utf8',
    says: 'a body that is not UTF-8 is read',
    caughtBy: ['src/server/body.test.ts'],
    replacements: [{ file: 'src/server/body.ts', find: '!isUtf8(bytes)', put: 'false' }],
  },
  {
    name: 'values-for-nothing',
    says: 'the values of a body are not counted in the memory that it takes',
    caughtBy: ['src/server/v1/parsed-values.test.ts'],
    replacements: [{ file: 'src/server/body.ts', find: 'slot.take(scan.valueBytes + ', put: 'slot.take(' }],
  },
  {
    name: 'parsed-value-kept',
    says: 'what is parsed of a body lives as long as its turn',
    caughtBy: ['src/server/v1/parsed-values.test.ts'],
    replacements: [
      {
        file: 'src/server/v1/post-turn.ts',
        find: '  received.bytes = NOTHING\n',
        put: '  Object.assign(received, { bytes: NOTHING, body: parsed.body })\n',
      },
    ],
  },
  {
    name: 'stopped-and-cut',
    says: 'a stream is ended by its time limit before what has come is read',
    caughtBy: ['src/providers/deadlines.test.ts'],
    replacements: [
      {
        file: 'src/providers/deadlines.ts',
        find: 'else this.#cancelExpiry = afterSocketsRead(() => this.#expire())',
        put: 'else this.#expire()',
      },
    ],
  },
  {
    name: 'bombs',
    says: 'a body may expand to anything',
    caughtBy: ['src/server/body.test.ts'],
    replacements: [
      {
        file: 'src/server/body.ts',
        find: 'bytes <= UNSUSPICIOUS_BYTES || bytes <= rawBytes * bounds.expansionRatioMax',
        put: 'true',
      },
    ],
  },
  {
    name: 'late-head',
    says: 'after its head a stream is refused with a status',
    caughtBy: ['src/server/sinks.test.ts'],
    replacements: [
      {
        file: 'src/server/sinks.ts',
        find: `if (this.phase !== 'quiet') throw`,
        put: `if (this.phase === 'ended') throw`,
      },
    ],
  },
  {
    name: 'silence-is-kept',
    says: 'nothing breaks the silence of a model that thinks',
    caughtBy: ['src/server/sinks.test.ts'],
    replacements: [
      { file: 'src/server/sinks.ts', find: `this.write(this.#keepAlive?.() ?? KEEP_ALIVE, 'head')`, put: '' },
    ],
  },
]
