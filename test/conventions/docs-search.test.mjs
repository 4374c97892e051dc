import { expect, it } from 'vitest'
import { sectionsOf } from '../../scripts/docs-site/build-site.mjs'
import { readPages } from '../../scripts/docs-site/read-pages.mjs'
import { createSearch } from '../../scripts/docs-site/site/search.mjs'
import { ROOT } from './source-files.ts'

const search = createSearch(sectionsOf(readPages(ROOT).pages))

/** The commonest questions, with where each is answered. */
const QUESTIONS = [
  ['how do I connect Codex', 'clients/codex'],
  ['what does insufficient_quota mean', 'api/errors'],
  ['rotate a key', 'operate/keys#rotation'],
  ['how is a cancelled request charged', 'operate/charges'],
  ['back up and restore the data', 'operate/backup'],
  ['run behind nginx', 'quick-start-sre#7-behind-a-proxy'],
  ['rate limits of a key', 'operate/limits'],
  ['spend cap per month', 'operate/plans#spend-caps'],
  ['prometheus metrics', 'operate/logs-and-metrics#metrics'],
  ['postgres with several nodes', 'operate/postgres'],
  ['forgot password', 'operate/people#passwords-and-sessions'],
  ['no provider is available for a model', 'troubleshooting#a-client-gets-an-error'],
]

it.each(QUESTIONS)('the documentation answers %j on %s, among its first three results', (question, page) => {
  const found = search(question, 3).map(({ address }) => address)
  expect(found.filter((address) => address.startsWith(page))).not.toEqual([])
})

it('a search for nothing that is written finds nothing', () => {
  expect(search('zzyzx')).toEqual([])
  expect(search('  the of ')).toEqual([])
})

it('the parts of a name and its beginning find it', () => {
  expect(search('max_tokens', 3)).toEqual(search('MAX_TOKENS', 3))
  expect(search('idempot', 1)[0].title).toMatch(/Idempotency/)
})
