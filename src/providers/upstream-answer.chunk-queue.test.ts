import { describe, expect, test } from 'vitest'
import { createChunkQueue } from './upstream-answer.ts'

function queueOf(unawaitedMax = 10, awaitedMax = 100) {
  const emitted: string[] = []
  const queue = createChunkQueue(
    {
      pause: () => emitted.push('pause'),
      resume: () => emitted.push('resume'),
      cancel: () => emitted.push('cancel'),
      release: () => emitted.push('release'),
    },
    { awaitedMax, unawaitedMax },
  )
  const push = (text: string) => queue.push(Buffer.from(text))
  const read = async () => String(Buffer.concat(await queue.body.read()))
  return { queue, emitted, push, read }
}

describe('a queue of chunks', () => {
  test('returns everything queued, and one parser turn to a waiting reader', async () => {
    const { queue, push, read } = queueOf(100)
    push('a')
    push('b')
    expect(await read()).toBe('ab')
    const waiting = read()
    push('c')
    push('d')
    expect(await waiting).toBe('cd')
    push('e')
    queue.end()
    expect([await read(), await read(), await read()]).toEqual(['e', '', ''])
  })

  test('fails after the queued chunks were read, and then every time', async () => {
    const { queue, push, read } = queueOf()
    push('a')
    queue.fail(new Error('gone'))
    push('b')
    queue.end()
    expect(await read()).toBe('a')
    await expect(read()).rejects.toThrow('gone')
    await expect(read()).rejects.toThrow('gone')
  })

  test('fails a waiting reader after the chunks of the same turn', async () => {
    const { queue, push, read } = queueOf()
    const waiting = read()
    push('last words')
    queue.fail(new Error('gone'))
    expect(await waiting).toBe('last words')
    await expect(read()).rejects.toThrow('gone')
  })

  test('pauses its source beyond the bound, once, and resumes it when read', async () => {
    const { emitted, push, read } = queueOf(3)
    push('abc')
    expect(emitted).toEqual([])
    push('d')
    push('e')
    expect(emitted).toEqual(['pause'])
    expect(await read()).toBe('abcde')
    expect(emitted).toEqual(['pause', 'resume'])
  })

  test('may give a waiting reader more than the bound in one read', async () => {
    const { emitted, push, read } = queueOf(3, 6)
    const waiting = read()
    push('abcd')
    push('ef')
    expect(emitted).toEqual([])
    expect(await waiting).toBe('abcdef')
    push('abcd')
    expect(emitted).toEqual(['pause'])
    expect(await read()).toBe('abcd')
  })

  test('pauses its source for a waiting reader too', async () => {
    const { emitted, push, read } = queueOf(3, 6)
    const waiting = read()
    push('abcdefg')
    expect(emitted).toEqual(['pause'])
    expect(await waiting).toBe('abcdefg')
    expect(emitted).toEqual(['pause', 'resume'])
  })

  test('drops all chunks after release and resumes its source', () => {
    const { queue, emitted, push } = queueOf(3)
    push('abcd')
    queue.body.release()
    push('efgh')
    push('ijkl')
    expect(emitted).toEqual(['pause', 'release', 'resume'])
  })
})
