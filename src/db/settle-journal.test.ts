import { mkdtemp, open, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type JournalOptions, openSettleJournal, takeRecords } from './settle-journal.ts'

const BYTES = 4096
const LEDGER = 'a'.repeat(32)
const HEADER_BYTES = 48
let folder: string
let path: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-journal-'))
  path = join(folder, 'settles.journal')
})
afterEach(() => rm(folder, { recursive: true }))

const openJournal = (over: Partial<JournalOptions> = {}) =>
  openSettleJournal({ path, ledger: LEDGER, now: () => 0, bytes: BYTES, ...over })

const reopened = async (): Promise<string[]> => {
  const journal = await openJournal()
  const records = await journal.read()
  await journal.close()
  return records
}

describe('the journal of settles', () => {
  it('takes its place on the disk when it is made, for its owner only', async () => {
    await (await openJournal()).close()
    const { size, mode, blocks } = await stat(path)
    expect(size).toBe(BYTES)
    expect(blocks * 512).toBeGreaterThanOrEqual(BYTES)
    expect(mode & 0o777).toBe(0o600)
  })

  it('finds after a crash what was appended, in order, and nothing of what was cleared', async () => {
    const journal = await openJournal()
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

  it('of another ledger is never read, and lies there under another name', async () => {
    const theirs = await openJournal({ ledger: 'b'.repeat(32) })
    await theirs.append('req_theirs {}')
    await theirs.close()
    const ours = await openJournal()
    expect(await ours.read()).toEqual([])
    expect(ours.found).toMatchObject({ isNew: false, quarantine: { reason: 'other-ledger' } })
    expect((await readFile(ours.found.quarantine!.file)).includes('req_theirs')).toBe(true)
    await ours.append('req_ours {}')
    await ours.close()
    expect(await reopened()).toEqual(['req_ours {}'])
  })

  it('that tells of a request which the ledger does not have is never read: the ledger is older than it', async () => {
    const first = await openJournal()
    await first.append('req_known {}')
    await first.append('req_later {}')
    await first.close()
    const second = await openJournal({ knows: async (record) => record.startsWith('req_known') })
    expect(await second.read()).toEqual([])
    expect(second.found.quarantine?.reason).toBe('ahead')
    await second.close()
  })

  it('skips what is damaged, counts it, and reads what comes behind it', async () => {
    const journal = await openJournal()
    for (const record of ['one', 'two', 'three', 'four']) await journal.append(record)
    await journal.close()
    const whole = await readFile(path)
    for (const [word, left] of [
      ['one', ['two', 'three', 'four']],
      ['two', ['one', 'three', 'four']],
    ] as const) {
      const copy = Buffer.from(whole)
      copy[copy.indexOf(word)]! ^= 0x40
      await writeFile(path, copy)
      const damaged = await openJournal()
      expect(await damaged.read()).toEqual(left)
      expect(damaged.found).toMatchObject({ damaged: 1, cutOff: false })
      await damaged.append('five')
      await damaged.close()
      expect(await reopened()).toEqual([...left, 'five'])
    }
    // A whole sector of zeros in the middle looks like an end.
    const copy = Buffer.from(whole)
    copy.fill(0, copy.indexOf('two') - 8, copy.indexOf('three') - 8)
    await writeFile(path, copy)
    const zeroed = await openJournal()
    expect(await zeroed.read()).toEqual(['one', 'three', 'four'])
    expect(zeroed.found.damaged).toBe(1)
    await zeroed.close()
  })

  it('whose head is damaged is set aside, and says so', async () => {
    await (await openJournal()).close()
    const whole = await readFile(path)
    whole[20]! ^= 1
    await writeFile(path, whole)
    const journal = await openJournal()
    expect(journal.found.quarantine?.reason).toBe('damaged')
    await journal.close()
  })

  it('of an earlier version is taken over with all that it has', async () => {
    const records = ['req_a {}', 'req_b {}'].map((record) => {
      const head = Buffer.alloc(8)
      head.writeUInt32LE(record.length, 0)
      head.writeUInt32LE(crc32(record), 4)
      return Buffer.concat([head, Buffer.from(record)])
    })
    await writeFile(path, Buffer.concat([...records, Buffer.alloc(BYTES)]).subarray(0, BYTES))
    const journal = await openJournal()
    expect(await journal.read()).toEqual(['req_a {}', 'req_b {}'])
    expect(journal.found).toEqual({ isNew: false, quarantine: undefined, damaged: 0, cutOff: false })
    await journal.close()
    const later = await openJournal({ ledger: 'b'.repeat(32) })
    expect(await later.read(), 'it is this ledger’s from then on').toEqual([])
    await later.close()
  })

  it('goes on behind what it found', async () => {
    const first = await openJournal()
    await first.append('one')
    await first.close()
    const second = await openJournal()
    await second.append('two')
    await second.close()
    expect(await reopened()).toEqual(['one', 'two'])
  })

  it('says that it keeps nothing more when it is full, and keeps what it has', async () => {
    const journal = await openJournal()
    expect(await journal.append('a'.repeat(BYTES - 150))).toBe(true)
    expect(await journal.append('b'.repeat(200))).toBe(false)
    expect(await journal.append('c')).toBe(true)
    expect((await reopened()).at(-1)).toBe('c')
    await journal.close()
    expect(await journal.append('late'), 'closed: nothing is kept').toBe(false)
  })

  it('ends before a record that a crash has cut off, wherever it was cut', async () => {
    const journal = await openJournal()
    await journal.append('whole')
    await journal.append('torn in the middle')
    await journal.close()
    const whole = await readFile(path)
    const second = HEADER_BYTES + 8 + 'whole'.length
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

describe('the records of another journal', () => {
  const openBoth = async (bytes: number) =>
    [await openJournal({ bytes }), await openJournal({ path: join(folder, 'former.journal') })] as const

  it('move behind its own, and are not in the other one any more', async () => {
    const [own, former] = await openBoth(BYTES)
    await own.append('mine')
    await former.append('one')
    await former.append('two')
    expect(await takeRecords(own, former)).toBe(2)
    expect([await own.read(), await former.read()]).toEqual([['mine', 'one', 'two'], []])
    expect(await takeRecords(own, former)).toBe(0)
    for (const each of [own, former]) await each.close()
    expect(await reopened()).toEqual(['mine', 'one', 'two'])
  })

  it('stay where they are when there is no room', async () => {
    const [own, former] = await openBoth(HEADER_BYTES + 30)
    await former.append('one')
    await former.append('a longer one that does not fit')
    expect(await takeRecords(own, former)).toBeUndefined()
    expect(await former.read()).toEqual(['one', 'a longer one that does not fit'])
    for (const each of [own, former]) await each.close()
  })
})
