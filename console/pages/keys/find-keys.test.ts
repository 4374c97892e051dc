import { describe, expect, it } from 'vitest'
import { askableSearch, findKeys, modelsFound } from './find-keys.ts'
import type { ListedKey } from './key-facts.tsx'

const NO_LIMITS = { requests_per_minute: null, tokens_per_minute: null, concurrent: null }
const keyNamed = (name: string, more: Partial<ListedKey> = {}): ListedKey => ({
  ...{ id: `key_${name}`, name, kind: 'wallet', shown: 'mr_wallet_Ab12...Yz89', state: 'active', playground: false },
  ...{ models: null, limits: NO_LIMITS, caps: [], created_at: '2026-11-01T00:00:00.000Z' },
  ...{ last_used_at: null, expires_at: null, former: null },
  ...more,
})

const KEYS = [
  keyNamed('Build server', { models: { count: 2, first: ['fast-*', 'deep-coder'] } }),
  keyNamed('laptop', { kind: 'builder', shown: 'mr_builder_Qq77...Pp01' }),
  keyNamed('old', { state: 'revoked' }),
]
const namesOf = (text: string, more: Partial<Parameters<typeof findKeys>[1]> = {}) =>
  findKeys(KEYS, { text, kind: undefined, revoked: false, ...more }).map(({ name }) => name)

describe('findKeys', () => {
  it('leaves out what is revoked until it is asked for', () => {
    expect(namesOf('')).toEqual(['Build server', 'laptop'])
    expect(namesOf('', { revoked: true })).toEqual(['Build server', 'laptop', 'old'])
  })

  it('finds every word anywhere in a key, whatever its case', () => {
    expect(namesOf('server BUILD')).toEqual(['Build server'])
    expect(namesOf('deep')).toEqual(['Build server'])
    expect(namesOf('server laptop')).toEqual([])
  })

  it('finds by nothing that no row shows: ids, the names of kinds, the secret that the playground does not have', () => {
    expect(namesOf('key_laptop')).toEqual([])
    const playground = keyNamed('here', { playground: true, shown: 'mr_wallet_Zz55...Qq66' })
    const found = (text: string) => findKeys([playground], { text, kind: undefined, revoked: false })
    expect(found('zz55')).toEqual([])
    expect(found('here')).toEqual([playground])
  })

  it('says which models it has found', () => {
    expect(modelsFound(KEYS[0]!, 'build FAST')).toEqual(['fast-*'])
    expect(modelsFound(KEYS[0]!, '')).toEqual([])
    expect(modelsFound(KEYS[1]!, 'fast')).toEqual([])
  })

  it('has also those in which the server has found it, within the filters', () => {
    const about = [KEYS[1]!, KEYS[2]!, keyNamed('from another page')]
    const found = (revoked: boolean) =>
      findKeys(KEYS, { text: 'a-late-model', kind: undefined, revoked }, about).map(({ name }) => name)
    expect(found(false)).toEqual(['laptop', 'from another page'])
    expect(found(true)).toEqual(['laptop', 'old', 'from another page'])
  })

  it('asks the server for nothing that could be a secret', () => {
    expect(askableSearch('  Build  DEMO ')).toBe('build demo')
    for (const secret of ['mr_wallet_Ab12', 'build MR_builder_', `x${'Ab12'.repeat(9)}`]) {
      expect(askableSearch(secret)).toBe('')
    }
  })

  it('asks the server for no more words than it takes, each once', () => {
    const messages = 'one two three four five six seven eight'
    expect(askableSearch(`${messages} ONE two`)).toBe(messages)
    expect(askableSearch(`${messages} nine`)).toBe('')
  })

  it('keeps to a kind', () => {
    expect(namesOf('', { kind: 'builder' })).toEqual(['laptop'])
  })

  it('tells which key a whole secret belongs to', () => {
    expect(namesOf('mr_builder_Qq77xxxxxxxxxxxxxxxxxxxxPp01')).toEqual(['laptop'])
    expect(namesOf('mr_builder_Qq77xxxxxxxxxxxxxxxxxxxxPp02')).toEqual([])
  })
})
