import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { useTestLedger } from '../../test/fixtures/admin/use-test-ledger.ts'
import { commandLine } from '../../test/fixtures/cli/run-cli.ts'
import { signUp } from '../admin/invitations.ts'
import { runOperation } from '../admin/operations.ts'
import { createAccountsFiles } from './accounts-files.ts'

const fixture = useTestLedger()
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-teams-file-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const services = () => ({
  ...fixture.services,
  status: () => ({ running: false as const, version: '0', node: '0', data: '' }),
})

async function run(line: string) {
  const accountsFiles = createAccountsFiles(folder)
  const cli = commandLine({ accountsFiles, run: (name, args) => runOperation(services(), name, args) })
  return { exit: await cli.run(line), ...cli.emitted }
}

async function value(name: string, args: object): Promise<Record<string, unknown>> {
  const outcome = await runOperation(services(), name, args)
  if (outcome.kind === 'refused') throw new Error(outcome.message)
  return outcome.value as Record<string, unknown>
}

const write = (name: string, text: string): void => writeFileSync(join(folder, name), text)

const FILE = `accounts:
  - email: ann@example.com
    people:
      - email: mel@example.com
        role: member
        caps: { month: "20.00" }
        raises: [{ cap: month, to: "30.00", until: 2099-01-31 }]
    teams:
      - name: Research
        caps: { day: "5.00", requests_day: 100 }
        raises: [{ cap: day, to: "9.00", until: 2099-01-31 }]
    new_key_caps: { total: "50.00" }
    keys:
      - { name: work, kind: wallet, team: Research, caps: { week: "7.00" } }
`

async function applied(file: string) {
  const { exit, out, err } = await run(`apply -f ${file} --yes`)
  return { exit, out: `${out}${err}` }
}

it('makes teams, caps and raises what the file says, once', async () => {
  write('a.yaml', FILE)
  const first = await applied('a.yaml')
  expect(first.out).toContain('team "Research"')
  expect((await value('teams.list', { account: 'ann@example.com' })).items).toMatchObject([
    {
      name: 'Research',
      keys: 1,
      caps: { day: '5.00', requests_day: 100 },
      spent: [{ limit: '9.00' }, { limit: '100' }],
    },
  ])
  // Their caps wait until the person has signed up.
  const link = /code=([A-Z0-9-]+)/.exec(first.out)![1]!
  await signUp(services().people, { code: link, password: 'a long password' }, {
    agent: '',
    address: '',
    deviceTokens: [],
  } as never)
  await applied('a.yaml')
  expect(await value('people.show', { person: 'mel@example.com' })).toMatchObject({
    caps: { month: '20.00' },
    spent: [{ limit: '30.00' }],
  })
  expect((await applied('a.yaml')).out).toContain('No change')
})

it.each(['accounts.jsonl', 'accounts.csv'])(
  'exports them so that %s changes nothing here, and makes them elsewhere',
  async (name) => {
    write('a.yaml', FILE)
    await applied('a.yaml')
    const format = name.endsWith('.csv') ? ' --format csv' : ''
    const exported = await run(`accounts export${format}`)
    write(name, String(exported.out))
    expect((await run(`accounts import -f ${name} --dry-run`)).out).toContain('No change')
    const changed = String(exported.out)
      .replaceAll('ann@example.com', 'ben@example.com')
      .replace(/key_[0-9a-z]{20,}/g, '')
      .replace(/team_[0-9a-z]{20,}/g, '')
      .replace(/"id":"",/g, '')
    write(name, changed)
    await run(`accounts import -f ${name} --yes`)
    const [team] = (await value('teams.list', { account: 'ben@example.com' })).items as object[]
    expect(team).toMatchObject({ name: 'Research', keys: 1, caps: { day: '5.00' }, spent: [{ limit: '9.00' }, {}] })
    const [key] = (await value('keys.list', { account: 'ben@example.com' })).items as object[]
    expect(key).toMatchObject({ name: 'work', caps: { week: '7.00' } })
  },
)

it('names the line of a cap that is wrong', async () => {
  write('a.csv', 'email,team,cap_day\nann@example.com,Research,5.00\nann@example.com,Other,lots\n')
  const { exit, err } = await run('accounts import -f a.csv --yes')
  expect(exit).not.toBe(0)
  expect(String(err)).toContain('a.csv:3')
})
