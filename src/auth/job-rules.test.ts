import { describe, expect, it } from 'vitest'
import { DEFAULT_TAGS, findJob, type JobRule, textOfClaim } from './job-rules.ts'

const rule = (match: Record<string, string[]>, more: Partial<JobRule> = {}): JobRule => ({
  ...{ name: 'main', key: 'key_1', match: new Map(Object.entries(match)), tags: DEFAULT_TAGS, lifetimeMs: 60_000 },
  ...{ runClaims: ['run_id', 'run_attempt'], budget: { total: 1n }, endsMs: 60_000, ...more },
})
const OURS = rule({ repository: ['acme/mill'] })
const runOf = (claims: object, rules = [OURS]) => {
  const found = findJob(rules, { repository: 'acme/mill', run_id: 7, run_attempt: '1', ...claims })
  return found === undefined || 'missing' in found ? found : found.run
}
const tagsOf = (claims: object, tags = DEFAULT_TAGS) => {
  const found = findJob([rule({ repository: ['acme/mill'] }, { tags, runClaims: ['repository'] })], {
    repository: 'acme/mill',
    ...claims,
  })
  return found && 'tags' in found ? found.tags : found
}

describe('a rule', () => {
  it('takes the first that fits', () => {
    const rules = [rule({ ref: ['x'] }, { name: 'first' }), rule({ ref: ['y', 'rel*'] }, { name: 'second' }), OURS]
    expect(['x', 'y', 'rel', 'rel/1', 'z'].map((ref) => runOf({ ref }, rules))).toEqual([
      'job:first:7.1',
      'job:second:7.1',
      'job:second:7.1',
      'job:second:7.1',
      'job:main:7.1',
    ])
  })

  it('fits neither a claim that is no text, nor one of the prototype', () => {
    expect(runOf({ repository: ['acme/mill'] })).toBeUndefined()
    expect(runOf({ repository: { toString: () => 'acme/mill' } })).toBeUndefined()
    expect(runOf({}, [rule({ constructor: ['*'] }), rule({ __proto__: ['x'] })].slice(0, 1))).toBeUndefined()
    expect(textOfClaim({ a: 1.5, b: true, c: 0 }, 'a')).toBeUndefined()
    expect([textOfClaim({ b: true }, 'b'), textOfClaim({ c: 0 }, 'c')]).toEqual(['true', '0'])
  })
})

describe('the run of a job', () => {
  it('is another one for other values, however they are cut', () => {
    const pairs = [
      ['1', '23'],
      ['12', '3'],
      ['1.2', '3'],
      ['1', '2.3'],
      ['', '3'],
      ['1:2', '3'],
      ['ä', '3'],
      ['x'.repeat(60), '3'],
      ['x'.repeat(61), '3'],
    ]
    const runs = pairs.map(([run_id, run_attempt]) => runOf({ run_id, run_attempt }))
    expect(runs[4]).toMatchObject({ missing: 'run_id' })
    expect(new Set(runs.map(String)).size).toBe(pairs.length)
    for (const run of runs.filter((each) => typeof each === 'string')) expect(run).toMatch(/^job:main:[\w.-]{1,40}$/)
  })
})

describe('the tags of a job', () => {
  it.each([
    [{ ref: 'refs/heads/a/b', head_ref: '' }, '["branch:a/b","repository:acme/mill"]'],
    [{ ref: 'refs/pull/12/merge', head_ref: 'fix' }, '["branch:fix","pull_request:12","repository:acme/mill"]'],
    [{ ref: 'refs/tags/v1' }, '["repository:acme/mill"]'],
    [{ ref: 'fix', ref_path: 'refs/merge-requests/3/head' }, '["pull_request:3","repository:acme/mill"]'],
    [{ ref: 'main', ref_path: 'refs/heads/main' }, '["branch:main","repository:acme/mill"]'],
  ])('are those of GitHub and GitLab: %j', (claims, tags) => {
    expect(tagsOf(claims)).toBe(tags)
  })

  it('take a claim only in its form, and keep long values apart', () => {
    const tags = [{ name: 'v', claim: 'ref', from: 'refs/tags/v*' }]
    expect(tagsOf({ ref: 'refs/tags/v' }, tags)).toBeNull()
    expect(tagsOf({ ref: 'refs/tags/v1 "2",3' }, tags)).toBe('["v:1__2__3"]')
    const [one, two] = ['a', 'b'].map((end) => tagsOf({ ref: `refs/tags/v${'x'.repeat(200)}${end}` }, tags))
    expect(one).not.toBe(two)
    expect((JSON.parse(String(one)) as string[])[0]).toHaveLength('v:'.length + 64)
  })
})
