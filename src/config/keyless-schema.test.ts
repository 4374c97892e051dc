import { describe, expect, test } from 'vitest'
import { DEMO_YAML, problemsOf } from '../../test/fixtures/config/config.ts'

const RUN = '{ claims: [run_id], max: "1.00" }'
const ruleOf = (match: string, run = RUN, more = '') =>
  `{ name: main, key: key_0a, match: ${match}, run: ${run}${more} }`
const issuersOf = (rules: string, address = 'https://ci.example.com') =>
  `${DEMO_YAML}\nkeyless: { issuers: [{ name: ci, issuer: "${address}", audience: mill, rules: [${rules}] }] }\n`
const told = (yaml: string) => problemsOf({ yaml }).map(({ path, message }) => `${path}: ${message}`)

describe('the rules for CI jobs', () => {
  test.each([
    '{ repository: acme/mill }',
    '{ repository_owner: acme, ref: refs/heads/* }',
    '{ repository: [acme/mill, acme/*] }',
    '{ repository_id: 123 }',
    '{ sub: "repo:acme/*" }',
    '{ sub: "project_path:acme/tools:*" }',
    '{ namespace_path: acme, ref_protected: true }',
  ])('may be %s', (match) => {
    expect(told(issuersOf(ruleOf(match)))).toEqual([])
  })

  test.each([
    ['{}', /say whose jobs/],
    ['{ ref: refs/heads/main }', /say whose jobs/],
    ['{ event_name: push, environment: prod }', /say whose jobs/],
    ['{ repository: acme* }', /say whose jobs/],
    ['{ repository: [acme/mill, "a*"] }', /say whose jobs/],
    ['{ sub: "repo:*" }', /say whose jobs/],
    ['{ repository: "*" }', /expected a text, or the beginning/],
    ['{ repository: "*/mill" }', /expected a text, or the beginning/],
    ['{ repository: [] }', /expected a text, or the beginning/],
    ['{ repository: null }', /expected a text, or the beginning/],
  ])('may not be %s', (match, message) => {
    expect(told(issuersOf(ruleOf(match))).join()).toMatch(message)
  })

  test.each([
    [issuersOf(ruleOf('{ repository: a/b }', '{ claims: [run_id] }')), /a run needs a budget/],
    [issuersOf(ruleOf('{ repository: a/b }', '{ claims: [], max: "1" }')), /at least one claim/],
    [issuersOf(ruleOf('{ repository: a/b }', '{ claims: [run_id], max: "0" }')), /above zero/],
    [issuersOf(ruleOf('{ repository: a/b }', RUN, ', lifetime: 2h')), /a duration from 1m to 1h/],
    [issuersOf(ruleOf('{ repository: a/b }', RUN, ', tags: [{ name: run, claim: x }]')), /not run/],
    [issuersOf(ruleOf('{ repository: a/b }', RUN, ', tags: [{ name: a, claim: x, from: "x" }]')), /one \*/],
    [issuersOf([1, 2].map(() => ruleOf('{ repository: a/b }')).join()), /this one is taken/],
    [issuersOf('', 'http://ci.example.com'), /only an issuer on this machine/],
    [issuersOf(ruleOf('{ repository: a/b }').replace('key_0a', 'mr_wallet_x')), /the id of a key/],
  ])('are refused otherwise: %#', (yaml, message) => {
    expect(told(yaml).join()).toMatch(message)
  })
})
