import { describe, expect, it } from 'vitest'
import { openRawSocket } from '../../support/raw-socket.ts'
import { hello } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { useServer } from '../../support/use-server.ts'

const BODY = JSON.stringify({ model: 'swift', max_tokens: 3, messages: hello() })
const START = 'POST /v1/chat/completions HTTP/1.1'

const head = (key: string, lines: readonly string[], start = START): string =>
  [start, 'host: test', `authorization: Bearer ${key}`, 'content-type: application/json', ...lines, '', ''].join('\r\n')

const chunked = (body: string): string => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`

/** A request as an attacker frames it: the hidden one is where another parser may see a request begin. */
interface Attack {
  readonly start?: string
  readonly lines: readonly string[]
  /** What comes behind the head. */
  readonly rest: (hidden: string) => string
}

const CHUNKED = 'transfer-encoding: chunked'
const lengthOf = (text: string): string => `content-length: ${text.length}`
/** In the eyes of who counts the length there is one request, in the eyes of who counts chunks there are two, or the other way. */
const bothWays = (...lines: string[]): Attack => ({ lines, rest: (hidden) => `${chunked(BODY)}${hidden}` })
const afterLength = (...lines: string[]): Attack => ({ lines, rest: (hidden) => `${BODY}${hidden}` })
/** Chunks that are not as they should be, and the hidden request behind their end. */
const chunks = (text: string): Attack => ({ lines: [CHUNKED], rest: (hidden) => `${text}${hidden}` })

const SIZE = BODY.length.toString(16)

const ATTACKS: Readonly<Record<string, Attack>> = {
  'a length and chunks': bothWays(lengthOf(BODY), CHUNKED),
  'chunks and a length': bothWays(CHUNKED, lengthOf(BODY)),
  'a length of nothing and chunks': bothWays('content-length: 0', CHUNKED),
  'two lengths': afterLength(lengthOf(BODY), 'content-length: 0'),
  'the same length twice': afterLength(lengthOf(BODY), lengthOf(BODY)),
  'a list of lengths': afterLength(`${lengthOf(BODY)}, ${BODY.length}`),
  'a length with a sign': afterLength(`content-length: +${BODY.length}`),
  'a length below zero': afterLength('content-length: -1'),
  'a length in hexadecimal': afterLength(`content-length: 0x${SIZE}`),
  'a length with a space in it': afterLength('content-length: 1 0'),
  'a length beyond 64 bits': afterLength('content-length: 18446744073709551617'),
  'a length with a space before its colon': afterLength(`content-length : ${BODY.length}`),
  'a length with a tab before its colon': afterLength(`content-length\t: ${BODY.length}`),
  'chunked, identity': bothWays(`${CHUNKED}, identity`),
  'identity, and chunked in another line': bothWays('transfer-encoding: identity', CHUNKED),
  'identity, chunked': bothWays('transfer-encoding: identity, chunked'),
  'gzip, chunked': bothWays('transfer-encoding: gzip, chunked'),
  'chunked, and identity in another line': bothWays(CHUNKED, 'transfer-encoding: identity'),
  xchunked: bothWays('transfer-encoding: xchunked'),
  'chunked twice': bothWays(`${CHUNKED}, chunked`),
  'chunked with a vertical tab': bothWays('transfer-encoding: \x0bchunked'),
  'chunked in quotation marks': bothWays('transfer-encoding: "chunked"'),
  'chunked with a space before the colon': bothWays('transfer-encoding : chunked'),
  'chunked with an underscore, and a length': {
    lines: ['transfer_encoding: chunked', lengthOf(`${SIZE}\r\n`)],
    rest: (hidden) => `${chunked(BODY)}${hidden}`,
  },
  'chunked in a folded line, and a length': bothWays('transfer-encoding:\r\n chunked', lengthOf(BODY)),
  'a folded line that hides a length': afterLength(`x: y\r\n content-length: 0`, lengthOf(BODY), 'content-length: 0'),
  'a bare carriage return in a value': afterLength(`x: y\rcontent-length: 0`, lengthOf(BODY)),
  'a bare line feed in a value': afterLength(`x: y\ncontent-length: 0`, lengthOf(BODY)),
  'a zero byte in a value': afterLength(`x: y\0z`, lengthOf(BODY)),
  'a space in front of the first header': { start: `${START}\r\n x: y`, ...afterLength(lengthOf(BODY)) },
  'a size with a plus': chunks(`+${SIZE}\r\n${BODY}\r\n0\r\n\r\n`),
  'a size with a minus': chunks(`-${SIZE}\r\n${BODY}\r\n0\r\n\r\n`),
  'a size with 0x': chunks(`0x${SIZE}\r\n${BODY}\r\n0\r\n\r\n`),
  'a size with a space in front': chunks(` ${SIZE}\r\n${BODY}\r\n0\r\n\r\n`),
  'a size with an underscore': chunks(`${SIZE}_0\r\n${BODY}\r\n0\r\n\r\n`),
  'a size beyond 64 bits': chunks(`1${'0'.repeat(16)}${SIZE}\r\n${BODY}\r\n0\r\n\r\n`),
  'a size that ends in a bare line feed': chunks(`${SIZE}\n${BODY}\r\n0\r\n\r\n`),
  'a size that ends in a bare carriage return': chunks(`${SIZE}\r${BODY}\r\n0\r\n\r\n`),
  'an extension with a bare line feed': chunks(`${SIZE};x\ny\r\n${BODY}\r\n0\r\n\r\n`),
  'an extension with a bare carriage return': chunks(`${SIZE};x\ry\r\n${BODY}\r\n0\r\n\r\n`),
  'a chunk longer than it says': chunks(`2\r\n${BODY}\r\n0\r\n\r\n`),
  'a chunk without an end': chunks(`${SIZE}\r\n${BODY}0\r\n\r\n`),
  'a last chunk with no line behind it': chunks(`${SIZE}\r\n${BODY}\r\n0\r\n`),
  'a length too short': { lines: ['content-length: 20'], rest: (hidden) => `${BODY}${hidden}` },
  'a length too long': { lines: [`content-length: ${BODY.length + 40}`], rest: (hidden) => `${BODY}${hidden}` },
  'no length at all': { lines: [], rest: (hidden) => `${BODY}${hidden}` },
}

describe('a smuggled request', () => {
  const server = useServer()

  /** What comes when the bytes are sent, and the connection has ended. */
  async function sendAll(bytes: string) {
    const socket = await openRawSocket(server())
    socket.write(bytes)
    await socket.closed
    const statuses = [...socket.received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
    return { statuses, received: socket.received }
  }

  const hiddenOf = (key: string): string => head(key, [lengthOf(BODY), 'connection: close']) + BODY

  it('is distinguishable: two pipelined requests are both served and both charged', async () => {
    const [first, second] = [await openAccount(server()), await openAccount(server())]
    const { statuses } = await sendAll(head(first.key, [CHUNKED]) + chunked(BODY) + hiddenOf(second.key))
    expect(statuses).toEqual([200, 200])
    expect([(await first.receipts()).length, (await second.receipts()).length]).toEqual([1, 1])
  })

  /** What came of one attack: how many have paid, and whether all that was said is that it was refused. */
  async function comesOf({ start, lines, rest }: Attack) {
    const [attacker, victim] = [await openAccount(server()), await openAccount(server())]
    const { statuses, received } = await sendAll(head(attacker.key, lines, start) + rest(hiddenOf(victim.key)))
    const paid = (await attacker.receipts()).length + (await victim.receipts()).length
    const isRefused = statuses.length > 0 && statuses.every((status) => status === 400)
    return {
      paid,
      isRefused,
      inOurWords: /"error":\{"message":"/.test(received),
      served: received.includes('"choices"'),
    }
  }

  it('is never served, nor is its carrier', { timeout: 60_000 }, async () => {
    const names = Object.keys(ATTACKS)
    const came = await Promise.all(Object.values(ATTACKS).map(comesOf))
    const refused = { paid: 0, isRefused: true, inOurWords: true, served: false }
    expect(Object.fromEntries(names.map((name, at) => [name, came[at]]))).toEqual(
      Object.fromEntries(names.map((name) => [name, refused])),
    )
  })

  it.each(['http://elsewhere.example', 'https://elsewhere.example:1'])(
    'an absolute-form target for another host is not forwarded: %s',
    async (origin) => {
      const account = await openAccount(server())
      const start = `POST ${origin}/v1/chat/completions HTTP/1.1`
      const { statuses } = await sendAll(head(account.key, [lengthOf(BODY), 'connection: close'], start) + BODY)
      expect(statuses).toEqual([200])
      expect(await account.receipts()).toMatchObject([{ lane: 'demo/demo-fast', state: 'settled' }])
    },
  )
})
