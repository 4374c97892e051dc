import { describe, expect, it } from 'vitest'
import { askableSearch, findKeys, modelsFound } from './find-keys.ts'
import type { ListedKey } from './key-facts.tsx'

const NO_LIMITS = { requests_per_minute: null, tokens_per_minute: null, concurrent: null }
const keyNamed = (name: string, more: Partial<ListedKey> = {}): ListedKey => ({
  ...{ id: `key_${name}`, name, kind: 'wallet', shown: 'mr_wallet_Ab12...Yz89', state: 'active', playground: false },
  ...{ models: null, limits: NO_LIMITS, caps: [], addresses: null, created_at: '2026-11-01T00:00:00.000Z' },
  ...{ person: null, team: null, run: null, step_down: null },
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
  it('hides revoked keys by default', () => {
    expect(namesOf('')).toEqual(['Build server', 'laptop'])
    expect(namesOf('', { revoked: true })).toEqual(['Build server', 'laptop', 'old'])
  })

  it('finds every term anywhere in a key, ignoring case', () => {
    expect(namesOf('server BUILD')).toEqual(['Build server'])
    expect(namesOf('deep')).toEqual(['Build server'])
    expect(namesOf('server laptop')).toEqual([])
  })

  it('ignores text that no row shows, such as ids and kinds', () => {
    expect(namesOf('key_laptop')).toEqual([])
    const playground = keyNamed('here', { playground: true, shown: 'mr_wallet_Zz55...Qq66' })
    const found = (text: string) => findKeys([playground], { text, kind: undefined, revoked: false })
    expect(found('zz55')).toEqual([])
    expect(found('here')).toEqual([playground])
  })

  it('returns the matching models', () => {
    expect(modelsFound(KEYS[0]!, 'build FAST')).toEqual(['fast-*'])
    expect(modelsFound(KEYS[0]!, '')).toEqual([])
    expect(modelsFound(KEYS[1]!, 'fast')).toEqual([])
  })

  it('includes the keys that the server found, within the filters', () => {
    const about = [KEYS[1]!, KEYS[2]!, keyNamed('from another page')]
    const found = (revoked: boolean) =>
      findKeys(KEYS, { text: 'a-late-model', kind: undefined, revoked }, about).map(({ name }) => name)
    expect(found(false)).toEqual(['laptop', 'from another page'])
    expect(found(true)).toEqual(['laptop', 'old', 'from another page'])
  })

  it('sends nothing to the server that could be part of a secret', () => {
    expect(askableSearch('  Build  DEMO ')).toBe('build demo')
    for (const secret of ['mr_wallet_Ab12', 'build MR_builder_', `x${'Ab12'.repeat(9)}`]) {
      expect(askableSearch(secret)).toBe('')
    }
  })

  it('sends at most the allowed number of distinct terms', () => {
    const messages = 'one two three four five six seven eight'
    expect(askableSearch(`${messages} ONE two`)).toBe(messages)
    expect(askableSearch(`${messages} nine`)).toBe('')
  })

  it('filters by kind', () => {
    expect(namesOf('', { kind: 'builder' })).toEqual(['laptop'])
  })

  it('finds a key by its secret', () => {
    expect(namesOf('mr_builder_Qq77xxxxxxxxxxxxxxxxxxxxPp01')).toEqual(['laptop'])
    expect(namesOf('mr_builder_Qq77xxxxxxxxxxxxxxxxxxxxPp02')).toEqual([])
  })
})
