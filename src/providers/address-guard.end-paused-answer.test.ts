import { afterEach, describe, expect, test } from 'vitest'
import { delivered } from '../../test/fakes/delivered.ts'
import {
  answered,
  caller,
  chunked,
  closeAll,
  LAST_CHUNK,
  rawProvider,
  readAll,
  upstreamAt,
} from '../../test/fixtures/providers/provider.ts'

afterEach(closeAll)

/** More than may stand between a provider and a client that does not read: the provider is paused. */
const WORDS = 'x'.repeat(40_000)

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n'
const LENGTH = `content-length: ${WORDS.length}\r\n`
const CLOSE = 'connection: close\r\n'

/** How an answer may say where it ends. */
const ANSWERS: readonly [string, string][] = [
  ['the end of its connection', `${HEAD}${CLOSE}\r\n${WORDS}`],
  ['the end of its connection, in HTTP/1.0', `HTTP/1.0 200 OK\r\n\r\n${WORDS}`],
  ['its length', `${HEAD}${CLOSE}${LENGTH}\r\n${WORDS}`],
  ['its length, on a connection that was to be kept', `${HEAD}${LENGTH}\r\n${WORDS}`],
  ['its last chunk', `${HEAD}${CLOSE}transfer-encoding: chunked\r\n\r\n${chunked(WORDS)}${LAST_CHUNK}`],
]

describe.each(ANSWERS)('an answer that ends with %s', (_with, bytes) => {
  /** All of it is there, and its connection has ended as well, before anybody reads. */
  async function callUnread(how: 'end' | 'resetAndDestroy') {
    let close = () => {}
    const provider = await rawProvider(({ socket }) => {
      socket.write(bytes)
      close = () => void socket[how]()
    })
    const answer = answered(await caller().call(upstreamAt(provider.url)))
    await delivered()
    close()
    await delivered()
    return answer
  }

  test('arrives complete although the provider closes before it is read', async () => {
    const { text, error } = await readAll(await callUnread('end'))
    expect([text.length, error]).toEqual([WORDS.length, undefined])
  })

  test('breaks off when the provider resets before it is read', async () => {
    expect((await readAll(await callUnread('resetAndDestroy'))).error?.name).toBe('UpstreamBrokenOff')
  })

  test('can be abandoned after the provider has closed', async () => {
    const answer = await callUnread('end')
    answer.body.cancel()
    expect((await readAll(answer)).text).toBe(WORDS)
  })
})
