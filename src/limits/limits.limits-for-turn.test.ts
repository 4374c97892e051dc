import { describe, expect, it } from 'vitest'
import { CALLER } from '../../test/fixtures/model/caller.ts'
import type { Caller, RateLimits } from '../model/caller.ts'
import type { AccountRow, KeyRow } from '../model/ids.ts'
import { type ConfiguredLimits, limitsForTurn, limitsOfCaller } from './limits.ts'

const callerWith = (limits: RateLimits): Caller => ({
  ...CALLER,
  account: 7 as AccountRow,
  key: 9 as KeyRow,
  limits,
})

const configured: ConfiguredLimits = {
  key: { requestsPerMinute: 60, requestsBurst: 10, tokensPerMinute: 6000, tokensBurst: 1000, concurrent: 4 },
  account: { requestsPerMinute: 600, concurrent: 40 },
  accountModel: {},
  model: {},
}
const swift = (tokens: number) => ({ model: 'swift', tokens })

describe('limitsForTurn', () => {
  it('applies what the key and the account may do, each counted on a state of its own', () => {
    expect(limitsForTurn(configured, callerWith({}), swift(500))).toEqual([
      { scope: 'key', kind: 'requests', subject: 'key:9:requests', limit: 60, burst: 10, cost: 1 },
      { scope: 'key', kind: 'tokens', subject: 'key:9:tokens', limit: 6000, burst: 1000, cost: 500 },
      { scope: 'key', kind: 'concurrent', subject: 'key:9:concurrent', limit: 4, burst: 4, cost: 1 },
      { scope: 'account', kind: 'requests', subject: 'account:7:requests', limit: 600, burst: 600, cost: 1 },
      { scope: 'account', kind: 'concurrent', subject: 'account:7:concurrent', limit: 40, burst: 40, cost: 1 },
    ])
  })

  it("takes a key's own rate in place of the configured one, with a burst of its own and not of the other", () => {
    const [requests, tokens, concurrent] = limitsForTurn(
      configured,
      callerWith({ requestsPerMinute: 5, concurrent: 1 }),
      swift(1),
    )
    expect(requests).toMatchObject({ limit: 5, burst: 5 })
    expect(tokens).toMatchObject({ limit: 6000, burst: 1000 })
    expect(concurrent).toMatchObject({ limit: 1 })
  })

  it('applies nothing where nothing is limited', () => {
    expect(limitsForTurn({ key: {}, account: {}, accountModel: {}, model: {} }, callerWith({}), swift(500))).toEqual([])
  })

  it('counts an account with a model, and everybody with it, on states that no other model shares', () => {
    const onModels = { key: {}, account: {}, accountModel: { concurrent: 2 }, model: { tokensPerMinute: 90 } }
    const caller = callerWith({})
    expect(limitsForTurn(onModels, caller, swift(5))).toEqual([
      {
        scope: 'account-model',
        kind: 'concurrent',
        subject: 'account-model:7:swift:concurrent',
        limit: 2,
        burst: 2,
        cost: 1,
      },
      { scope: 'model', kind: 'tokens', subject: 'model:swift:tokens', limit: 90, burst: 90, cost: 5 },
    ])
    const subjectsWith = (model: string) =>
      limitsForTurn(onModels, caller, { model, tokens: 5 }).map(({ subject }) => subject)
    expect(subjectsWith('calm')).toEqual(['account-model:7:calm:concurrent', 'model:calm:tokens'])
    expect(subjectsWith('swift')).toEqual(['account-model:7:swift:concurrent', 'model:swift:tokens'])
  })

  it('applies a changed configuration to a caller that is known already', () => {
    const caller = callerWith({})
    const before = { ...configured, model: { concurrent: 1 } }
    const after = { ...configured, model: { concurrent: 9 } }
    expect(limitsForTurn(before, caller, swift(1)).at(-1)).toMatchObject({ scope: 'model', limit: 1 })
    expect(limitsForTurn(after, caller, swift(1)).at(-1)).toMatchObject({ scope: 'model', limit: 9 })
  })
})

describe('limitsOfCaller', () => {
  it('leaves out what depends on a model', () => {
    const everywhere = { ...configured, accountModel: { concurrent: 1 }, model: { concurrent: 1 } }
    const scopes = limitsOfCaller(everywhere, callerWith({})).all.map(({ scope }) => scope)
    expect(new Set(scopes)).toEqual(new Set(['key', 'account']))
  })
})
