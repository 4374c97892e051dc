import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checksumOf } from '../../../src/auth/secrets.ts'
import { statement } from '../../../src/db/sql-store.ts'
import { startIssuer, type TestIssuer } from '../../fakes/oidc-issuer.ts'
import { expectProblem } from '../../support/expect-problem.ts'
import { AUDIENCE, exchange, jobToken } from '../../support/job-keys.ts'
import { chat, get, hello } from '../../support/send-chat.ts'
import { nanoOf, openAccount, rowOf, type TestAccount } from '../../support/test-account.ts'
import { PLANS_CONFIG } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'

const CONFIG = `${PLANS_CONFIG}\nhold: { uncapped_tokens_min: 100 }\n`

describe('the run of a CI job', () => {
  const server = useServer({ config: CONFIG })
  let issuer: TestIssuer
  let account: TestAccount
  let keyId: string

  const configOf = (max = '0.05', tags = '', name = 'main') => `${CONFIG}
keyless:
  issuers:
    - name: forge
      issuer: "${issuer.url}"
      audience: ${AUDIENCE}
      rules:
        - name: ${name}
          key: ${keyId}
          match: { repository: acme/* }
          lifetime: 10m
          ${tags}
          run: { claims: [run_id, run_attempt], max: "${max}", ends: 1h }
`
  beforeAll(async () => {
    issuer = await startIssuer({ alg: 'ES256' })
    account = await openAccount(server())
    keyId = (await account.createKey({ name: 'jobs' })).id
    await server().reload(configOf())
  })
  afterAll(() => issuer.close())

  const keyOf = async (claims: object = {}) => {
    const { status, json } = await exchange(server(), jobToken(server(), issuer, claims))
    expect(json).toMatchObject({ token_type: 'Bearer' })
    expect(status).toBe(200)
    return { key: json.access_token as string, run: json.run as string }
  }
  /** Costs and holds a thousandth of a dollar a token. */
  const ask = (who: { readonly key: string }, headers: Readonly<Record<string, string>> = {}, tokens = 10) =>
    chat(server(), who, { model: 'paid', max_tokens: tokens, messages: hello('count to 5000') }, { headers })
  const tagsOf = async (requestId: string, who: { readonly key: string }) =>
    (await get(server(), who, `/requests/${requestId}`)).json.tags
  const audited = async () => {
    const rows = await server()
      .app.operations.db.selectFrom('audit')
      .selectAll()
      .where('action', '=', 'job_admitted')
      .execute()
    return rows.map(({ actor, target, detail }) => [actor, target, detail])
  }

  it('gives all keys of a job one budget, its tags, and one entry in the audit log', async () => {
    const [first, second] = await Promise.all([keyOf({ run_id: '1' }), keyOf({ run_id: '1' })])
    expect(second.run).toBe(first.run)
    const answered = await ask(first, {}, 20)
    expect(answered.status).toBe(200)
    const tags = { repository: 'acme/mill', branch: 'main', run: 'job:main:1.1' }
    expect(await tagsOf(answered.requestId, first)).toEqual(tags)
    expect((await ask(second, {}, 20)).status).toBe(200)
    expectProblem(await ask(first, {}, 20), 'run_budget_exceeded', { message: /0\.05 USD in total/ })
    // Another key of the account may take part, and another run is another budget.
    expect((await ask(account, { 'x-millrace-run': first.run }, 10)).status).toBe(200)
    expectProblem(await ask(second), 'run_budget_exceeded')
    expect((await ask(await keyOf({ run_id: '1', run_attempt: '2' }))).status).toBe(200)
    expect((await get(server(), first, `/runs/${first.run}`)).json).toMatchObject({
      budget: { cost: '0.05' },
      used: { cost: '0.05', requests: 3 },
    })
    expect((await audited()).filter(([, , detail]) => detail?.includes('job:main:1.1 '))).toEqual([
      ['issuer:forge', keyId, 'run job:main:1.1 by the rule main for "repo:acme/mill:ref:refs/heads/main"'],
    ])
  })

  it('names the pull request, and keeps hostile claims apart from the log and the tags', async () => {
    const pull = await keyOf({ run_id: '2', ref: 'refs/pull/12/merge', head_ref: `fix/,"ü${'x'.repeat(100)}` })
    const { requestId } = await ask(pull)
    expect(await tagsOf(requestId, pull)).toEqual({
      ...{ repository: 'acme/mill', pull_request: '12', run: 'job:main:2.1' },
      branch: expect.stringMatching(/^fix\/___x{48}~[0-9a-f]{8}$/),
    })
    const hostile = await keyOf({ run_id: '1.1', run_attempt: 'x;max=9', sub: 'a\nb', head_ref: 'a\r\nb' })
    expect(hostile.run).toMatch(/^job:main:\.[0-9a-f]{32}$/)
    const asked = await ask(hostile)
    expect(await tagsOf(asked.requestId, hostile)).toMatchObject({ branch: 'main' })
    expect((await audited()).at(-1)).toEqual([
      'issuer:forge',
      keyId,
      `run ${hostile.run} by the rule main for "an unnamed subject"`,
    ])
  })

  it('lets a job neither leave its run, nor change its terms or its tags', async () => {
    const job = await keyOf({ run_id: '3' })
    const other = await keyOf({ run_id: '4' })
    expect((await ask(account, { 'x-millrace-run': 'free; max=9' })).status).toBe(200)
    for (const run of ['free', `${other.run}`, `mine; parent=free`, `mine; parent=${other.run}`])
      expectProblem(await ask(job, { 'x-millrace-run': run }), 'invalid_value', {
        message: /works in the run "job:main:3\.1"/,
      })
    expectProblem(await ask(job, { 'x-millrace-run': `${job.run}; max=9` }), 'invalid_value', {
      message: /has had `max` 0\.05/,
    })
    for (const who of [job, account])
      expectProblem(await ask(who, { 'x-millrace-run': 'job:main:99.1; max=9' }), 'invalid_value', {
        message: /Only the token/,
      })
    for (const tags of ['branch=other', 'repository=acme/other'])
      expectProblem(await ask(job, { 'x-millrace-tags': tags }), 'invalid_value', {
        message: /comes from the job's token/,
      })
    const seven = Array.from({ length: 7 }, (_, index) => `t${index}=x`).join(', ')
    expectProblem(await ask(job, { 'x-millrace-tags': seven }), 'invalid_value', { message: /more than 8 tags/ })
    const inner = { 'x-millrace-run': 'mine; max=0.02', 'x-millrace-tags': 'branch=main, step=lint' }
    const answered = await ask(job, inner, 20)
    expect(answered.status).toBe(200)
    expect(await tagsOf(answered.requestId, job)).toEqual({
      repository: 'acme/mill',
      branch: 'main',
      step: 'lint',
      run: 'mine',
    })
    expectProblem(await ask(job, inner), 'run_budget_exceeded', { message: /0\.02 USD in total/ })
    expect((await ask(job, { 'x-millrace-run': 'deep; parent=mine; max=0.01' }, 1)).status).toBe(402)
    expect((await ask(job, { 'x-millrace-run': job.run }, 30)).status).toBe(200)
    // The run around it counts what those inside have spent.
    expectProblem(await ask(job, { 'x-millrace-run': 'more; max=9' }), 'run_budget_exceeded', {
      message: /0\.05 USD in total/,
    })
    expect((await get(server(), job, `/runs/${job.run}`)).json).toMatchObject({
      used: { cost: '0.05' },
      runs: [{ id: 'mine' }, {}],
    })
  })

  it('keeps the terms of its first key, and ends', async () => {
    const first = await keyOf({ run_id: '5' })
    await server().reload(configOf('9.00', 'tags: [{ name: ref, claim: ref, from: "refs/*/main" }]'))
    const second = await keyOf({ run_id: '5' })
    expectProblem(await ask(second, {}, 60), 'run_budget_exceeded')
    const asked = await ask(second)
    expect(await tagsOf(asked.requestId, second)).toMatchObject({ branch: 'main' })
    const next = await keyOf({ run_id: '6' })
    const { requestId } = await ask(next, {}, 60)
    expect(await tagsOf(requestId, next)).toEqual({ ref: 'heads', run: 'job:main:6.1' })
    server().advance(10 * 60_000)
    expect((await ask(first)).status).toBe(401)
    server().advance(45 * 60_000)
    const last = await exchange(server(), jobToken(server(), issuer, { run_id: '5' }))
    expect(last.json.expires_in).toBeLessThanOrEqual(300)
    server().advance(5 * 60_000)
    const ended = await exchange(server(), jobToken(server(), issuer, { run_id: '5' }))
    expect(ended).toMatchObject({ status: 400, json: { error_description: 'The run of this job has ended.' } })
    await server().reload(configOf())
  })

  it('takes models, caps and limits from the key of its rule, and adds no keys to the account', async () => {
    const before = await server().operate('keys.list', { account: account.id, limit: 100 })
    const job = await keyOf({ run_id: '7' })
    await keyOf({ run_id: '8' })
    expect((await server().operate('keys.list', { account: account.id, limit: 100 })).items.length).toBe(
      before.items.length,
    )
    const key = await server().operate('keys.show', { key: keyId })
    await server().operate('keys.change', { key: keyId, caps: { day: '0.001' } })
    expectProblem(await ask(job), 'key_spend_cap_reached')
    await server().operate('keys.change', { key: keyId, caps: { day: null }, models: ['swift'] })
    expectProblem(await ask(job), 'model_not_found')
    await server().operate('keys.change', { key: keyId, models: key.models })
    const stranger = await openAccount(server())
    expectProblem(await ask(stranger, { 'x-millrace-run': job.run }), 'invalid_value')
    expect((await account.wallet()).held).toBe(nanoOf('0'))
  })

  it('is enough for a key that requires a run, and comes before a run for each conversation', async () => {
    for (const run of ['required', { each_conversation: { max: '9.00' } }] as const) {
      await server().operate('keys.change', { key: keyId, run })
      const job = await keyOf({ run_id: run === 'required' ? '10' : '11' })
      const { status, requestId } = await ask(job)
      expect(status).toBe(200)
      expect(await tagsOf(requestId, job)).toMatchObject({ run: job.run })
    }
    await server().operate('keys.change', { key: keyId, run: null })
  })

  it('has idempotency keys of its own, beside other jobs of its rule', async () => {
    const [one, other] = [await keyOf({ run_id: '61' }), await keyOf({ run_id: '62' })]
    const headers = { 'idempotency-key': 'release-notes-1.2' }
    const first = await ask(one, headers)
    const second = await ask(other, headers, 12)
    expect([first.status, second.status, second.headers.get('idempotency-replayed')]).toEqual([200, 200, null])
    expect((await ask(one, headers)).headers.get('idempotency-replayed')).toBe('true')
  })

  it('accepts no key that was changed, or made for a run that has another meaning now', async () => {
    const { key } = await keyOf({ run_id: '9' })
    const { db, files } = server().app.operations
    const secret = key.slice('mr_job_'.length, -6)
    for (const other of [
      secret.replace(/^./, (letter) => (letter === '1' ? '2' : '1')),
      secret.slice(0, -1) + (secret.endsWith('0') ? '1' : '0'),
      'z'.repeat(43),
    ]) {
      const body = `mr_job_${other}`
      expectProblem(await ask({ key: body + checksumOf(body) }), 'invalid_api_key', { message: /not known/ })
    }
    expectProblem(await ask({ key: `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}` }), 'invalid_api_key', {
      message: /mistyped/,
    })
    expect((await get(server(), { key }, '/models')).status).toBe(200)
    await files.ledger.atomic([
      statement(
        `UPDATE runs SET id = 'job:main:0.0' WHERE account = ? AND id = 'job:main:9.1'`,
        await rowOf(server(), account.id),
      ),
    ])
    server().app.operations.forgetAll()
    expect((await get(server(), { key }, '/models')).status).toBe(401)
    expect(
      await db
        .selectFrom('runs')
        .selectAll()
        .where('account', '=', await rowOf(server(), account.id))
        .where('id', '=', 'job:main:9.1')
        .execute(),
    ).toEqual([])
  })
})
