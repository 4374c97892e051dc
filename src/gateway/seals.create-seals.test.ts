import { describe, expect, it } from 'vitest'
import type { AccountId } from '../model/ids.ts'
import { createSeals } from './seals.ts'

const [mine, theirs] = ['acct_one', 'acct_two'] as AccountId[] as [AccountId, AccountId]
const [older, newer, another] = [1, 2, 3].map((byte) => ({ secret: Buffer.alloc(32, byte) })) as [Key, Key, Key]
type Key = { readonly secret: Buffer }

const MiB = 1024 * 1024

describe('an envelope', () => {
  const seals = createSeals([older])

  it.each([
    ['nothing', ''],
    ['a few words', 'mr1.words'],
    ['all of Unicode', 'ä漢🙂\0\u2028"\\'],
    ['a mebibyte', 'thought '.repeat(MiB / 8)],
  ])('holds %s', (_, content) => {
    expect(seals.open('reasoning', mine, seals.seal('reasoning', mine, content))).toBe(content)
  })

  it('is a word of plain letters that tells no two apart, and names its secret without telling it', () => {
    const [one, two] = [seals.seal('reasoning', mine, 'words'), seals.seal('reasoning', mine, 'words')]
    expect(one).toMatch(/^mr1\.[\w-]{8}\.[\w-]+$/)
    expect(one).not.toBe(two)
    expect(one.slice(0, 13)).toBe(two.slice(0, 13))
    expect(one.slice(0, 13)).not.toBe(createSeals([newer]).seal('reasoning', mine, 'words').slice(0, 13))
  })

  it('opens for its account, its purpose and its ring only', () => {
    const envelope = seals.seal('reasoning', mine, 'words')
    expect(seals.open('reasoning', theirs, envelope)).toBe(undefined)
    expect(seals.open('compaction', mine, envelope)).toBe(undefined)
    expect(createSeals([another, newer]).open('reasoning', mine, envelope)).toBe(undefined)
    expect(seals.open('reasoning', mine, envelope)).toBe('words')
  })

  it('of an earlier version still opens: clients keep them for as long as they like', () => {
    const kept = 'mr1.Fsw8MQJ5.CQS5RJfdvvzdAbeSE1r2d0qyfNoWLs24X5axYCJ90Dzl'
    expect(seals.open('reasoning', mine, kept)).toBe('words')
  })
})

describe('a ring that is rotated', () => {
  const before = createSeals([older]).seal('reasoning', mine, 'words')

  it('opens what its former primary sealed, and seals by its new one', () => {
    const rotated = createSeals([newer, older])
    expect(rotated.open('reasoning', mine, before)).toBe('words')
    const after = rotated.seal('reasoning', mine, 'words')
    expect(createSeals([newer]).open('reasoning', mine, after)).toBe('words')
    expect(createSeals([older]).open('reasoning', mine, after)).toBe(undefined)
  })

  it('does not open what a secret sealed that was taken off it', () => {
    expect(createSeals([newer]).open('reasoning', mine, before)).toBe(undefined)
    expect(createSeals([newer, another]).open('reasoning', mine, before)).toBe(undefined)
  })
})

describe('a forged envelope of ten mebibytes', () => {
  const seals = createSeals([older])
  const envelope = seals.seal('reasoning', mine, 'words')
  const head = envelope.slice(0, 13)
  const long = seals.seal('reasoning', mine, 'x'.repeat(7 * MiB))
  const many = (piece: string): string => piece.repeat((10 * MiB) / piece.length)

  it.each([
    ['letters', many('a')],
    ['points', many('.')],
    ['beginnings', many('mr1.')],
    ['a name without an end', `mr1.${many('A')}`],
    ['points behind a true beginning', head + many('.')],
    ['letters behind a true beginning', head + many('A')],
    ['no letters behind a true beginning', head + many('=')],
    ['lines behind a true beginning', head + many('abc\n')],
    ['Chinese behind a true beginning', head + many('漢')],
    ['halves of pairs behind a true beginning', head + many('\ud83d')],
    ['a true one many times', envelope.repeat((10 * MiB) / envelope.length)],
    ['a true one and one more letter', `${long}A`],
    ['a true one and one letter fewer', long.slice(0, -1)],
    ['a true one with another letter in front', `${head}${long[13] === 'A' ? 'B' : 'A'}${long.slice(14)}`],
  ])('is refused: %s', (_, forged) => {
    expect(seals.open('reasoning', mine, forged)).toBe(undefined)
  })
})
