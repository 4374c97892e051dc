import { mkdtemp, open, readFile, rm, stat, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openSettleJournal } from './settle-journal.ts'

const BYTES = 4096
let folder: string
let path: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-journal-'))
  path = join(folder, 'settles.journal')
})
afterEach(() => rm(folder, { recursive: true }))

const reopened = async (): Promise<string[]> => {
  const journal = await openSettleJournal(path, BYTES)
  const records = await journal.read()
  await journal.close()
  return records
}

describe('the journal of settles', () => {
  it('takes its place on the disk when it is made, for its owner only', async () => {
    await (await openSettleJournal(path, BYTES)).close()
    const { size, mode, blocks } = await stat(path)
    expect(size).toBe(BYTES)
    expect(blocks * 512).toBeGreaterThanOrEqual(BYTES)
    expect(mode & 0o777).toBe(0o600)
  })

  it('finds after a crash what was appended, in order, and nothing of what was cleared', async () => {
    const journal = await openSettleJournal(path, BYTES)
    expect(await Promise.all(['a', 'zwei ✓', 'c'.repeat(500)].map((record) => journal.append(record)))).toEqual([
      true,
      true,
      true,
    ])
    expect(await reopened()).toEqual(['a', 'zwei ✓', 'c'.repeat(500)])
    await journal.clear(() => true)
    expect(await reopened()).toHaveLength(3)
    await journal.clear(() => false)
    expect(await reopened()).toEqual([])
    await journal.append('x')
    expect(await reopened(), 'records of an earlier list lie behind it').toEqual(['x'])
    await journal.close()
  })

  it('goes on behind what it found', async () => {
    const first = await openSettleJournal(path, BYTES)
    await first.append('one')
    await first.close()
    const second = await openSettleJournal(path, BYTES)
    await second.append('two')
    await second.close()
    expect(await reopened()).toEqual(['one', 'two'])
  })

  it('says that it keeps nothing more when it is full, and keeps what it has', async () => {
    const journal = await openSettleJournal(path, BYTES)
    expect(await journal.append('a'.repeat(BYTES - 100))).toBe(true)
    expect(await journal.append('b'.repeat(200))).toBe(false)
    expect(await journal.append('c')).toBe(true)
    expect((await reopened()).at(-1)).toBe('c')
    await journal.close()
    expect(await journal.append('late'), 'closed: nothing is kept').toBe(false)
  })

  it('ends before a record that a crash has cut off, wherever it was cut', async () => {
    const journal = await openSettleJournal(path, BYTES)
    await journal.append('whole')
    await journal.append('torn in the middle')
    await journal.close()
    const whole = await readFile(path)
    const second = 8 + 'whole'.length
    const end = second + 8 + 'torn in the middle'.length
    for (let cut = second; cut < end; cut++) {
      const file = await open(path, 'r+')
      await file.write(Buffer.concat([whole.subarray(0, cut), Buffer.alloc(BYTES - cut)]), 0, BYTES, 0)
      await file.close()
      expect(await reopened(), `cut at ${cut}`).toEqual(['whole'])
    }
    await truncate(path, 3)
    expect(await reopened()).toEqual([])
  })
})
