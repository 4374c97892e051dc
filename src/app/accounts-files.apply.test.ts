import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { useTestLedger } from '../../test/fixtures/admin/use-test-ledger.ts'
import { commandLine } from '../../test/fixtures/cli/run-cli.ts'
import { signUp } from '../admin/invitations.ts'
import type { KeyView } from '../admin/keys.ts'
import { runOperation } from '../admin/operations.ts'
import { refuseOperation } from '../admin/outcome.ts'
import type { OperatorServices } from '../admin/services.ts'
import type { Plan } from '../catalog/catalog.ts'
import { createAccountsFiles } from './accounts-files.ts'

const fixture = useTestLedger()

const PRO: Plan = { id: 'pro', models: ['*'], windows: [] }
const MAX: Plan = { ...PRO, id: 'max' }

/** How long after the other commands of its test one runs. */
let laterMs = 0

const services = (): OperatorServices => ({
  ...fixture.services,
  clock: { ...fixture.services.clock, now: () => fixture.services.clock.now() + laterMs },
  catalog: () => ({ ...fixture.services.catalog(), plans: new Map([PRO, MAX].map((plan) => [plan.id, plan])) }),
  status: () => ({ running: false, version: '0', node: '0', data: '' }),
})

let folder: string
beforeEach(() => {
  laterMs = 0
  folder = mkdtempSync(join(tmpdir(), 'millrace-apply-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const path = (name: string): string => join(folder, name)
const write = (name: string, text: string): void => writeFileSync(path(name), text)

const operateHere: NonNullable<NonNullable<Parameters<typeof commandLine>[0]>['run']> = (name, args) =>
  runOperation(services(), name, args)

/** One command, run on the ledger of the test. */
async function run(line: string, answers?: string[], operate = operateHere) {
  const accountsFiles = createAccountsFiles(folder)
  const cli = commandLine({ ...(answers !== undefined && { answers }), accountsFiles, run: operate })
  const exit = await cli.run(line)
  return { exit, ...cli.emitted }
}

async function value(name: string, args: object): Promise<Record<string, unknown>> {
  const outcome = await runOperation(services(), name, args)
  if (outcome.kind === 'refused') throw new Error(outcome.message)
  return outcome.value as Record<string, unknown>
}

const keysOf = async (account: string) => (await value('keys.list', { account })).items as KeyView[]

const EACH = { run: { each_conversation: { max: '0.50' } }, step_down: { to: 'demo', below_percent: 7 } }
const ANN = `accounts:
  - email: ann@example.com
    plan: pro
    credit: [{ amount: "50.00", ref: start, reason: First credit }]
    people: [{ email: ann@example.com }]
    keys:
      - { name: laptop, kind: wallet, models: [demo], caps: { month: "20.00" }, limits: { requests_per_minute: 60 } }
      - { name: agent, kind: builder, expires: 2099-01-31, disabled: true }
`

describe('millrace apply', () => {
  it('prints the changes, makes them, and makes none the second time', async () => {
    write('accounts.yaml', ANN)
    const dry = await run('apply -f accounts.yaml --dry-run')
    expect([dry.exit, dry.out]).toEqual([
      0,
      `ann@example.com
  + account
  + credit 50.00 USD (start)
  + plan pro
  + invitation of ann@example.com as owner
  + wallet key "laptop"
  + builder key "agent", disabled
6 changes.
`,
    ])
    expect((await value('accounts.list', {})).items).toEqual([])
    const first = await run('apply -f accounts.yaml --yes')
    expect([first.exit, first.err.split('\n').at(-2)]).toEqual([0, '6 changes made.'])
    const [laptop, agent, link] = first.out.split('\n')
    expect(laptop).toMatch(/^ann@example.com\tlaptop\tmr_wallet_\w{49}$/)
    expect(agent).toMatch(/^ann@example.com\tagent\tmr_builder_\w{49}$/)
    expect(link).toMatch(/^ann@example.com\tann@example.com\thttp.*setup\?code=/)
    expect(await fixture.callers.find(laptop!.split('\t')[2]!)).toMatchObject({ kind: 'caller' })
    for (const line of ['apply -f accounts.yaml', 'apply -f accounts.yaml --yes']) {
      expect(await run(line)).toMatchObject({ exit: 0, out: 'No change.\n', err: '' })
    }
    expect(await value('wallet.show', { account: 'ann@example.com' })).toMatchObject({ balance: '50.00' })
    // Nor after the person has signed up.
    const code = link!.split('code=')[1]!
    await signUp(services().people, { code, password: 'a long password' }, { agent: '', address: undefined })
    expect((await run('apply -f accounts.yaml')).out).toBe('No change.\n')
  })

  it('changes only what differs, and leaves alone what the file does not name', async () => {
    write('accounts.yaml', ANN)
    await run('apply -f accounts.yaml --yes')
    await value('keys.create', { account: 'ann@example.com', kind: 'wallet', name: 'by hand' })
    write(
      'accounts.yaml',
      `accounts:
  - email: ann@example.com
    status: suspended
    plan: null
    keys:
      - { name: laptop, kind: wallet, caps: { day: "1.00" }, limits: { requests_per_minute: null } }
      - { name: agent, kind: builder, disabled: false }
`,
    )
    const changed = await run('apply -f accounts.yaml --yes')
    expect(changed.err).toBe(`ann@example.com
  ~ status active -> suspended
  - plan pro
  ~ key "laptop": limits {"requests_per_minute":null}, caps {"day":"1.00"}
  ~ key "agent": disabled false
4 changes.
4 changes made.
`)
    const [byHand, agent, laptop] = await keysOf('ann@example.com')
    expect([byHand!.state, agent!.state]).toEqual(['active', 'active'])
    expect(laptop).toMatchObject({ caps: { day: '1.00', month: '20.00' }, limits: {}, models: ['demo'] })
    expect((await run('apply -f accounts.yaml')).out).toBe('No change.\n')
  })

  it('changes nothing about a key that has expired, and makes none that would be', async () => {
    const day = (fromNow: number) =>
      new Date(fixture.services.clock.now() + fromNow * 86_400_000).toISOString().slice(0, 10)
    const file = `accounts:
  - email: ann@example.com
    keys: [{ name: laptop, kind: wallet, expires: ${day(30)} }]
`
    write('accounts.yaml', file)
    expect((await run('apply -f accounts.yaml --yes')).exit).toBe(0)
    laterMs = 365 * 86_400_000
    expect(await run('apply -f accounts.yaml')).toMatchObject({ exit: 0, out: 'No change.\n', err: '' })
    // Revoked, it is new to the file. So it is on another server, which gets the accounts of this one.
    const [laptop] = await keysOf('ann@example.com')
    await value('keys.revoke', { key: laptop!.id })
    const warning = `accounts.yaml:3:51  ${day(30)} has passed, so the key "laptop" is not made`
    expect(await run('apply -f accounts.yaml')).toEqual({ exit: 0, out: 'No change.\n', err: `${warning}\n` })
    const json = await run('apply -f accounts.yaml --json')
    expect(JSON.parse(json.out)).toEqual({ changes: [], warnings: [warning], done: 0 })
    write('accounts.yaml', file.replace('email: ann', 'email: ben'))
    const other = await run('apply -f accounts.yaml --yes')
    expect(other).toMatchObject({
      exit: 0,
      err: `${warning}\nben@example.com\n  + account\n1 change.\n1 change made.\n`,
    })
    expect(await keysOf('ben@example.com')).toEqual([])
  })

  it('keeps the end of a plan that the file does not name, and says what ends when', async () => {
    const apply = async (terms: string) => {
      write('accounts.yaml', `accounts: [{ email: ann@example.com, ${terms} }]\n`)
      return (await run('apply -f accounts.yaml --yes')).err.split('\n')[1]
    }
    write('accounts.yaml', 'accounts: [{ email: ann@example.com, plan: pro, plan_until: 2099-01-31 }]\n')
    await run('apply -f accounts.yaml --yes')
    const end = '2099-01-31T00:00:00.000Z'
    expect(await apply('plan: max')).toBe(`  ~ plan pro until ${end} -> max until ${end}`)
    expect(await value('plans.show', { account: 'ann@example.com' })).toMatchObject({ plan: 'max', until: end })
    expect(await apply('plan: max, plan_until: null')).toBe(`  ~ plan max until ${end} -> max`)
    expect(await value('plans.show', { account: 'ann@example.com' })).toMatchObject({ plan: 'max', until: null })
  })

  it('takes a file on whose plans the end has passed', async () => {
    const past = 'plan: pro, plan_until: 2020-01-31'
    write('accounts.yaml', `accounts: [{ email: ann@example.com, ${past} }, { email: ben@example.com }]\n`)
    const { exit, err } = await run('apply -f accounts.yaml --yes')
    expect([exit, err.split('\n').at(-2)]).toEqual([0, '2 changes made.'])
    expect(await value('plans.show', { account: 'ann@example.com' })).toMatchObject({ state: 'none' })
    // A plan that runs contradicts it.
    await value('plans.assign', { account: 'ann@example.com', plan: 'pro' })
    expect(await run('apply -f accounts.yaml --yes')).toMatchObject({ exit: 1, err: expect.stringMatching(/future/) })
    write('accounts.yaml', 'accounts: [{ email: ben@example.com, plan: pro, plan_until: 2020-99-99 }]\n')
    expect((await run('apply -f accounts.yaml --yes')).exit).toBe(1)
  })

  it('suspends an account before a step that fails', async () => {
    await value('accounts.create', { email: 'ann@example.com' })
    const keys = [
      { name: 'a', kind: 'wallet' },
      { name: 'b', kind: 'wallet' },
    ]
    const accounts = [{ email: 'ann@example.com', status: 'suspended', keys }]
    const full = { ...services(), liveKeysMax: () => 1 }
    const outcome = await runOperation(full, 'accounts.apply', { accounts })
    expect(outcome).toMatchObject({ value: { done: 2, failure: { what: 'wallet key "b"' } } })
    expect(await value('accounts.show', { account: 'ann@example.com' })).toMatchObject({ status: 'suspended' })
  })

  it('revokes other keys only where prune says so', async () => {
    write('accounts.yaml', ANN)
    await run('apply -f accounts.yaml --yes')
    write(
      'accounts.yaml',
      'accounts: [{ email: ann@example.com, prune: true, keys: [{ name: agent, kind: builder }] }]\n',
    )
    expect((await run('apply -f accounts.yaml --yes')).err).toMatch(
      / {2}- key "laptop" \(key_\w+\): revoked\n1 change\./,
    )
    expect((await keysOf('ann@example.com')).map(({ name, state }) => `${name} ${state}`)).toEqual([
      ...['agent disabled', 'laptop revoked'],
    ])
    expect((await run('apply -f accounts.yaml')).out).toBe('No change.\n')
  })

  it('tells keys of one name by their ids, and renames by id', async () => {
    write('accounts.yaml', ANN)
    await run('apply -f accounts.yaml --yes')
    const { id } = await value('keys.create', { account: 'ann@example.com', kind: 'wallet', name: 'laptop' })
    expect((await run('apply -f accounts.yaml')).err).toMatch(/accounts\.yaml:7:17 .*two keys of this name/)
    const { out } = await run('accounts export')
    write('all.jsonl', out)
    expect((await run('apply -f all.jsonl')).out).toBe('No change.\n')
    write('all.jsonl', out.replace(`"id":"${id}","name":"laptop"`, `"id":"${id}","name":"desk"`))
    expect((await run('apply -f all.jsonl --yes')).err).toMatch(/ {2}~ key "laptop": name "desk"\n1 change\./)
    expect((await run('apply -f accounts.yaml')).out).toBe('No change.\n')
  })

  it('says where the file is wrong, and changes nothing', async () => {
    write(
      'accounts.yaml',
      `accounts:
  - email: ann@example.com
    keys:
      - { name: laptop, kind: purse }
      - { name: laptop, kind: wallet, expires: 90d }
    credit: [{ amount: 50, ref: a, reason: b }]
`,
    )
    const shape = await run('apply -f accounts.yaml --yes')
    expect([shape.exit, shape.err.match(/accounts\.yaml:\d+:\d+ {2}[\w.[\]]+/g)]).toEqual([
      2,
      [
        'accounts.yaml:6:24  accounts[0].credit[0].amount',
        'accounts.yaml:4:31  accounts[0].keys[0].kind',
        'accounts.yaml:5:48  accounts[0].keys[1].expires',
      ],
    ])
    write(
      'accounts.yaml',
      `accounts:
  - email: ann@example.com
  - email: ben@example.com
    plan: platinum
    keys:
      - { name: laptop, kind: wallet, models: [no-such-model] }
      - { name: phone, kind: wallet, caps: { day: "-1" } }
`,
    )
    const meaning = await run('apply -f accounts.yaml --yes')
    expect([meaning.exit, meaning.err.match(/accounts\.yaml:\d+:\d+/g)]).toEqual([
      1,
      ['accounts.yaml:4:11', 'accounts.yaml:6:47', 'accounts.yaml:7:51'],
    ])
    write('broken.yaml', 'accounts: [')
    expect((await run('apply -f broken.yaml --yes')).err).toMatch(/broken\.yaml:1:\d+ {2}YAML/)
    expect((await run('apply -f absent.yaml --yes')).exit).toBe(2)
    expect((await value('accounts.list', {})).items).toEqual([])
  })

  it('takes the file that its page shows', () => {
    const page = readFileSync(new URL('../../docs/operate/accounts-file.md', import.meta.url), 'utf8')
    const [, shown = ''] = /^```yml\n(.*?)^```/ms.exec(page) ?? []
    write('accounts.yaml', shown)
    const read = createAccountsFiles(folder).read('accounts.yaml')
    expect(read).toMatchObject({ kind: 'read', accounts: [{ email: 'ann@example.com' }, {}] })
  })

  it('asks before it changes anything, and needs --yes where it cannot ask', async () => {
    write('accounts.yaml', 'accounts: [{ email: ann@example.com }]\n')
    expect(await run('apply -f accounts.yaml')).toMatchObject({ exit: 2, err: expect.stringMatching(/--yes/) })
    expect(await run('apply -f accounts.yaml', ['no'])).toMatchObject({ exit: 1 })
    expect((await value('accounts.list', {})).items).toEqual([])
    expect(await run('apply -f accounts.yaml', ['yes'])).toMatchObject({ exit: 0 })
    expect((await value('accounts.list', {})).items).toMatchObject([{ email: 'ann@example.com' }])
  })

  it('writes secrets to a file that only its owner reads, and to no other place', async () => {
    write('accounts.yaml', ANN)
    write('open.jsonl', '')
    expect((await run('apply -f accounts.yaml --yes --secrets-to open.jsonl')).err).toMatch(/other users.*chmod 600/)
    expect((await value('accounts.list', {})).items).toEqual([])
    const { out, err } = await run('apply -f accounts.yaml --yes --secrets-to new.jsonl')
    expect(out + err).not.toMatch(/mr_(wallet|builder)_\w{20}|setup\?code/)
    expect(statSync(path('new.jsonl')).mode & 0o777).toBe(0o600)
    const lines = readFileSync(path('new.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.map(({ account, key, link }) => [account, key ?? 'link', link === undefined])).toEqual([
      ...[
        ['ann@example.com', 'laptop', true],
        ['ann@example.com', 'agent', true],
        ['ann@example.com', 'link', false],
      ],
    ])
  })

  it('goes on after an interruption with what is missing', async () => {
    write('accounts.yaml', ANN)
    const real = services()
    let left = 3
    const auditLog = {
      ...real.auditLog,
      act: (...call: Parameters<typeof real.auditLog.act>) =>
        left-- > 0 ? real.auditLog.act(...call) : Promise.reject(new Error('killed')),
    }
    const accounts = [
      { email: 'ann@example.com', keys: ['a', 'b', 'c', 'd'].map((name) => ({ name, kind: 'wallet' })) },
    ]
    const interrupted = await runOperation({ ...real, auditLog }, 'accounts.apply', { accounts })
    // The secrets of what was made before are not lost.
    expect(interrupted).toMatchObject({
      value: { done: 3, failure: { message: expect.stringMatching(/^killed/) }, secrets: [{ key: 'a' }, { key: 'b' }] },
    })
    left = 0
    const untouched = { accounts: [{ email: 'ben@example.com' }] }
    await expect(runOperation({ ...real, auditLog }, 'accounts.apply', untouched)).rejects.toThrow('killed')
    const again = await value('accounts.apply', { accounts })
    expect((again.changes as { what: string }[]).map(({ what }) => what)).toEqual(['wallet key "c"', 'wallet key "d"'])
    expect((await value('accounts.apply', { accounts })).changes).toEqual([])
  })

  it('prints with --json what it has made when a later change fails', async () => {
    const keys = 'keys: [{ name: a, kind: wallet }, { name: b, kind: wallet }]'
    const list = Array.from({ length: 26 }, (_, at) => `  - { email: person-${at}@example.com }\n`)
    write('accounts.yaml', `accounts:\n  - { email: ann@example.com, ${keys} }\n${list.join('')}`)
    const printed = async (line: string, operate: Parameters<typeof run>[2]) => {
      const { exit, out } = await run(line, undefined, operate)
      return { exit, ...JSON.parse(out) }
    }
    let batches = 0
    // The second batch is refused as a whole.
    const later = await printed('apply -f accounts.yaml --yes --json', (name, args) =>
      (args as { dry_run?: true }).dry_run === undefined && batches++ > 0
        ? Promise.resolve(refuseOperation('plan_changed', 'changed'))
        : runOperation(services(), name, args),
    )
    expect(later).toMatchObject({
      exit: 1,
      done: 27,
      error: { message: 'changed' },
      secrets: [{ key: 'a' }, { key: 'b' }],
    })
    write('accounts.yaml', `accounts: [{ email: eve@example.com, ${keys} }]\n`)
    const step = await printed('apply -f accounts.yaml --yes --json', (name, args) =>
      runOperation({ ...services(), liveKeysMax: () => 1 }, name, args),
    )
    expect(step).toMatchObject({
      exit: 1,
      done: 2,
      error: { message: expect.stringMatching(/key "b"/) },
      secrets: [{ key: 'a' }],
    })
  })

  it('replaces an invitation that is for another role or account, and no other', async () => {
    const people = (role: string) => `people: [{ email: guest@example.com, role: ${role} }]`
    const apply = async (account: string, role: string) => {
      write('accounts.yaml', `accounts: [{ email: ${account}, ${people(role)} }]\n`)
      return (await run('apply -f accounts.yaml --yes')).err.match(/invitation .*/)?.[0]
    }
    expect(await apply('ann@example.com', 'owner')).toBe('invitation of guest@example.com as owner')
    expect(await apply('ann@example.com', 'owner')).toBeUndefined()
    expect(await apply('ann@example.com', 'operator')).toBe('invitation of guest@example.com as operator')
    expect(await apply('ben@example.com', 'operator')).toBe('invitation of guest@example.com as operator')
    expect(await apply('ben@example.com', 'operator')).toBeUndefined()
    const [ann, ben] = ['ann', 'ben'].map((name) => `  - { email: ${name}@example.com, ${people('owner')} }\n`)
    write('accounts.yaml', `accounts:\n${ann}${ben}`)
    expect((await run('apply -f accounts.yaml --dry-run')).err).toMatch(/yaml:3:\d+ .*one account.*ann@example\.com/)
  })

  it('makes one key for several calls at once', async () => {
    const accounts = [{ email: 'ann@example.com', keys: [{ name: 'laptop', kind: 'wallet' }] }]
    await value('accounts.create', { email: 'ann@example.com' })
    const { plan } = await value('accounts.apply', { accounts, dry_run: true })
    const outcomes = await Promise.all(
      [1, 2, 3].map(() => runOperation(services(), 'accounts.apply', { accounts, expect: plan })),
    )
    expect(outcomes.map((outcome) => (outcome.kind === 'refused' ? outcome.reason : outcome.kind))).toEqual([
      ...['done', 'plan_changed', 'plan_changed'],
    ])
    expect(await keysOf('ann@example.com')).toHaveLength(1)
  })

  it('does nothing if the accounts have changed since the plan', async () => {
    const accounts = [{ email: 'ann@example.com' }]
    const { plan } = await value('accounts.apply', { accounts, dry_run: true })
    await value('accounts.create', { email: 'ann@example.com' })
    const outcome = await runOperation(services(), 'accounts.apply', { accounts, expect: plan })
    expect(outcome).toMatchObject({ kind: 'refused', reason: 'plan_changed' })
  })
})

describe('accounts export and import', () => {
  it.each(['jsonl', 'csv'])('give back as %s what was there, on which applying changes nothing', async (format) => {
    write('accounts.yaml', ANN.replace('laptop', '=1+1'))
    await run('apply -f accounts.yaml --yes')
    await value('accounts.create', { email: 'ben@example.com' })
    const { out } = await run(`accounts export --format ${format}`)
    expect(out).not.toMatch(/mr_wallet_\w{20}/)
    write(`all.${format}`, out)
    expect((await run(`accounts import -f all.${format}`)).out).toBe('No change.\n')
    write(`all.${format}`, out.replaceAll('example.com', 'example.org'))
    const { exit } = await run(`accounts import -f all.${format} --yes`)
    expect(exit).toBe(0)
    const keys = await keysOf('ann@example.org')
    expect(keys.map(({ name, state }) => `${name} ${state}`)).toEqual(['agent disabled', '=1+1 active'])
    expect(keys[1]).toMatchObject({ caps: { month: '20.00' }, limits: { requests_per_minute: 60 }, models: ['demo'] })
    expect((await value('accounts.list', {})).items).toHaveLength(4)
  })

  it.each(['jsonl', 'csv'])('keep every cap as %s, and whose a key is', async (format) => {
    await value('accounts.create', { email: 'ann@example.com' })
    const caps = {
      ...{ day: '0.000000001', week: '5.00', month: '10.00', quarter: '20.00', total: '1000000.00' },
      ...{ requests_day: 100, tokens_day: 1_000_000_000_000 },
    }
    const key = { account: 'ann@example.com', kind: 'wallet' }
    await value('keys.create', { ...key, name: 'all', caps, ...EACH })
    write(
      `all.${format}`,
      (await run(`accounts export --format ${format}`)).out.replaceAll('example.com', 'example.org'),
    )
    expect((await run(`accounts import -f all.${format} --yes`)).exit).toBe(0)
    expect((await keysOf('ann@example.org'))[0]).toMatchObject({ caps, ...EACH })
    const { id: team } = await value('teams.create', { account: 'ann@example.com', name: 'Research' })
    await value('keys.create', { ...key, name: 'of the team', team, run: 'required' })
    const { out } = await run(`accounts export --format ${format}`)
    expect(out).toMatch(/[",]Research[",]/)
    write(`all.${format}`, out)
    expect((await run(`accounts import -f all.${format}`)).out).toBe('No change.\n')
    write('other.csv', `email,key,kind,team\nann@example.com,all,wallet,${team}\n`)
    const { exit, err } = await run('accounts import -f other.csv --yes')
    expect([exit, err]).toEqual([1, expect.stringMatching(/other\.csv:2 {2}the key belongs to no team for life/)])
  })

  it('report rows of one account that disagree, and an id of a key without its name', async () => {
    const head = 'email,status,plan,key,key_id,kind\n'
    write('rows.csv', `${head}ann@example.com,,pro,a,,wallet\nann@example.com,suspended,,b,,wallet\n`)
    expect((await run('accounts import -f rows.csv --dry-run')).out).toMatch(
      /status active -> suspended\n {2}\+ plan pro/,
    )
    write(
      'rows.csv',
      `${head}ann@example.com,,pro,a,,wallet\nann@example.com,,max,b,,wallet\nann@example.com,,,,key_1,\n`,
    )
    const { exit, err } = await run('accounts import -f rows.csv --yes')
    expect([exit, err.match(/rows\.csv:\d+ {2}\w+/g)]).toEqual([2, ['rows.csv:3  plan', 'rows.csv:4  key_id']])
  })

  it('give back names that begin like a formula, with or without an apostrophe', async () => {
    const names = ['=1', "'=1", "''=1", "'a", ' ＝1', '-5', "'-5"]
    await value('accounts.create', { email: 'ann@example.com' })
    for (const name of names) await value('keys.create', { account: 'ann@example.com', kind: 'wallet', name })
    const { out } = await run('accounts export --format csv')
    expect(out).not.toMatch(/,"?[\s]*[=＝]/)
    write('all.csv', out)
    expect((await run('accounts import -f all.csv')).out).toBe('No change.\n')
  })

  it('read a spreadsheet by its columns, and name the line that is wrong', async () => {
    write(
      'people.csv',
      '\uFEFFemail,key,kind,cap_month\r\nann@example.com,"lap, top",wallet,5.00\r\nann@example.com,phone,wallet,none\r\nben@example.com,,,\r\n',
    )
    expect((await run('accounts import -f people.csv --dry-run')).out).toBe(
      `ann@example.com
  + account
  + wallet key "lap, top"
  + wallet key "phone"
ben@example.com
  + account
5 changes.
`.replace('5 changes', '4 changes'),
    )
    write('people.csv', 'email,key,kind\nann@example.com,a,wallet\nann@example.com,b,purse\nann,c,wallet\n')
    expect((await run('accounts import -f people.csv')).err.match(/people\.csv:\d+/g)).toEqual([
      'people.csv:3',
      'people.csv:4',
    ])
    write('people.csv', 'mail,key\n')
    expect((await run('accounts import -f people.csv')).err).toMatch(/no column email.*unknown columns: mail/s)
    write('people.csv', 'email\n"ann')
    expect((await run('accounts import -f people.csv')).err).toMatch(/people\.csv:2 {2}a quoted cell does not end/)
    write('people.jsonl', '{"email":"ann@example.com"}\n\n{"email":7}\n{')
    expect((await run('accounts import -f people.jsonl')).err).toMatch(/people\.jsonl:4 {2}the line is not JSON/)
  })
})
